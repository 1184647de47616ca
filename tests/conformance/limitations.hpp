#pragma once

#include <array>
#include <string_view>

#include "pinfold/simulate/simulate.hpp"

namespace pinfold::test {

/// Why a prediction from a NodeResourceTopology alone may differ from the kubelet's verdict. Each
/// has a criterion of its own: mostly, that the difference is gone when that one cause is.
enum class Cause {
  kParticipation,   ///< a manager aligns nothing on this node, or not this pod's resources
  kCpuOptions,      ///< align-by-socket, prefer-align-cpus-by-uncorecache
  kWideDevices,     ///< a device near several NUMA nodes
  kMemoryGroups,    ///< NUMA nodes that are grouped, or not free to be
  kInitContainers,  ///< what init containers had is not free at once
  kManyContainers,  ///< each container alone is predicted right, together they are not
  kKubeletDefect,   ///< the profile without the kubelet's defects decides as predicted
  kNone,            ///< nothing explains it: the prediction is wrong
};
inline constexpr std::size_t kCauses = static_cast<std::size_t>(Cause::kNone) + 1;

/// What one admission is predicted and observed to be.
struct Compared {
  bool observed = false;    ///< the kubelet admits
  bool from_state = false;  ///< predicted from the node's state
  bool from_zones = false;  ///< predicted from the NodeResourceTopology that it would publish
};

/// Did the topology manager refuse the pod? False if it was admitted, or refused by what comes
/// after: that is no question of zones.
[[nodiscard]] bool is_topology_refusal(const simulate::Arrival& arrival);

[[nodiscard]] Compared compare_predictions(const simulate::Arrival& arrival);

/// The first cause that explains why from_zones is not what was observed.
/// Domain: they differ.
[[nodiscard]] Cause explain_difference(const simulate::Arrival& arrival);

}  // namespace pinfold::test
