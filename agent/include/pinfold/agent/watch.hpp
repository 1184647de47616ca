#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::agent {

/// The time between two rounds of watch().
struct WatchTimes {
  std::chrono::milliseconds interval{10'000};  ///< after a round with ok
  std::chrono::milliseconds longest{300'000};  ///< doubles up to this after other rounds
};

/// At most one round in this time, however often other processes write.
inline constexpr std::chrono::milliseconds kLeastPause{1000};

/// The pause after a round, if the one before it was `last` (the interval if there was none).
/// `ok`: nothing remains to be reconciled.
[[nodiscard]] std::chrono::milliseconds next_pause(bool ok, std::chrono::milliseconds last,
                                                   const WatchTimes& times);

/// Repeats `round` until `wait` stops it. `round`: true for ok, if nothing remains to be
/// reconciled. `wait`: waits that long, or less if something has changed; false to stop. Returns:
/// the result of the last round.
bool watch(const std::function<bool()>& round,
           const std::function<bool(std::chrono::milliseconds)>& wait, const WatchTimes& times);

/// A descriptor that can be read after a change in a directory or below it: a file was written, or
/// a directory was made or removed. What happened before the call does not count. A directory that
/// cannot be watched is left out; without any, nothing is ever read.
[[nodiscard]] UniqueFd watch_tree(const std::string& root);

}  // namespace pinfold::agent
