#pragma once

#include <string>
#include <vector>

#include "pinfold/audit/boot_parameters.hpp"
#include "pinfold/audit/checks.hpp"
#include "pinfold/audit/doctor_observed.hpp"

/// The parts of observe_system() and check_system().
namespace pinfold::audit {

[[nodiscard]] ObservedCgroupSetup observe_cgroup_setup(const Tree& tree,
                                                       const std::string& cgroup_root);
/// Reads the features. `mounts`: only those of control groups.
[[nodiscard]] KernelFeatures observe_features(const Tree& tree,
                                              const std::vector<enforce::Mount>& mounts);
/// Reads the systemd settings. `cpusets`: its groups can be units without files.
[[nodiscard]] ObservedSystemd observe_systemd(const Tree& tree, const ObservedCpusets& cpusets);
/// Reads Pinfold's files. `cgroup_root`: if "", set to that of the service's configuration.
[[nodiscard]] ObservedService observe_service(const Tree& tree, const DoctorOptions& options,
                                              std::string& cgroup_root, Problems& problems);

/// Reads the groups in the cpuset hierarchy of `setup` that can withhold CPUs from containers.
[[nodiscard]] ObservedCpusets observe_cpusets(const Tree& tree, const ObservedCgroupSetup& setup,
                                              Problems& problems);
/// Reads what other programs need from this machine, and what they have set.
void observe_neighbours(const Tree& tree, ObservedSystem& system, Problems& problems);

/// Reads the barrier. `containerd`: as in ObservedService.
[[nodiscard]] ObservedBarrier observe_barrier(const Tree& tree,
                                              const std::optional<std::string>& containerd);
[[nodiscard]] ObservedQuiet observe_quiet(const Tree& tree, Problems& problems);

void check_live_cpusets(const ObservedSystem& system, Checks& checks);
void check_neighbours(const ObservedSystem& system, Checks& checks);
void check_quiet(const ObservedSystem& system, Checks& checks);
void check_cgroups(const ObservedSystem& system, Checks& checks);
void check_features(const ObservedSystem& system, Checks& checks);
void check_machine(const ObservedSystem& system, Checks& checks);
void check_kernel(const ObservedSystem& system, Checks& checks);
void check_kubelet(const ObservedSystem& system, Checks& checks);
void check_systemd(const ObservedSystem& system, Checks& checks);
void check_service(const ObservedSystem& system, Checks& checks);
void check_containerd(const ObservedSystem& system, Checks& checks);
void check_barrier(const ObservedSystem& system, Checks& checks);

/// Returns the reserved CPUs: reservedSystemCPUs of the kubelet, or else of Pinfold's own
/// configuration; empty if neither names any.
[[nodiscard]] CpuSet reserved_cpus(const ObservedSystem& system);
/// Returns the CPUs that are not reserved, so that containers can get them exclusively.
[[nodiscard]] CpuSet exclusive_candidates(const ObservedSystem& system);
/// Returns isolcpus= on the kernel's command line.
[[nodiscard]] Isolcpus boot_isolcpus(const ObservedSystem& system);
/// Returns true if the kernel is older than a release, or if its release is unknown.
[[nodiscard]] bool may_be_before(const ObservedKernel& kernel, int major, int minor);
/// Returns the command that clears the cpuset of a systemd unit, which systemd itself leaves set;
/// "" if it has none.
[[nodiscard]] std::string widen_unit(const std::string& unit, const char* file);
/// Returns true if the kubelet or Pinfold gives containers exclusive CPUs.
[[nodiscard]] bool has_exclusive_cpus(const ObservedSystem& system);

}  // namespace pinfold::audit
