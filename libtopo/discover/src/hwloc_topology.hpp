#pragma once

#include <memory>

#include "libhwloc.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/discover/source.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

/// Destroys a topology, and names the library that made it.
struct DestroyTopology {
  const Libhwloc* hwloc = nullptr;
  void operator()(hwloc_topology* topology) const { hwloc->topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

/// Whether hwloc discovers PCI devices, which takes longer.
enum class Devices { kIgnore, kFind };

/// Loads a topology into hwloc. hwloc reads a SysTree other than "/" only through the environment
/// variable HWLOC_FSROOT; kUnsupported if it reads another tree, or if hwloc cannot be loaded.
[[nodiscard]] Result<Topology> load_topology(const SysTree& source, Devices devices);
[[nodiscard]] Result<Topology> load_topology(const HwlocXml& source, Devices devices);
[[nodiscard]] Result<Topology> load_topology(const HwlocSynthetic& source, Devices devices);

/// Describes the machine in a loaded topology. Domain: not null.
[[nodiscard]] Result<MachineDescription> describe_topology(const Topology& topology);

}  // namespace pinfold
