#pragma once

#include <libcgroup.h>

#include "pinfold/base/result.hpp"

namespace pinfold::enforce {

/// The functions of libcgroup that Pinfold calls, without the prefix "cgroup_".
struct Libcgroup {
  decltype(&::cgroup_init) init;
  decltype(&::cgroup_get_subsys_mount_point) get_subsys_mount_point;
  decltype(&::cgroup_strerror) strerror;
};

/// Loads libcgroup when it is first needed. Errors: as for LoadedLibrary. Thread-safety: safe,
/// unlike the functions.
[[nodiscard]] Result<const Libcgroup*> libcgroup();

}  // namespace pinfold::enforce
