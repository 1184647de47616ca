#pragma once

#include <chrono>
#include <functional>

namespace pinfold::agent {

/// The time between two rounds of watch().
struct WatchTimes {
  std::chrono::milliseconds interval{10'000};  ///< after a round with ok
  std::chrono::milliseconds longest{300'000};  ///< doubles up to this after other rounds
};

/// Repeats `round` until `wait` stops it. `round`: true for ok, if nothing remains to be
/// reconciled. `wait`: waits that long, or less if something has changed; false to stop. Returns:
/// the result of the last round.
bool watch(const std::function<bool()>& round,
           const std::function<bool(std::chrono::milliseconds)>& wait, const WatchTimes& times);

}  // namespace pinfold::agent
