#pragma once

#include "pinfold/api/pod.hpp"

/// The resources of a pod that the kubelet aligns.
namespace pinfold::predict {

/// Pod scope: returns the most that the pod needs at one time.
[[nodiscard]] ResourceList aligned_by_pod(const PodSpec& pod);
/// Pod scope, pod-level resources: returns true if the exclusive containers leave nothing of the
/// pod's `resource` for the shared ones, or too little for an init container. The kubelet's
/// managers then give an empty list of hints. Source: kubelet v1.36.2, observed.
[[nodiscard]] bool leaves_no_shared_pool(const PodSpec& pod, std::string_view resource);
/// Container scope: returns what one container needs.
[[nodiscard]] ResourceList aligned_by_container(const PodSpec& pod, const Container& container);

}  // namespace pinfold::predict
