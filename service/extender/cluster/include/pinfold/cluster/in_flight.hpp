#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pinfold/kube/list_watch.hpp"
#include "pinfold/predict/fleet.hpp"
#include "pinfold/types/container_id.hpp"

namespace pinfold::cluster {

/// Pods with candidate nodes that are not known to be bound yet. The scheduler does not say which
/// node it has chosen, so each pod is charged on all of its candidates.
///
/// How it works. The fleet is charged when a pod comes and credited when it goes, so that the cost
/// of a request depends on the number of nodes that it names, not on the pods in flight. The sums
/// by node are for nodes whose rows are rewritten, and for a view of a node without the pods that
/// may be elsewhere.
class InFlight {
 public:
  struct Candidate {
    std::size_t node = 0;
    Placement placement;
  };
  /// The most candidates of all pods. Beyond it the oldest pods no longer count.
  static constexpr std::size_t kMostCandidates = 2'000'000;

  /// Replaces the candidates of a pod, which are among the `passed` nodes that were named for it.
  /// Without candidates it is not in flight.
  void set(Fleet& fleet, const PodUid& uid, const std::vector<Candidate>& candidates,
           std::size_t passed, kube::Time until);
  void remove(Fleet& fleet, const PodUid& uid);
  void expire(Fleet& fleet, kube::Time now);
  /// Handles a change of a node's zones: placements there no longer mean anything.
  void forget_node(std::size_t node);
  void clear();
  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  [[nodiscard]] bool contains(const PodUid& uid) const { return pods_.contains(uid); }

  /// Charges all pods on a node whose rows were rewritten.
  void charge_node(Fleet& fleet, std::size_t node) const;
  /// Credits on a node the pods that may be elsewhere, because several nodes were named for them;
  /// or charges them again.
  void credit_elsewhere(Fleet& fleet, std::size_t node) const;
  void charge_elsewhere(Fleet& fleet, std::size_t node) const;
  /// Credits a pod on all of its candidates, or charges it again.
  void credit(Fleet& fleet, const PodUid& uid) const;
  void charge(Fleet& fleet, const PodUid& uid) const;

 private:
  struct Spot {
    std::uint32_t node;
    std::uint32_t placement;  ///< index of Pod::placements
  };
  struct Pod {
    std::vector<Placement> placements;  ///< different ones: there are few
    std::vector<Spot> spots;
    bool is_certain = false;  ///< it can be nowhere else
    kube::Time until{0};
  };
  struct Sums {
    Placement certain;
    Placement elsewhere;
  };

  [[nodiscard]] static Pod packed(const std::vector<Candidate>& candidates);
  void add_to_sums(const Pod& pod, int sign);
  void drop_oldest(Fleet& fleet);

  std::map<PodUid, Pod> pods_;
  std::vector<Sums> sums_;  ///< by node
  std::size_t candidates_ = 0;
};

}  // namespace pinfold::cluster
