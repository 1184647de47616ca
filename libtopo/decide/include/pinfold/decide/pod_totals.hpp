#pragma once

#include "pinfold/api/pod.hpp"

namespace pinfold {

/// Whether a pod's overhead counts as part of its requests; the runtime receives the two
/// separately.
enum class Overhead { kCount, kLeaveOut };

/// Returns what a pod requests as a whole: container_total, or its pod-level requests where it has
/// any, and its overhead. Source: kubelet v1.36 component-helpers/resource PodRequests.
[[nodiscard]] ResourceList total_requests(const FeatureGates& gates, const PodSpec& pod,
                                          Overhead overhead = Overhead::kCount);
/// Returns the limits of a pod as a whole, without overhead.
[[nodiscard]] ResourceList total_limits(const FeatureGates& gates, const PodSpec& pod);

}  // namespace pinfold
