#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "libcgroup.hpp"
#include "pinfold/enforce/cgroups.hpp"

namespace pinfold::enforce {

// libcgroup only finds mounts and controllers; see docs/adr/0003-libcgroup-finds-we-write.md.
Result<std::string> default_root() {
  PINFOLD_LET(const auto* const cgroup, libcgroup());
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
