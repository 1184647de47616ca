#pragma once

#include <cstdint>
#include <vector>

#include "pinfold/cluster/cluster_view.hpp"
#include "pinfold/predict/scoring_strategy.hpp"
#include "pinfold/scheduling/protocol.hpp"

/// The answers to kube-scheduler. A node without a topology that can be read passes: nothing is
/// predicted for it. Changes of the fleet are undone before a function returns.
namespace pinfold::scheduling {

/// What happens to nodes that depend only on pods that may be elsewhere, if no other node passes.
enum class Undecided : std::uint8_t {
  kReport,  ///< the result is undecided: a moment later most of these pods are bound
  kPass,    ///< they pass: each of these pods is on one node only
};

/// Divides the nodes into those that would admit the pod and those that would reject it. The pod is
/// in flight afterwards: it may be bound to any node that has passed.
///
/// While others are in flight, a node passes only if it would admit the pod together with all of
/// them. If none does, but some would together with those that can be nowhere else, `undecided`
/// says what happens.
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
