#pragma once

#include <string>

#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// Where the guest has mounted the hierarchy with the cpuset controller.
[[nodiscard]] std::string cpuset_mount(CgroupMode mode);

/// The folder of the guest below which the product keeps its groups: in the hierarchy that has the
/// cpuset controller.
[[nodiscard]] std::string product_root(CgroupMode mode);

/// The full path of a value of a group, which is named by its path in the hierarchy of the cpuset
/// controller: on version 1 the value may be in another one.
[[nodiscard]] std::string group_file(CgroupMode mode, const std::string& group,
                                     const std::string& file);

/// What a group is really given, as the kernel names it: "cpuset.cpus.effective", and
/// "cpuset.effective_cpus" on version 1. `what`: "cpus" or "mems".
[[nodiscard]] std::string effective_file(CgroupMode mode, const std::string& what);

}  // namespace pinfold::harness
