#pragma once

#include <string>

#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// Where the guest mounts the hierarchy with the cpuset controller.
[[nodiscard]] std::string cpuset_mount(CgroupMode mode);

/// The product's cgroup root in the guest, in the hierarchy with the cpuset controller.
[[nodiscard]] std::string product_root(CgroupMode mode);

/// The full path of a file of a cgroup. The group is named by its path in the hierarchy with the
/// cpuset controller; on version 1 the file may be in another hierarchy.
[[nodiscard]] std::string group_file(CgroupMode mode, const std::string& group,
                                     const std::string& file);

/// The kernel's name of an effective value: "cpuset.cpus.effective", or "cpuset.effective_cpus" on
/// version 1. `what`: "cpus" or "mems".
[[nodiscard]] std::string effective_file(CgroupMode mode, const std::string& what);

}  // namespace pinfold::harness
