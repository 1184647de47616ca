#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pinfold/predict/fleet.hpp"

namespace pinfold {

/// What a scheduling cycle has given away so far, in a fleet: each pod's placement is charged when
/// it is placed and credited when it is taken back, exactly.
///
/// What-if: mark(), then place and evict as one likes (preempt, reclaim, consolidate), then either
/// go on or discard() to be back where the mark was. Marks nest.
/// Borrows the fleet, which must outlive it.
class Ledger {
 public:
  explicit Ledger(Fleet& fleet) : fleet_(&fleet) {}

  /// A pod that is there already: what is available does not hold its placement any more. Without
  /// a placement it is not accounted, and evicting it frees nothing: a zone is never guessed.
  /// Errors: kInvalidArgument for a pod that is known.
  Result<void> add_bound(const BoundPod& pod);

  /// Places a pod on a node and charges it there. A pod that is placed is moved.
  void place(const PodUid& uid, std::size_t node, Placement placement);
  /// Takes a pod away: a roll-back, or an eviction if it was bound.
  /// Errors: kNotFound for a pod that is nowhere.
  Result<void> remove(const PodUid& uid);

  struct At {
    std::size_t node = 0;
    Placement placement;

    friend bool operator==(const At&, const At&) = default;
  };
  /// Where a pod is now; nullptr: nowhere.
  [[nodiscard]] const At* find(const PodUid& uid) const;
  /// Bound pods that are not where they were, ascending by UID: those that would have to be
  /// evicted. A pod that was put back to the same zones with the same amounts is not among them;
  /// one whose amounts are split otherwise over the same zones is.
  [[nodiscard]] std::vector<PodUid> evictions() const;

  using Mark = std::size_t;
  [[nodiscard]] Mark mark() const { return journal_.size(); }
  /// Undoes everything since the mark, exactly. Domain: a mark that was not discarded over.
  void discard(Mark mark);

 private:
  struct Entry {
    std::optional<At> bound;  ///< where it runs
    std::optional<At> now;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct Change {
    PodUid uid;
    std::optional<At> before;
  };

  void move(const PodUid& uid, std::optional<At> to);

  Fleet* fleet_;
  std::map<PodUid, Entry> pods_;
  std::vector<Change> journal_;
};

}  // namespace pinfold
