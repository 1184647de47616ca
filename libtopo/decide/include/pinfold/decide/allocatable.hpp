#pragma once

#include <optional>

#include "pinfold/api/pod.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/types/rejection.hpp"

/// The kubelet's check that the requests of all pods fit into what is allocatable.
namespace pinfold {

struct ActivePod;
struct NodeState;

/// What is allocatable on a node: "cpu", "memory" and huge pages. What is reserved (see
/// NodeReservation) is not; nor are huge pages allocatable as memory.
/// Source: kubelet v1.36 pkg/kubelet/nodestatus/setters.go.
[[nodiscard]] ResourceList allocatable(const Node& node);

/// Whether the overhead of a pod is part of its requests; the runtime gets the two apart.
enum class Overhead { kCount, kLeaveOut };

/// What a pod requests as a whole: container_total, or its pod-level requests where it has them,
/// and its overhead. Source: kubelet v1.36 component-helpers/resource PodRequests.
[[nodiscard]] ResourceList total_requests(const FeatureGates& gates, const PodSpec& pod,
                                          Overhead overhead = Overhead::kCount);
/// The same for limits, without overhead.
[[nodiscard]] ResourceList total_limits(const FeatureGates& gates, const PodSpec& pod);

/// The least that a held pod requests: its exclusive CPUs and the memory assigned to it. What else
/// it requests is not known.
[[nodiscard]] ResourceList held_amounts(const NodeState& state, const PodUid& held);
/// The same of all held pods except `pod`.
[[nodiscard]] ResourceList others_held(const NodeState& state, const PodUid& pod);

/// The first resource (pods, see Config::max_pods; cpu; memory; huge pages) of which the pod
/// requests more than the other pods leave ("OutOfcpu", with milli-CPUs; else bytes); nullopt if it
/// fits. Of `pods`, the pod itself does not count; what others use besides them is `held`. Source:
/// kubelet v1.36 pkg/kubelet/lifecycle/predicate.go, scheduler noderesources.Fits.
[[nodiscard]] std::optional<Rejection> find_shortage(const Node& node,
                                                     const SharedVector<ActivePod>& pods,
                                                     const PodSpec& pod,
                                                     const ResourceList& held = {});

}  // namespace pinfold
