#pragma once

#include "pinfold/decide/container_resources.hpp"
#include "pinfold/decide/counts.hpp"
#include "pinfold/decide/decision.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/decide/node_state.hpp"
#include "pinfold/decide/stale.hpp"
#include "pinfold/types/trace.hpp"

/// The functions that change the state of a node. Includes everything that describes a node and a
/// decision.
namespace pinfold {

/// What an admission checks.
enum class AdmissionChecks {
  kManagers,  ///< the topology manager and the managers that it consults
  /// Also, like the kubelet, whether the requests of all active pods fit: find_shortage().
  kManagersAndRequests,
};

/// Decides whether the node admits the pod, and with which resources. Pure: the same arguments give
/// the same decision. Pass the state with std::move to avoid a copy. A pod that is already active
/// is admitted again, as by the kubelet after a restart. Increments `counts`, unless nullptr.
/// Domain: a pod that pod_from_json accepts.
[[nodiscard]] Decision decide(const Node& node, NodeState state, const PodSpec& pod,
                              Trace* trace = nullptr, Counts* counts = nullptr,
                              AdmissionChecks checks = AdmissionChecks::kManagers);

/// Starts a container: takes the devices that pod-level allocation has not taken, drops the memory
/// entries of finished init containers, and marks the container as started. Does nothing for a
/// started container. Errors: kNotFound for a container of no active pod; kBusy if too few devices
/// are free.
[[nodiscard]] Result<NodeState> start_container(const Node& node, NodeState state,
                                                const ContainerId& container);
/// Like start_container, in place. A failed start keeps the devices that it has taken, as in the
/// kubelet.
[[nodiscard]] Result<void> start_in_place(const Node& node, NodeState& state,
                                          const ContainerId& container);
/// Removes a container; its pod remains.
[[nodiscard]] NodeState remove_container(const Node& node, NodeState state,
                                         const ContainerId& container);
/// Removes all containers, in start order, and then the pod itself; also for a held pod.
[[nodiscard]] NodeState remove_pod(const Node& node, NodeState state, const PodUid& uid);

}  // namespace pinfold
