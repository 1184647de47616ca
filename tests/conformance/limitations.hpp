#pragma once

#include <array>
#include <string_view>

#include "pinfold/simulate/simulate.hpp"

namespace pinfold::test {

/// Why a prediction from a NodeResourceTopology alone may differ from the kubelet's decision. Each
/// cause has a criterion, usually that the difference disappears without the cause.
enum class Cause {
  kRequests,        ///< the requests of all pods exceed the node, which the managers do not check
  kParticipation,   ///< a manager does not align on this node, or not this pod's resources
  kCpuOptions,      ///< align-by-socket, prefer-align-cpus-by-uncorecache
  kWideDevices,     ///< a device near several NUMA nodes
  kMemoryGroups,    ///< NUMA nodes that are grouped, or cannot be
  kInitContainers,  ///< resources of init containers are not free immediately
  kManyContainers,  ///< each container alone is predicted right, but not all together
  kKubeletBug,      ///< the profile without the kubelet's known bugs decides as predicted
  kNone,            ///< no known cause: the prediction is wrong
};
inline constexpr std::size_t kCauses = static_cast<std::size_t>(Cause::kNone) + 1;

/// The predictions and the observed decision of one admission.
struct Compared {
  bool observed = false;    ///< the kubelet admits
  bool from_state = false;  ///< predicted from the node's state
  bool from_zones = false;  ///< predicted from the NodeResourceTopology that it would publish
};

/// True if the topology manager rejected the pod. False if the pod was admitted, or rejected for a
/// reason unrelated to zones.
[[nodiscard]] bool is_topology_rejection(const simulate::Arrival& arrival);

[[nodiscard]] Compared compare_predictions(const simulate::Arrival& arrival);

/// The first cause that explains why from_zones differs from what was observed.
/// Domain: they differ.
[[nodiscard]] Cause explain_difference(const simulate::Arrival& arrival);

}  // namespace pinfold::test
