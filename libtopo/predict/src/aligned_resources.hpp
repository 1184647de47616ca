#pragma once

#include "pinfold/api/pod.hpp"

/// What the kubelet would align of a pod, as far as the pod tells.
namespace pinfold::predict {

/// What the pod needs at one time (pod scope).
[[nodiscard]] ResourceList aligned_by_pod(const PodSpec& pod);
/// Pod scope, pod-level resources: do the exclusive containers leave nothing of the pod's
/// `resource` to the others, or too little to an init container? Then the kubelet's managers say
/// that no NUMA node would do. Source: kubelet v1.36.2, observed.
[[nodiscard]] bool leaves_no_shared_pool(const PodSpec& pod, std::string_view resource);
/// What one container asks for (container scope).
[[nodiscard]] ResourceList aligned_by_container(const PodSpec& pod, const Container& container);

}  // namespace pinfold::predict
