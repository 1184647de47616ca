#include <utility>

#include "pinfold/predict/pod_query.hpp"
#include "pinfold/scheduling/answers.hpp"

namespace pinfold::scheduling {
namespace {

using cluster::ClusterView;
using cluster::PodAccount;

/// Returns the placements of the victims that are known and on this node.
std::vector<Placement> freed_by(const ClusterView& view, const Fleet& fleet, std::size_t node,
                                const NodeVictims& victims) {
  std::vector<Placement> placements;
  for (const PodUid& uid : victims.pods) {
    const PodAccount* const pod = view.find_pod(uid);
    if (pod == nullptr || pod->known() == nullptr || pod->node != fleet.name(node)) continue;
    if (auto placement = placement_of(fleet, node, *pod->known())) {
      placements.push_back(*std::move(placement));
    }
  }
  return placements;
}

/// Whether the node would admit the pod without the victims, and without pods that may be
/// elsewhere.
bool admits_without(const NodeVictims& victims, ClusterView& view, Fleet& fleet, PodQuery& query,
                    std::size_t node) {
  const auto freed = freed_by(view, fleet, node, victims);
  view.in_flight().credit_elsewhere(fleet, node);
  for (const Placement& placement : freed) fleet.credit(node, placement);
  const bool admits = query.predict(node, ScoringStrategy::kLeastNumaNodes).admits();
  for (const Placement& placement : freed) fleet.charge(node, placement);
  view.in_flight().charge_elsewhere(fleet, node);
  return admits;
}

}  // namespace

VictimsByNode preempt(ClusterView& view, const PreemptionArgs& args, kube::Time now) {
  Fleet& fleet = view.fleet(now);
  view.in_flight().remove(fleet, args.pod.uid);
  PodQuery query(fleet, args.pod);
  VictimsByNode helping;
  for (const auto& [name, victims] : args.victims) {
    const auto node = view.number_of(name);
    if (node && !admits_without(victims, view, fleet, query, *node)) continue;
    helping.emplace(name, victims);
  }
  return helping;
}

}  // namespace pinfold::scheduling
