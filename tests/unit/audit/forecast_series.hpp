#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/forecast/episodes.hpp"
#include "pinfold/forecast/forecast.hpp"

/// Synthetic series of samples.
namespace pinfold::forecast::test {

inline constexpr double kMiB = 1024.0 * 1024;
inline constexpr double kGiB = 1024 * kMiB;
inline constexpr std::chrono::seconds kInterval{5};

/// The memory of a group on NUMA node 1.
struct SeriesGroup {
  std::string label;
  enforce::NodeSet mems;
  double bytes = 0;
  std::optional<std::uint64_t> limit = {};
  double stalled = 0;
  std::string directory = {};  ///< "": below the root, by its label
  bool is_inner = false;
};

/// Feeds samples as a MemoryWatch does: groups are read only while a NUMA node falls.
class Series {
 public:
  /// Adds a sample of NUMA nodes 0 and 1. Returns the forecasts after it, and stores the news.
  const std::vector<Forecast>& add(double available0, double available1,
                                   const std::vector<SeriesGroup>& groups = {}) {
    now_ += kInterval;
    MemorySample sample{now_};
    sample.numa = {numa(0, available0), numa(1, available1)};
    samples_.push_back(std::move(sample));
    if (is_falling(samples_)) {
      for (const SeriesGroup& group : groups) samples_.back().groups.push_back(of(group));
      forecasts_ = forecast(samples_);
    } else {
      forecasts_.clear();
    }
    for (EpisodeNews& one : episodes_.look(forecasts_, now_)) {
      if (one.begins) alarms_.push_back(std::chrono::duration<double>(now_).count());
      news_.push_back(std::move(one));
    }
    if (samples_.size() > 2 * kLeastSamples) samples_.erase(samples_.begin());
    return forecasts_;
  }

  [[nodiscard]] const std::vector<EpisodeNews>& news() const { return news_; }
  /// Times at which alarms began, in seconds.
  [[nodiscard]] const std::vector<double>& alarms() const { return alarms_; }
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(now_).count(); }

 private:
  static NumaMemory numa(std::int32_t id, double available) {
    return {NumaId{id}, static_cast<std::uint64_t>(16 * kGiB),
            static_cast<std::uint64_t>(std::max(0.0, available))};
  }
  static GroupMemory of(const SeriesGroup& group) {
    GroupMemory memory{group.directory.empty() ? "/" + group.label : group.directory, group.label,
                       group.mems, group.is_inner};
    memory.in_use[1] = static_cast<std::uint64_t>(group.bytes);
    memory.limit = group.limit;
    memory.stalled = group.stalled;
    return memory;
  }

  std::chrono::nanoseconds now_{0};
  std::vector<MemorySample> samples_;
  std::vector<Forecast> forecasts_;
  Episodes episodes_;
  std::vector<EpisodeNews> news_;
  std::vector<double> alarms_;
};

/// Seeded random numbers, the same with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  [[nodiscard]] double between(double low, double high) {
    const double unit = static_cast<double>(engine_() >> 11U) / static_cast<double>(1ULL << 53U);
    return low + (high - low) * unit;
  }
  /// Returns a number around 0 with this standard deviation.
  [[nodiscard]] double noise(double deviation) {
    double sum = 0;  // of twelve numbers: nearly a normal distribution
    for (int i = 0; i < 12; ++i) sum += between(-0.5, 0.5);
    return sum * deviation;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace pinfold::forecast::test
