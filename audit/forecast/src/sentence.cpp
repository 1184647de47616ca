#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "pinfold/forecast/forecast.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::forecast {
namespace {

/// Groups that are named in a sentence.
constexpr std::size_t kMostNamed = 3;

/// Returns "120Mi", "1.5Gi".
std::string bytes_text(double bytes) {
  constexpr double kStep = 1024;
  constexpr double kWhole = 10;  // smaller numbers have a fraction
  constexpr std::array<std::string_view, 4> kUnits = {"Ki", "Mi", "Gi", "Ti"};
  std::size_t unit = 0;
  for (bytes /= kStep; bytes >= kStep && unit + 1 < kUnits.size(); bytes /= kStep) ++unit;
  const bool is_whole = bytes >= kWhole || std::abs(bytes - std::round(bytes)) < 0.05;
  return fmt::format("{:.{}f}{}", bytes, is_whole ? 0 : 1, kUnits[unit]);
}

/// Returns "40 s" in steps of 5 s, "3 min".
std::string time_text(Seconds time) {
  constexpr double kStep = 5;
  constexpr double kMinute = 60;
  constexpr double kLongest = 2 * kMinute;  // in seconds
  if (time.count() > kLongest) return fmt::format("{:.0f} min", time.count() / kMinute);
  return fmt::format("{:.0f} s", std::max(kStep, std::round(time.count() / kStep) * kStep));
}

std::string grower_text(const Grower& grower, std::string_view it) {
  constexpr double kNoticeable = 0.05;
  constexpr double kPercent = 100;
  std::string text =
      fmt::format("{} grows by {}/s", grower.label, bytes_text(grower.bytes_per_second));
  if (grower.is_bound) text += fmt::format(" and is bound to {}", it);
  if (grower.stalled >= kNoticeable) {
    text += fmt::format(" (it waits for memory {:.0f}% of the time)", grower.stalled * kPercent);
  }
  return text;
}

/// Returns who is affected although others grow: "; bound to it: default/web/app and 2 more".
std::string bound_text(const Forecast& forecast, std::string_view it) {
  const bool grows_bound = std::any_of(forecast.growers.begin(), forecast.growers.end(),
                                       [](const Grower& grower) { return grower.is_bound; });
  if (grows_bound || forecast.bound.empty()) return "";
  return fmt::format("; bound to {}: {}", it, some_named(forecast.bound, kMostNamed));
}

/// Returns "default/db/main grows by 120Mi/s and is bound to it".
std::string cause_text(const Forecast& forecast, std::string_view it) {
  std::vector<std::string> growers;
  for (const Grower& grower : forecast.growers) {
    if (growers.size() < kMostNamed) growers.push_back(grower_text(grower, it));
  }
  if (!growers.empty()) return fmt::format("{}", fmt::join(growers, ", "));
  return fmt::format("{} {}/s, and no known control group grows that fast",
                     forecast.numa_nodes.size() == 1 ? "it loses" : "they lose",
                     bytes_text(forecast.bytes_per_second));
}

std::string numa_text(const Forecast& forecast) {
  const bool is_one = forecast.numa_nodes.size() == 1;
  const std::string_view it = is_one ? "it" : "them";
  return fmt::format("NUMA {} {} out of memory in about {}: {}{}", forecast.numa_nodes.to_string(),
                     is_one ? "is" : "are", time_text(forecast.in), cause_text(forecast, it),
                     bound_text(forecast, it));
}

}  // namespace

std::string to_string(const Forecast& forecast) {
  if (forecast.kind == Forecast::Kind::kNumaNodes) return numa_text(forecast);
  return fmt::format("{} reaches its memory limit of {} in about {}: it grows by {}/s",
                     forecast.group, bytes_text(static_cast<double>(forecast.bytes)),
                     time_text(forecast.in), bytes_text(forecast.bytes_per_second));
}

}  // namespace pinfold::forecast
