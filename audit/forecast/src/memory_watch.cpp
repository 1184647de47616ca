#include "pinfold/forecast/memory_watch.hpp"

namespace pinfold::forecast {

Result<std::vector<Forecast>> MemoryWatch::look(std::chrono::nanoseconds now,
                                                const std::function<GroupNames()>& names) {
  PINFOLD_LET(auto sample, read_numa_memory(root_, now));
  if (!samples_.empty() && samples_.back().at >= now) samples_.pop_back();
  samples_.push_back(std::move(sample));
  const auto is_old = [&](const MemorySample& one) { return Seconds(now - one.at) > kWindow; };
  while (samples_.size() > kLeastSamples && is_old(samples_.front())) {
    samples_.erase(samples_.begin());
  }
  if (!is_falling(samples_)) return std::vector<Forecast>();
  samples_.back().groups = read_groups(root_, names());
  return forecast(samples_);
}

std::vector<NumaMemory> MemoryWatch::numa() const {
  return samples_.empty() ? std::vector<NumaMemory>() : samples_.back().numa;
}

}  // namespace pinfold::forecast
