#pragma once

#include <hwloc.h>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// The functions of hwloc that Pinfold calls, without the prefix "hwloc_".
struct Libhwloc {
  decltype(&::hwloc_topology_init) topology_init;
  decltype(&::hwloc_topology_destroy) topology_destroy;
  decltype(&::hwloc_topology_load) topology_load;
  decltype(&::hwloc_topology_set_components) topology_set_components;
  decltype(&::hwloc_topology_set_flags) topology_set_flags;
  decltype(&::hwloc_topology_set_synthetic) topology_set_synthetic;
  decltype(&::hwloc_topology_set_type_filter) topology_set_type_filter;
  decltype(&::hwloc_topology_set_xmlbuffer) topology_set_xmlbuffer;
  decltype(&::hwloc_topology_export_xmlbuffer) topology_export_xmlbuffer;
  decltype(&::hwloc_free_xmlbuffer) free_xmlbuffer;
  decltype(&::hwloc_topology_is_thissystem) topology_is_thissystem;
  decltype(&::hwloc_topology_get_allowed_cpuset) topology_get_allowed_cpuset;
  decltype(&::hwloc_get_type_depth) get_type_depth;
  decltype(&::hwloc_get_obj_by_depth) get_obj_by_depth;
  decltype(&::hwloc_distances_get_by_type) distances_get_by_type;
  decltype(&::hwloc_distances_release) distances_release;
  decltype(&::hwloc_bitmap_first) bitmap_first;
  decltype(&::hwloc_bitmap_last) bitmap_last;
  decltype(&::hwloc_bitmap_next) bitmap_next;
  decltype(&::hwloc_bitmap_isset) bitmap_isset;
};

/// Loads hwloc when it is first needed. Errors: as for LoadedLibrary. Thread-safety: safe.
[[nodiscard]] Result<const Libhwloc*> libhwloc();

/// Returns the next object of a type, or with `previous` nullptr the first; nullptr at the end.
/// Like hwloc_get_next_obj_by_type, which is inline and would call hwloc by its symbols.
[[nodiscard]] hwloc_obj_t next_object(const Libhwloc& hwloc, hwloc_topology* topology,
                                      hwloc_obj_type_t type, hwloc_obj_t previous);

}  // namespace pinfold
