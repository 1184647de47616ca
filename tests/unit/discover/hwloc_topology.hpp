#pragma once

#include <hwloc.h>
#include <hwloc/export.h>

#include <memory>

namespace pinfold::test {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

}  // namespace pinfold::test
