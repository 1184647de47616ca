#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pinfold {

/// What the kubelet counts while it admits a pod; docs/metrics.md names the metric of each.
/// Source: kubelet v1.36, where its managers and its topology manager increment them.
enum class Counter : std::size_t {
  kTopologyRequests,  ///< pods that were offered
  kTopologyErrors,    ///< pods without an affinity or an allocation; never with the policy none
  kCpuPinningRequests,
  kCpuPinningErrors,
  kMemoryPinningRequests,
  kMemoryPinningErrors,
  // Alignment that the configuration guarantees: policy single-numa-node, option full-pcpus-only.
  kAlignedNumaContainer,
  kAlignedNumaPod,
  kAlignedPhysicalCpu,
  kAlignedUncoreCache,  ///< whatever the configuration: all CPUs share a last-level cache
  kMisalignedNumaContainer,
  kMisalignedNumaPod,
  kMisalignedPhysicalCpu,
  // Exclusive allocations by where they come from: the node, or what the pod was given as a whole.
  kCpuFromNode,
  kCpuFromPod,
  kMemoryFromNode,
  kMemoryFromPod,
  kCpuErrorsNode,
  kCpuErrorsPod,
  kMemoryErrorsNode,
  kMemoryErrorsPod,
  // Containers by what they were given.
  kCpuNodeExclusive,
  kCpuPodExclusive,
  kCpuPodShared,
  kMemoryNodeExclusive,
  kMemoryPodExclusive,
  kMemoryPodShared,
};
inline constexpr std::size_t kCounters = static_cast<std::size_t>(Counter::kMemoryPodShared) + 1;

/// How often each happened: a plain value.
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
