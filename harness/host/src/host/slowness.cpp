#include "pinfold/harness/slowness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pinfold::harness {
namespace {

/// The duration of the loop on an idle core of 3 GHz: four cycles for each iteration.
constexpr Milliseconds kUsualLoop(55);
constexpr int kIterations = 40'000'000;
constexpr double kMostSlowness = 10;

}  // namespace

double slowness_of(Milliseconds took) {
  const double times = static_cast<double>(took.count()) / static_cast<double>(kUsualLoop.count());
  // A busy moment during the short loop does not justify a longer limit.
  constexpr double kTolerated = 0.25;
  return std::clamp(std::ceil((times - kTolerated) * 2) / 2, 1.0, kMostSlowness);
}

double host_slowness() {
  const Clock::time_point begin = Clock::now();
  std::uint64_t value = 1;
  for (int i = 0; i < kIterations; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
  volatile std::uint64_t sink = value;  // else the compiler would leave the loop out
  (void)sink;
  return slowness_of(std::chrono::duration_cast<Milliseconds>(Clock::now() - begin));
}

std::string limit_text(Milliseconds limit, double slowness) {
  const auto seconds = limit.count() / 1000;
  if (slowness <= 1) return fmt::format("limit {} s", seconds);
  return fmt::format("limit {} s, {} times the usual one as this host is slow now", seconds,
                     slowness);
}

HostLimit::HostLimit(Milliseconds usual, double slowness)
    : slowness_(slowness), limit_(std::llround(static_cast<double>(usual.count()) * slowness)) {}

std::string HostLimit::explain(const std::string& doing) const {
  return fmt::format("{} ({}; --time-scale gives more time)", doing, limit_text(limit_, slowness_));
}

std::string HostLimit::explain_if_expired(const std::string& doing) const {
  return Clock::now() - begin_ < limit_ ? doing : explain(doing);
}

}  // namespace pinfold::harness
