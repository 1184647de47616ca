#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/api/pod_level.hpp"

namespace pinfold::memory_detail {

/// Resource name to bytes.
using Requests = std::map<std::string, std::uint64_t>;

inline constexpr const char* kMemory = "memory";

/// Whether the memory manager serves the pod: Guaranteed pods that are manageable.
[[nodiscard]] bool is_managed(const FeatureGates& gates, const PodView& pod);

/// The memory that a container requests; none for a shared container of a pod with pod-level
/// resources. nullopt: an amount is not a whole number of bytes, or not spelled as one where that
/// counts.
[[nodiscard]] std::optional<Requests> container_requests(const FeatureGates& gates,
                                                         const Quirks& quirks, const PodSpec& pod,
                                                         const Container& container);

/// The memory of the pod as a whole: pod-level requests, or what its containers need at one time.
[[nodiscard]] std::optional<Requests> pod_requests(const FeatureGates& gates, const Quirks& quirks,
                                                   const PodSpec& pod);

/// Why the shared containers of a pod with pod-level resources would get no memory, in the
/// kubelet's words; empty if they get some. Source: kubelet v1.36.2, observed, and KEP-5526.
[[nodiscard]] std::string empty_shared_pool(const FeatureGates& gates, const Quirks& quirks,
                                            const PodSpec& pod);

/// For the trace: "128Mi of hugepages-2Mi, 4Gi of memory".
[[nodiscard]] std::string describe(const Requests& requests);

/// The kubelet's text for an amount that is not a whole number of bytes.
inline constexpr const char* kNotWholeBytes =
    "[memorymanager] failed to represent quantity as int64";

}  // namespace pinfold::memory_detail
