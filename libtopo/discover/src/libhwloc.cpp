#include "libhwloc.hpp"

#include "pinfold/base/loaded_library.hpp"

namespace pinfold {
namespace {

PINFOLD_LOADED_LIBRARY(kHwloc, "libhwloc.so.15", "libhwloc15",
                       "read hwloc's topologies and find PCI devices");

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a list
Result<Libhwloc> load_hwloc() {
  PINFOLD_LET(const auto library, LoadedLibrary::open(kHwloc));
  Libhwloc hwloc{};
  PINFOLD_TRY(library.find("hwloc_topology_init", hwloc.topology_init));
  PINFOLD_TRY(library.find("hwloc_topology_destroy", hwloc.topology_destroy));
  PINFOLD_TRY(library.find("hwloc_topology_load", hwloc.topology_load));
  PINFOLD_TRY(library.find("hwloc_topology_set_components", hwloc.topology_set_components));
  PINFOLD_TRY(library.find("hwloc_topology_set_flags", hwloc.topology_set_flags));
  PINFOLD_TRY(library.find("hwloc_topology_set_synthetic", hwloc.topology_set_synthetic));
  PINFOLD_TRY(library.find("hwloc_topology_set_type_filter", hwloc.topology_set_type_filter));
  PINFOLD_TRY(library.find("hwloc_topology_set_xmlbuffer", hwloc.topology_set_xmlbuffer));
  PINFOLD_TRY(library.find("hwloc_topology_export_xmlbuffer", hwloc.topology_export_xmlbuffer));
  PINFOLD_TRY(library.find("hwloc_free_xmlbuffer", hwloc.free_xmlbuffer));
  PINFOLD_TRY(library.find("hwloc_topology_is_thissystem", hwloc.topology_is_thissystem));
  PINFOLD_TRY(library.find("hwloc_topology_get_allowed_cpuset", hwloc.topology_get_allowed_cpuset));
  PINFOLD_TRY(library.find("hwloc_get_type_depth", hwloc.get_type_depth));
  PINFOLD_TRY(library.find("hwloc_get_obj_by_depth", hwloc.get_obj_by_depth));
  PINFOLD_TRY(library.find("hwloc_distances_get_by_type", hwloc.distances_get_by_type));
  PINFOLD_TRY(library.find("hwloc_distances_release", hwloc.distances_release));
  PINFOLD_TRY(library.find("hwloc_bitmap_first", hwloc.bitmap_first));
  PINFOLD_TRY(library.find("hwloc_bitmap_last", hwloc.bitmap_last));
  PINFOLD_TRY(library.find("hwloc_bitmap_next", hwloc.bitmap_next));
  PINFOLD_TRY(library.find("hwloc_bitmap_isset", hwloc.bitmap_isset));
  return hwloc;
}

}  // namespace

Result<const Libhwloc*> libhwloc() { return load_once<Libhwloc, load_hwloc>(); }

hwloc_obj_t next_object(const Libhwloc& hwloc, hwloc_topology* topology, hwloc_obj_type_t type,
                        hwloc_obj_t previous) {
  if (previous != nullptr) return previous->next_cousin;
  return hwloc.get_obj_by_depth(topology, hwloc.get_type_depth(topology, type), 0);
}

}  // namespace pinfold
