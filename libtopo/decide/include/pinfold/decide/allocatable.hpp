#pragma once

#include <cstdint>
#include <optional>

#include "pinfold/api/pod.hpp"
#include "pinfold/decide/node_state.hpp"
#include "pinfold/decide/pod_totals.hpp"
#include "pinfold/types/rejection.hpp"

/// The kubelet's check that the requests of all pods fit into the allocatable resources.
namespace pinfold {

/// Returns what is allocatable on a node: "cpu", "memory" and huge pages. Excludes what is reserved
/// (see NodeReservation); huge pages are not allocatable as memory.
/// Source: kubelet v1.36 pkg/kubelet/nodestatus/setters.go.
[[nodiscard]] ResourceList allocatable(const Node& node);

/// Returns the most pods that maxPods and podsPerCore allow on the node; nullopt without a limit.
/// Source: kubelet v1.36 pkg/kubelet/nodestatus/setters.go MachineInfo.
[[nodiscard]] std::optional<std::int64_t> allowed_pods(const Node& node);

/// Returns the least that a held pod requests: its exclusive CPUs and its assigned memory. Its
/// other requests are unknown.
[[nodiscard]] ResourceList held_amounts(const NodeState& state, const PodUid& held);
/// Returns the sum of held_amounts() over all held pods except `pod`.
[[nodiscard]] ResourceList others_held(const NodeState& state, const PodUid& pod);

/// Returns what the pods of a node request together, except `pod`: total_requests() of the active
/// ones and held_amounts() of the held ones.
[[nodiscard]] ResourceList requests_of_pods(const FeatureGates& gates, const NodeState& state,
                                            const PodUid& except = {});

/// Returns a rejection for the first resource (pods, see Config::max_pods; cpu; memory; huge pages)
/// that the pod requests more of than the other pods leave: "OutOfcpu" with milli-CPUs, the others
/// with bytes. nullopt if the pod fits. The pod itself does not count among `pods`; `held` is what
/// others use in addition. Source: kubelet v1.36 pkg/kubelet/lifecycle/predicate.go, scheduler
/// noderesources.Fits.
[[nodiscard]] std::optional<Rejection> find_shortage(const Node& node, const ActivePods& pods,
                                                     const PodSpec& pod,
                                                     const ResourceList& held = {});

}  // namespace pinfold
