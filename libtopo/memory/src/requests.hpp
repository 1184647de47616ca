#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/api/pod_level.hpp"

namespace pinfold::memory {

/// Resource name to bytes.
using Requests = std::map<std::string, std::uint64_t>;

inline constexpr const char* kMemory = "memory";

/// Returns whether the memory manager serves the pod: it must be Guaranteed and manageable.
[[nodiscard]] bool is_managed(const FeatureGates& gates, const PodView& pod);

/// Returns the memory that a container requests; empty for a shared container of a pod with
/// pod-level resources. nullopt if an amount is not a whole number of bytes or, with the quirk
/// about spelling, is not spelled as one.
[[nodiscard]] std::optional<Requests> container_requests(const FeatureGates& gates,
                                                         const Quirks& quirks, const PodSpec& pod,
                                                         const Container& container);

/// Returns the memory of the pod as a whole: pod-level requests, or the most that its containers
/// need at one time.
[[nodiscard]] std::optional<Requests> pod_requests(const FeatureGates& gates, const Quirks& quirks,
                                                   const PodSpec& pod);

/// Explains in the kubelet's words why the shared containers of a pod with pod-level resources
/// would get no memory; "" if they get some. Source: kubelet v1.36.2, observed, and KEP-5526.
[[nodiscard]] std::string empty_shared_pool(const FeatureGates& gates, const Quirks& quirks,
                                            const PodSpec& pod);

/// Formats requests for the trace: "128Mi of hugepages-2Mi, 4Gi of memory".
[[nodiscard]] std::string describe(const Requests& requests);

/// The kubelet's text for an amount that is not a whole number of bytes.
inline constexpr const char* kNotWholeBytes =
    "[memorymanager] failed to represent quantity as int64";

}  // namespace pinfold::memory
