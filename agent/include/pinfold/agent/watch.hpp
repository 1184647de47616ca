#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::agent {

/// The times between two rounds of watch().
struct WatchTimes {
  std::chrono::milliseconds interval{10'000};  ///< after a round with ok
  std::chrono::milliseconds longest{300'000};  ///< doubles up to this after other rounds
};

/// The minimum time between two rounds, however often other processes write.
inline constexpr std::chrono::milliseconds kLeastPause{1000};

/// Returns the pause after a round. `last`: the previous pause (the interval if there was none).
/// `ok`: nothing remains to be reconciled.
[[nodiscard]] std::chrono::milliseconds next_pause(bool ok, std::chrono::milliseconds last,
                                                   const WatchTimes& times);

/// Repeats `round` until `wait` stops it. `round` returns true (ok) if nothing remains to be
/// reconciled. `wait` waits that long, or less if something has changed, and returns false to stop.
/// Returns the result of the last round.
bool watch(const std::function<bool()>& round,
           const std::function<bool(std::chrono::milliseconds)>& wait, const WatchTimes& times);

/// Returns a descriptor that becomes readable after a change in a directory or below it: a file was
/// written, or a directory was made or removed. Changes before the call do not count. Directories
/// that cannot be watched are skipped; if none can, it never becomes readable.
[[nodiscard]] UniqueFd watch_tree(const std::string& root);

}  // namespace pinfold::agent
