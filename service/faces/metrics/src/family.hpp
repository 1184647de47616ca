#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

/// Builds families of metrics, as the functions of families.hpp return them.
namespace pinfold::metrics {

/// Returns a family without metrics.
inline prometheus::MetricFamily family(std::string name, std::string help,
                                       prometheus::MetricType type) {
  return {std::move(name), std::move(help), type, {}};
}

inline prometheus::MetricFamily counter_family(std::string name, std::string help,
                                               std::uint64_t value) {
  auto out = family(std::move(name), std::move(help), prometheus::MetricType::Counter);
  out.metric.emplace_back().counter.value = static_cast<double>(value);
  return out;
}

inline prometheus::MetricFamily gauge_family(std::string name, std::string help, double value) {
  auto out = family(std::move(name), std::move(help), prometheus::MetricType::Gauge);
  out.metric.emplace_back().gauge.value = value;
  return out;
}

/// `buckets` are not cumulative, and there is one more than there are bounds.
inline prometheus::MetricFamily histogram_family(std::string name, std::string help,
                                                 std::span<const double> bounds,
                                                 std::span<const std::uint64_t> buckets,
                                                 double sum) {
  auto out = family(std::move(name), std::move(help), prometheus::MetricType::Histogram);
  auto& histogram = out.metric.emplace_back().histogram;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    histogram.sample_count += buckets[i];
    histogram.bucket.push_back(
        {histogram.sample_count,
         i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity()});
  }
  histogram.sample_sum = sum;
  return out;
}

}  // namespace pinfold::metrics
