#pragma once

#include <cstdint>
#include <optional>

#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/decide/node.hpp"

/// MemoryQoS (KEP-2570): memoryReservationPolicy and memoryThrottlingFactor.
namespace pinfold {

/// Returns the values of a container; nullopt if the configuration asks for none.
/// Source: kubelet v1.36 kuberuntime_container_linux.go; 1.37: kubernetes#137685 and its
/// documentation.
[[nodiscard]] std::optional<MemoryQos> container_memory_qos(const Node& node, const PodSpec& pod,
                                                            const Container& container);
/// Returns the values of a pod's own group. `limit`: of a pod with pod-level resources and a memory
/// limit; 0: none, or no pod-level resources. Source: kubelet v1.36 helpers_linux.go
/// ResourceConfigForPod; 1.37: the tests of ApplyPodLevelMemoryHigh.
[[nodiscard]] std::optional<MemoryQos> pod_memory_qos(const Node& node, const PodSpec& pod,
                                                      std::int64_t request, std::int64_t limit);

}  // namespace pinfold
