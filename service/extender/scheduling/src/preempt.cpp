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

}  // namespace

VictimsByNode preempt(ClusterView& view, const PreemptionArgs& args, kube::Time now) {
  Fleet& fleet = view.fleet(now);
  view.in_flight().charge(fleet, args.pod.uid, cluster::InFlight::Which::kCertain);
  PodQuery query(fleet, args.pod);
  VictimsByNode helping;
  for (const auto& [name, victims] : args.victims) {
    const auto node = view.number_of(name);
    if (node) {
      const auto freed = freed_by(view, fleet, *node, victims);
      for (const Placement& placement : freed) fleet.credit(*node, placement);
      const bool admits = query.predict(*node, ScoringStrategy::kLeastNumaNodes).admits();
      for (const Placement& placement : freed) fleet.charge(*node, placement);
      if (!admits) continue;
    }
    helping.emplace(name, victims);
  }
  view.in_flight().credit(fleet, args.pod.uid, cluster::InFlight::Which::kCertain);
  return helping;
}

}  // namespace pinfold::scheduling
