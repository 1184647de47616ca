#include "libcgroup.hpp"

#include "pinfold/base/loaded_library.hpp"

namespace pinfold::enforce {
namespace {

PINFOLD_LOADED_LIBRARY(kCgroup, "libcgroup.so.2", "libcgroup2",
                       "find the control groups if no root is named");

Result<Libcgroup> load_cgroup() {
  PINFOLD_LET(const auto library, LoadedLibrary::open(kCgroup));
  Libcgroup cgroup{};
  PINFOLD_TRY(library.find("cgroup_init", cgroup.init));
  PINFOLD_TRY(library.find("cgroup_get_subsys_mount_point", cgroup.get_subsys_mount_point));
  PINFOLD_TRY(library.find("cgroup_strerror", cgroup.strerror));
  return cgroup;
}

}  // namespace

Result<const Libcgroup*> libcgroup() { return load_once<Libcgroup, load_cgroup>(); }

}  // namespace pinfold::enforce
