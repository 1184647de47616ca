#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pinfold {

/// The events that the kubelet counts while it admits a pod; docs/metrics.md names the metrics.
/// Source: kubelet v1.36, where its managers and its topology manager increment them.
enum class Counter : std::size_t {
  kTopologyRequests,  ///< pods to admit
  kTopologyErrors,    ///< rejected pods; not counted with topology policy none
  kCpuPinningRequests,
  kCpuPinningErrors,
  kMemoryPinningRequests,
  kMemoryPinningErrors,
  // Alignment that the configuration guarantees: policy single-numa-node, option full-pcpus-only.
  kAlignedNumaContainer,
  kAlignedNumaPod,
  kAlignedPhysicalCpu,
  kAlignedUncoreCache,  ///< with any configuration: all CPUs share a last-level cache
  kMisalignedNumaContainer,
  kMisalignedNumaPod,
  kMisalignedPhysicalCpu,
  // Exclusive allocations from the node, or from the resources of the pod.
  kCpuFromNode,
  kCpuFromPod,
  kMemoryFromNode,
  kMemoryFromPod,
  kCpuErrorsNode,
  kCpuErrorsPod,
  kMemoryErrorsNode,
  kMemoryErrorsPod,
  // Containers by the kind of their allocation.
  kCpuNodeExclusive,
  kCpuPodExclusive,
  kCpuPodShared,
  kMemoryNodeExclusive,
  kMemoryPodExclusive,
  kMemoryPodShared,
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::kMemoryPodShared) + 1;

/// One count for each Counter. A plain value.
struct Counts {
  std::array<std::uint64_t, kCounters> values{};

  [[nodiscard]] std::uint64_t& operator[](Counter counter) {
    return values[static_cast<std::size_t>(counter)];
  }
  [[nodiscard]] std::uint64_t operator[](Counter counter) const {
    return values[static_cast<std::size_t>(counter)];
  }

  friend bool operator==(const Counts&, const Counts&) = default;
};

}  // namespace pinfold
