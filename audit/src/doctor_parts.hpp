#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/audit/doctor.hpp"

/// The parts of observe_system() and of check_system().
namespace pinfold::audit {

[[nodiscard]] ObservedCgroupSetup observe_cgroup_setup(const Tree& tree,
                                                       const std::string& cgroup_root);
/// `mounts`: of control groups.
[[nodiscard]] KernelFeatures observe_features(const Tree& tree,
                                              const std::vector<enforce::Mount>& mounts);
[[nodiscard]] ObservedSystemd observe_systemd(const Tree& tree);
/// `cgroup_root`: becomes that of the service's configuration if it is "".
[[nodiscard]] ObservedService observe_service(const Tree& tree, const DoctorOptions& options,
                                              std::string& cgroup_root, Problems& problems);

/// The groups of `setup`'s hierarchy with cpusets that can keep CPUs from containers.
[[nodiscard]] ObservedCpusets observe_cpusets(const Tree& tree, const ObservedCgroupSetup& setup,
                                              Problems& problems);
/// What other programs need of this machine, and what they have set.
void observe_neighbours(const Tree& tree, ObservedSystem& system, Problems& problems);

void check_live_cpusets(const ObservedSystem& system, Checks& checks);
void check_neighbours(const ObservedSystem& system, Checks& checks);
void check_cgroups(const ObservedSystem& system, Checks& checks);
void check_features(const ObservedSystem& system, Checks& checks);
void check_machine(const ObservedSystem& system, Checks& checks);
void check_kernel(const ObservedSystem& system, Checks& checks);
void check_kubelet(const ObservedSystem& system, Checks& checks);
void check_systemd(const ObservedSystem& system, Checks& checks);
void check_service(const ObservedSystem& system, Checks& checks);
void check_containerd(const ObservedSystem& system, Checks& checks);

/// Whether `word` is in a list with separators.
[[nodiscard]] bool has_word(std::string_view list, char separator, std::string_view word);
/// The CPUs that are reserved: reservedSystemCPUs of the kubelet, or else of Pinfold's own
/// configuration; empty if neither names any.
[[nodiscard]] CpuSet reserved_cpus(const ObservedSystem& system);
/// The machine's CPUs that are not reserved: those that a container can get exclusively.
[[nodiscard]] CpuSet exclusive_candidates(const ObservedSystem& system);
/// Whether the kernel is older than a release, or its release is unknown.
[[nodiscard]] bool may_be_before(const ObservedKernel& kernel, int major, int minor);
/// Clears the cpuset of a systemd unit, which systemd itself leaves set; "" if it has none.
[[nodiscard]] std::string widen_unit(const std::string& unit, const char* file);
/// Whether the kubelet or Pinfold gives containers exclusive CPUs.
[[nodiscard]] bool has_exclusive_cpus(const ObservedSystem& system);

}  // namespace pinfold::audit
