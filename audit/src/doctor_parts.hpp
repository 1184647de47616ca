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

void check_cgroups(const ObservedSystem& system, Checks& checks);
void check_features(const ObservedSystem& system, Checks& checks);
void check_machine(const ObservedSystem& system, Checks& checks);
void check_kernel(const ObservedSystem& system, Checks& checks);
void check_kubelet(const ObservedSystem& system, Checks& checks);
void check_systemd(const ObservedSystem& system, Checks& checks);
void check_service(const ObservedSystem& system, Checks& checks);

/// Whether `word` is in a list with separators.
[[nodiscard]] bool has_word(std::string_view list, char separator, std::string_view word);
/// The CPUs that are reserved: reservedSystemCPUs of the kubelet, or else of Pinfold's own
/// configuration; empty if neither names any.
[[nodiscard]] CpuSet reserved_cpus(const ObservedSystem& system);
/// Whether the kubelet or Pinfold gives containers exclusive CPUs.
[[nodiscard]] bool has_exclusive_cpus(const ObservedSystem& system);

}  // namespace pinfold::audit
