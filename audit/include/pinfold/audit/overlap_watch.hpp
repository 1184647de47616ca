#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/audit/findings.hpp"

namespace pinfold::audit {

/// What happened between two looks at a node.
struct WatchEvent {
  enum class Kind {
    kStarted,   ///< a container runs now
    kEnded,     ///< a container does not run any more
    kOverlaps,  ///< `other` can run on CPUs that `container` has exclusively, from now on
    kCleared,   ///< not any more, after `lasted`
  };
  Kind kind = Kind::kStarted;
  std::string container;
  std::string other = {};
  CpuSet cpus = {};
  std::chrono::milliseconds lasted = {};  ///< of kCleared: from the first look that had it
  /// Of kCleared and kOverlaps: the container that started last of the two, and when, is the likely
  /// cause; "" if both ran before the watch began.
  std::string after = {};

  friend bool operator==(const WatchEvent&, const WatchEvent&) = default;
};
[[nodiscard]] std::string_view to_string(WatchEvent::Kind kind);

/// Follows overlaps from look to look. The caller says when each look was; nothing else knows time.
class OverlapWatch {
 public:
  using Time = std::chrono::milliseconds;  ///< since any fixed moment

  /// What is new since the last look; of the first one only overlaps, which may be old.
  /// Domain: `now` never decreases.
  [[nodiscard]] std::vector<WatchEvent> look(const Report& report, Time now);

  /// Overlaps that last.
  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  struct Open {
    Time since;
    CpuSet cpus;
  };
  using Pair = std::pair<std::string, std::string>;  ///< owner, intruder

  [[nodiscard]] std::string later_of(const Pair& pair) const;

  bool is_first_ = true;
  std::map<std::string, Time> started_;  ///< running containers; those of the first look at -1
  std::map<Pair, Open> open_;
};

}  // namespace pinfold::audit
