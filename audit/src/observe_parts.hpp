#pragma once

#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/audit/distributions.hpp"
#include "pinfold/audit/observed.hpp"
#include "pinfold/audit/tree.hpp"

/// The parts of observe().
namespace pinfold::audit {

[[nodiscard]] ObservedKubelet observe_kubelet(const Tree& tree, const ObserveOptions& options,
                                              Problems& problems);
/// Reads the flags that a distribution passes to its kubelet, and where they are set. Errors become
/// errors of the configuration.
void observe_host(const Tree& tree, KubeletHost host, ObservedKubelet& kubelet);
/// Returns the unit of a distribution's program: that of its command, or if that is unknown the one
/// that is enabled or exists.
[[nodiscard]] std::string unit_of_host(const Tree& tree, const KubeletHost& host);
/// Returns the distribution whose files exist on a machine where none of its programs runs.
[[nodiscard]] std::optional<KubeletHost> host_by_files(const Tree& tree);
/// Returns true if a file was named, or exists where distributions without their own program keep
/// it.
[[nodiscard]] bool has_usual_config(const Tree& tree, const ObserveOptions& options);
/// Reads the configuration and the driver in it.
void observe_config(const Tree& tree, const ObserveOptions& options, ObservedKubelet& kubelet);
[[nodiscard]] checkpoint::KubeletFiles read_state_files(const Tree& tree,
                                                        const std::string& root_dir,
                                                        Problems& problems);

/// Where the files with the cpusets and with the limit are.
struct CgroupMounts {
  enforce::CgroupVersion version;
  std::string cpusets;  ///< the mount
  std::string cpu;      ///< of the hierarchy with CPU limits; "": none
};
/// Returns nullopt if no cpusets are mounted.
[[nodiscard]] std::optional<CgroupMounts> find_hierarchy(const Tree& tree);

[[nodiscard]] ObservedGroups observe_groups(const Tree& tree, Problems& problems);
/// Finds the names of the containers that the groups belong to.
void name_containers(const Tree& tree, ObservedGroups& cgroups, Problems& problems);

/// Reads all processes; memory only of those in containers.
[[nodiscard]] std::map<pid_t, ObservedProcess> observe_processes(const Tree& tree,
                                                                 const ObservedGroups& cgroups,
                                                                 Problems& problems);
[[nodiscard]] std::vector<ObservedIrq> observe_irqs(const Tree& tree, Problems& problems);

/// Returns the last possible CPU, for lists of boot parameters; 0 if it is unknown, so that none is
/// accepted.
[[nodiscard]] CpuId observe_last_cpu(const Tree& tree);

/// Returns the process ids in /proc, ascending.
[[nodiscard]] std::vector<pid_t> list_pids(const Tree& tree, Problems& problems);

/// Returns true if the process or group has ended, or has no such file.
[[nodiscard]] inline bool is_gone(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.sys_errno == ESRCH ||
         error.sys_errno == ENODEV;
}

}  // namespace pinfold::audit
