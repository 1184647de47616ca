#pragma once

#include <podresources/v1/podresources.pb.h>
#include <podresources/v1alpha1/podresources.pb.h>

#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"

/// The answers of the kubelet's PodResources API, computed from the state of a node. Where a
/// kubelet has no fixed order, lists are in ascending order here: pods by their admission, CPUs,
/// NUMA nodes, resources and device ids by themselves. Source: kubelet v1.36.2, observed.
namespace pinfold::podresources {

/// The active pods; of each, sidecars first and then app containers. Containers without resources
/// have empty lists. CPUs are those that the state assigns to the container: exclusive CPUs, or the
/// pod shared pool.
[[nodiscard]] ::v1::ListPodResourcesResponse list(const Machine& machine, const NodeState& state);

/// The same for one pod. Errors: kNotFound, "pod NAME in namespace NAMESPACE not found".
[[nodiscard]] Result<::v1::GetPodResourcesResponse> get(const Machine& machine,
                                                        const NodeState& state,
                                                        std::string_view name,
                                                        std::string_view namespace_name);

/// All CPUs that are not reserved, the allocatable memory of each NUMA node, and all devices; no
/// CPUs and no memory for managers with the policy none. What is allocated does not matter.
[[nodiscard]] ::v1::AllocatableResourcesResponse allocatable(const Node& node,
                                                             const NodeState& state);

/// Only the devices of app containers.
[[nodiscard]] ::v1alpha1::ListPodResourcesResponse list_v1alpha1(const Machine& machine,
                                                                 const NodeState& state);

}  // namespace pinfold::podresources
