#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/kube/list_watch.hpp"
#include "pinfold/predict/fleet.hpp"
#include "pinfold/types/pod_ref.hpp"

namespace pinfold::cluster {

/// Pods for which nodes were named, and of which no node is known yet: each may be about to be
/// bound to any of its nodes. The scheduler does not say which one it has chosen.
class InFlight {
 public:
  struct Candidate {
    std::size_t node = 0;
    Placement placement;
  };

  /// Replaces the candidates of a pod, which are among the `passed` nodes that were named for it.
  /// Without candidates it is not in flight.
  void set(const PodRef& pod, std::vector<Candidate> candidates, std::size_t passed,
           kube::Time until);
  void remove(const PodUid& uid) { pods_.erase(uid); }
  void expire(kube::Time now);
  /// The zones of a node have changed: placements there no longer mean anything.
  void forget_node(std::size_t node);
  void clear() { pods_.clear(); }
  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  [[nodiscard]] bool contains(const PodUid& uid) const { return pods_.contains(uid); }

  /// Which pods count: all of them on each of their candidates, or only those for which one node
  /// was named.
  enum class Which { kAll, kCertain };
  /// Charges the placements of pods other than `except`.
  void charge(Fleet& fleet, const PodUid& except, Which which) const;
  /// Undoes charge() with the same arguments.
  void credit(Fleet& fleet, const PodUid& except, Which which) const;
  /// Returns a pod other than `except` that may be about to be bound to the node; nullptr if there
  /// is none.
  [[nodiscard]] const PodRef* pod_on(std::size_t node, const PodUid& except) const;

 private:
  struct Pod {
    PodRef ref;
    std::vector<Candidate> candidates;  ///< ascending by node
    std::size_t passed = 0;
    kube::Time until{0};
  };
  std::map<PodUid, Pod> pods_;
};

}  // namespace pinfold::cluster
