#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"

namespace pinfold::memory_detail {

/// Resource name to bytes.
using Requests = std::map<std::string, std::uint64_t>;

inline constexpr const char* kMemory = "memory";

/// False for pods that the memory manager leaves alone: those that are not Guaranteed, and those
/// with pod-level resources unless both gates are on.
[[nodiscard]] bool is_managed(const FeatureGates& gates, const PodSpec& pod);

/// Memory that a container asks for on its own account; nothing for a shared container of a pod
/// with pod-level resources. nullopt: an amount is not a whole number of bytes.
[[nodiscard]] std::optional<Requests> container_requests(const FeatureGates& gates,
                                                         const PodSpec& pod,
                                                         const Container& container);

/// Memory of the pod as a whole: pod-level requests, or what its containers need at the same time.
[[nodiscard]] std::optional<Requests> pod_requests(const FeatureGates& gates, const PodSpec& pod);

/// Why the shared containers of a pod with pod-level resources would have no memory; empty: they
/// have some. Source: kubelet v1.36.2, observed, and KEP-5526.
[[nodiscard]] std::string empty_shared_pool(const FeatureGates& gates, const PodSpec& pod);

/// For people: "128Mi of hugepages-2Mi, 4Gi of memory".
[[nodiscard]] std::string describe(const Requests& requests);

/// The kubelet's text for an amount that is not a whole number of bytes.
inline constexpr const char* kNotWholeBytes =
    "[memorymanager] failed to represent quantity as int64";

}  // namespace pinfold::memory_detail
