#include <fmt/format.h>
#include <libcgroup.h>

#include <cstdlib>
#include <memory>

#include "pinfold/base/loaded_library.hpp"
#include "pinfold/enforce/cgroups.hpp"

namespace pinfold::enforce {
namespace {

/// The functions of libcgroup that Pinfold calls, without the prefix "cgroup_".
struct Libcgroup {
  decltype(&::cgroup_init) init;
  decltype(&::cgroup_get_subsys_mount_point) get_subsys_mount_point;
  decltype(&::cgroup_strerror) strerror;
};

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

// libcgroup only finds mounts and controllers; see docs/adr/0003-libcgroup-finds-we-write.md.
Result<std::string> default_root() {
  PINFOLD_LET(const auto* const cgroup, load_once<Libcgroup, load_cgroup>());
  if (const int error = cgroup->init(); error != 0) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("no control groups are mounted: {}", cgroup->strerror(error)));
  }
  char* point = nullptr;
  const int error = cgroup->get_subsys_mount_point("cpuset", &point);
  const std::unique_ptr<char, decltype(&std::free)> owner(point, &std::free);
  if (error != 0) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("the 'cpuset' controller is not mounted: {}", cgroup->strerror(error)));
  }
  return std::string(point) + "/pinfold";
}

}  // namespace pinfold::enforce
