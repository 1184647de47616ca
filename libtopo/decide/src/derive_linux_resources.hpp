#pragma once

#include <cstdint>
#include <optional>

#include "pinfold/api/pod.hpp"
#include "pinfold/decide/linux_resources.hpp"
#include "pinfold/decide/node.hpp"

namespace pinfold {

/// Whether the CFS quota is enforced; it is off for exclusive CPUs.
enum class QuotaEnforcement { kEnforced, kOffForExclusiveCpus };

/// Values of the whole pod on which its containers' cgroup values depend, computed once for all of
/// them.
struct PodTotals {
  PodTotals(const Node& node, const PodSpec& spec);

  PodView pod;
  /// Bytes that the pod requests beyond its containers, per container.
  std::int64_t extra_memory = 0;
  /// The smallest memory request of an app container.
  std::optional<std::int64_t> smallest_app_memory;
};

/// Returns the cgroup values of one container.
[[nodiscard]] LinuxResources container_linux_resources(const Node& node, const PodTotals& totals,
                                                       const Container& container,
                                                       QuotaEnforcement quota);
/// Returns the cgroup values of the pod.
[[nodiscard]] LinuxResources pod_linux_resources(const Node& node, const PodSpec& pod,
                                                 QuotaEnforcement quota);

}  // namespace pinfold
