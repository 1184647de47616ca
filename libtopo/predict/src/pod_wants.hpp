#pragma once

#include "pinfold/types/pod.hpp"

/// What the kubelet would align of a pod, as far as the pod tells.
namespace pinfold::predict {

/// What the pod needs at one time (pod scope).
[[nodiscard]] ResourceList aligned_by_pod(const PodSpec& pod);
/// What one container asks for (container scope).
[[nodiscard]] ResourceList aligned_by_container(const PodSpec& pod, const Container& container);

}  // namespace pinfold::predict
