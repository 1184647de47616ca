#pragma once

#include <string>
#include <string_view>

#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// Returns where the guest mounts the cpuset hierarchy.
[[nodiscard]] std::string cpuset_mount(CgroupMode mode);

/// Returns the product's cgroup root in the guest, in the cpuset hierarchy.
[[nodiscard]] std::string product_root(CgroupMode mode);

/// Returns a pod's group below the mount, as a kubelet with the driver cgroupfs names it:
/// "/kubepods/burstable/podUID". `qos`: the word of its QOS class, "Burstable".
[[nodiscard]] std::string pod_cgroup(std::string_view uid, std::string_view qos);

/// Returns the full path of a file of a cgroup. The group is named by its path in the cpuset
/// hierarchy; on version 1 the file may be in another hierarchy.
[[nodiscard]] std::string group_file(CgroupMode mode, const std::string& group,
                                     const std::string& file);

/// Returns the kernel's name of an effective value: "cpuset.cpus.effective", or
/// "cpuset.effective_cpus" on version 1. `what`: "cpus" or "mems".
[[nodiscard]] std::string effective_file(CgroupMode mode, const std::string& what);

}  // namespace pinfold::harness
