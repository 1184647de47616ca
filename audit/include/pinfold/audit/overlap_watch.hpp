#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/audit/findings.hpp"

namespace pinfold::audit {

/// A change between two checks of a node.
struct WatchEvent {
  enum class Kind {
    kStarted,   ///< a container is now running
    kEnded,     ///< a container is no longer running
    kOverlaps,  ///< `other` can now run on CPUs exclusive to `container`
    kCleared,   ///< no longer, after `lasted`
  };
  Kind kind = Kind::kStarted;
  std::string container;
  std::string other = {};
  CpuSet cpus = {};
  std::chrono::milliseconds lasted = {};  ///< of kCleared: since the first look that saw it
  /// For kCleared and kOverlaps: the container of the two that started last, the likely cause; ""
  /// if both ran before the watch began.
  std::string after = {};

  friend bool operator==(const WatchEvent&, const WatchEvent&) = default;
};
[[nodiscard]] std::string_view to_string(WatchEvent::Kind kind);

/// Follows overlaps from look to look. The caller provides the time; the class has no clock.
class OverlapWatch {
 public:
  using Time = std::chrono::milliseconds;  ///< since an arbitrary fixed moment

  /// Returns what is new since the last look. The first look reports only overlaps, which may be
  /// old.
  /// Domain: `now` never decreases.
  [[nodiscard]] std::vector<WatchEvent> look(const Report& report, Time now);

  /// Returns the number of current overlaps.
  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  struct Open {
    Time since;
    CpuSet cpus;
  };
  using Pair = std::pair<std::string, std::string>;  ///< owner, intruder

  [[nodiscard]] std::string later_of(const Pair& pair) const;

  bool is_first_ = true;
  std::map<std::string, Time> started_;  ///< start times; -1 if running at the first look
  std::map<Pair, Open> open_;
};

}  // namespace pinfold::audit
