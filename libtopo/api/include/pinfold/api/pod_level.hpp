#pragma once

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"

/// Pods with pod-level resources (pod.spec.resources) and the feature gates of the managers,
/// KEP-5526.
namespace pinfold {

/// True if the managers allocate for the pod as a whole and divide the result among its containers:
/// the pod has pod-level resources, and the feature gate PodLevelResourceManagers is on.
[[nodiscard]] bool is_managed_as_pod(const FeatureGates& gates, const PodSpec& pod);

/// True if the static policies of the CPU and memory managers may serve the pod: all pods without
/// pod-level resources, and those with them only if both feature gates are on.
[[nodiscard]] bool is_manageable(const FeatureGates& gates, const PodSpec& pod);

/// True if PodLevelResources lets the pod's own requests and limits replace the containers' totals.
[[nodiscard]] bool uses_pod_level_resources(const FeatureGates& gates, const PodSpec& pod);

}  // namespace pinfold
