#pragma once

#include <vector>

#include "pinfold/cluster/cluster_view.hpp"
#include "pinfold/predict/scoring_strategy.hpp"
#include "pinfold/scheduling/protocol.hpp"

/// The answers to kube-scheduler. A node without a topology that can be read passes: nothing is
/// predicted for it. Changes of the fleet are undone before a function returns.
namespace pinfold::scheduling {

/// Divides the nodes into those that would admit the pod and those that would reject it. The pod is
/// in flight afterwards: it may be bound to any node that has passed.
///
/// While others are in flight, a node passes only if it would admit the pod together with all of
/// them. If none does, but some would together with those that can be nowhere else, `undecided`
/// says what happens: the result is undecided, and a moment later most of the others are bound; or
/// these nodes pass, because each of the others is on one node only.
enum class Undecided { kReport, kPass };
[[nodiscard]] FilterResult filter(cluster::ClusterView& view, const ExtenderArgs& args,
                                  kube::Time now, Undecided undecided = Undecided::kReport);

/// Scores the nodes by the strategy, 0 to 10; 0 for those without a topology.
[[nodiscard]] std::vector<HostPriority> prioritize(cluster::ClusterView& view,
                                                   const ExtenderArgs& args,
                                                   ScoringStrategy strategy, kube::Time now);

/// Returns the nodes that would admit the pod once the victims are gone. A victim whose placement
/// is unknown frees nothing: zones are never guessed.
[[nodiscard]] VictimsByNode preempt(cluster::ClusterView& view, const PreemptionArgs& args,
                                    kube::Time now);

}  // namespace pinfold::scheduling
