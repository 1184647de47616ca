#pragma once

#include <podresources/v1/podresources.pb.h>
#include <podresources/v1alpha1/podresources.pb.h>

#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/decide/decide.hpp"

/// The answers of the kubelet's PodResources API, computed from the state of a node. Where a
/// kubelet has no fixed order, lists are sorted: pods by admission; CPUs, NUMA nodes, resources and
/// device ids in ascending order. Source: kubelet v1.36.2, observed.
namespace pinfold::podresources {

/// Returns the active pods, each with sidecars first and then app containers. Containers without
/// resources have empty lists. CPUs are those that the state assigns to the container: exclusive
/// CPUs, or the pod shared pool.
[[nodiscard]] ::v1::ListPodResourcesResponse list(const Machine& machine, const NodeState& state);

/// Returns one pod in the same form. Errors: kNotFound, "pod NAME in namespace NAMESPACE not
/// found".
[[nodiscard]] Result<::v1::GetPodResourcesResponse> get(const Machine& machine,
                                                        const NodeState& state,
                                                        std::string_view name,
                                                        std::string_view namespace_name);

/// Returns all CPUs that are not reserved, the allocatable memory of each NUMA node, and all
/// devices; no CPUs or memory for managers with the policy none. Does not depend on what is
/// allocated.
[[nodiscard]] ::v1::AllocatableResourcesResponse allocatable(const Node& node,
                                                             const NodeState& state);

/// Returns only the devices of app containers.
[[nodiscard]] ::v1alpha1::ListPodResourcesResponse list_v1alpha1(const Machine& machine,
                                                                 const NodeState& state);

}  // namespace pinfold::podresources
