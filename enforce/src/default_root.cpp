#include <fmt/format.h>
#include <libcgroup.h>

#include <cstdlib>
#include <memory>

#include "pinfold/enforce/cgroups.hpp"

namespace pinfold::enforce {

// libcgroup only finds mounts and controllers; see docs/adr/0003-libcgroup-finds-we-write.md.
Result<std::string> default_root() {
  if (const int error = ::cgroup_init(); error != 0) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("no control groups are mounted: {}", ::cgroup_strerror(error)));
  }
  char* point = nullptr;
  const int error = ::cgroup_get_subsys_mount_point("cpuset", &point);
  const std::unique_ptr<char, decltype(&std::free)> owner(point, &std::free);
  if (error != 0) {
    return fail(ErrorCode::kUnsupported, fmt::format("the 'cpuset' controller is not mounted: {}",
                                                     ::cgroup_strerror(error)));
  }
  return std::string(point) + "/pinfold";
}

}  // namespace pinfold::enforce
