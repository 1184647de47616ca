#pragma once

#include <chrono>
#include <functional>

namespace pinfold::agent {

/// How long watch() waits between two rounds.
struct WatchTimes {
  std::chrono::milliseconds interval{10'000};  ///< after a good round
  std::chrono::milliseconds longest{300'000};  ///< after bad ones it doubles up to this
};

/// Repeats `round` until `wait` says stop. `round`: true if nothing is left to repair. `wait`:
/// waits that long, or less if there is a reason to look again; false to stop.
/// Returns what the last round said.
bool watch(const std::function<bool()>& round,
           const std::function<bool(std::chrono::milliseconds)>& wait, const WatchTimes& times);

}  // namespace pinfold::agent
