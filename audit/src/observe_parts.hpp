#pragma once

#include <cerrno>
#include <string>

#include "pinfold/audit/distributions.hpp"
#include "pinfold/audit/observe.hpp"

/// The parts of observe().
namespace pinfold::audit {

[[nodiscard]] ObservedKubelet observe_kubelet(const Tree& tree, const ObserveOptions& options,
                                              Problems& problems);
/// The flags that a distribution starts its kubelet with, and where they are set. An error is the
/// configuration's.
void observe_host(const Tree& tree, KubeletHost host, ObservedKubelet& kubelet);
/// The distribution whose files are on a machine where none of its programs runs.
[[nodiscard]] std::optional<KubeletHost> host_by_files(const Tree& tree);
/// Whether a file is named, or is where distributions without a program of their own have it.
[[nodiscard]] bool has_usual_config(const Tree& tree, const ObserveOptions& options);
/// The configuration and the driver in it.
void observe_config(const Tree& tree, const ObserveOptions& options, ObservedKubelet& kubelet);
[[nodiscard]] checkpoint::KubeletFiles read_state_files(const Tree& tree,
                                                        const std::string& root_dir,
                                                        Problems& problems);

[[nodiscard]] ObservedGroups observe_groups(const Tree& tree, Problems& problems);
/// Finds out whose the groups of containers are.
void name_containers(const Tree& tree, ObservedGroups& cgroups, Problems& problems);

/// All processes; the memory of those in containers.
[[nodiscard]] std::map<pid_t, ObservedProcess> observe_processes(const Tree& tree,
                                                                 const ObservedGroups& cgroups,
                                                                 Problems& problems);
[[nodiscard]] std::vector<ObservedIrq> observe_irqs(const Tree& tree, Problems& problems);

/// The processes of /proc, ascending.
[[nodiscard]] std::vector<pid_t> list_pids(const Tree& tree, Problems& problems);

/// True for an error of a process or group that has ended, or has no such file.
[[nodiscard]] inline bool is_gone(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.sys_errno == ESRCH ||
         error.sys_errno == ENODEV;
}

}  // namespace pinfold::audit
