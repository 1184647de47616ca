#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pinfold/predict/bound_pods.hpp"
#include "pinfold/predict/fleet.hpp"

namespace pinfold {

/// What a scheduling cycle has placed in a fleet so far. A pod's placement is charged when the pod
/// is placed and credited, exactly, when it is removed.
///
/// What-if: mark(), then place and remove pods (preempt, reclaim, consolidate), then either keep
/// the changes or discard() them. Marks nest. Borrows the fleet, which must outlive it.
class Ledger {
 public:
  explicit Ledger(Fleet& fleet) : fleet_(&fleet) {}

  /// Adds a pod that is already bound and whose placement is already subtracted from what is
  /// available. A pod without a known placement is not accounted for, and removing it frees
  /// nothing. Errors: kInvalidArgument for a pod that was added before.
  Result<void> add_bound(const BoundPod& pod);

  /// Places a pod on a node and charges it there; moves a pod that is placed elsewhere.
  void place(const PodUid& uid, std::size_t node, Placement placement);
  /// Removes a pod, which is an eviction if it was bound.
  /// Errors: kNotFound for a pod that is not placed.
  Result<void> remove(const PodUid& uid);

  struct Location {
    std::size_t node = 0;
    Placement placement;

    friend bool operator==(const Location&, const Location&) = default;
  };
  /// Returns the present location of a pod; nullptr if it is not placed.
  [[nodiscard]] const Location* find(const PodUid& uid) const;
  /// Returns the bound pods that have left their location and would have to be evicted, ascending
  /// by UID. A pod that is back on the same zones with the same amounts is not one of them, but a
  /// pod whose amounts are divided differently among the same zones is.
  [[nodiscard]] std::vector<PodUid> evictions() const;

  using Mark = std::size_t;
  [[nodiscard]] Mark mark() const { return journal_.size(); }
  /// Undoes everything since the mark, exactly. Domain: a mark that no earlier discard() has rolled
  /// back past.
  void discard(Mark mark);

 private:
  struct Entry {
    std::optional<Location> bound;  ///< where it runs
    std::optional<Location> now;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct Change {
    PodUid uid;
    std::optional<Location> before;
  };

  void move(const PodUid& uid, std::optional<Location> to);

  Fleet* fleet_;
  std::map<PodUid, Entry> pods_;
  std::vector<Change> journal_;
};

}  // namespace pinfold
