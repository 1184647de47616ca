#pragma once

#include <hwloc.h>

#include <memory>

#include "pinfold/base/result.hpp"
#include "pinfold/discover/source.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

/// Whether hwloc discovers PCI devices, which takes longer.
enum class Devices { kIgnore, kFind };

/// Loads a topology into hwloc. hwloc reads a SysTree other than "/" only through the environment
/// variable HWLOC_FSROOT; kUnsupported if it reads another tree.
[[nodiscard]] Result<Topology> load_topology(const SysTree& source, Devices devices);
[[nodiscard]] Result<Topology> load_topology(const HwlocXml& source, Devices devices);
[[nodiscard]] Result<Topology> load_topology(const HwlocSynthetic& source, Devices devices);

/// Describes the machine in a loaded topology.
[[nodiscard]] Result<MachineDescription> describe_topology(hwloc_topology* topology);

}  // namespace pinfold
