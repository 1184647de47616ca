#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pinfold/enforce/cgroups.hpp"

/// Groups that are not Pinfold's, and must not run on exclusive CPUs: groups below the root with
/// other names, processes directly in the root or in a pod's own group, and below other roots every
/// group that no container has adopted.
namespace pinfold::enforce {

/// Where to look for foreign groups that are not below the root.
struct ForeignSearch {
  /// Whether a container runtime reported this. If not, the roots are those of adopted groups,
  /// starting containers and sandboxes are unknown, and no process is killed.
  bool is_of_runtime = true;
  std::set<std::string> roots;  ///< absolute directories; one that does not exist is skipped
  /// Containers that were created and have not started, by an id that ends the name of their group.
  /// Their groups may have the CPUs of their containers.
  std::map<std::string, ContainerId> starting;
  /// Ids of sandboxes. If a group cannot be confined, its processes are killed, but not those of a
  /// sandbox.
  std::set<std::string> sandboxes;
};

/// Returns the directory that holds a kubelet's pods, given the directory of one pod or of a group
/// in it: the part up to "kubepods" or "...kubepods.slice". Empty if it belongs to no kubelet.
[[nodiscard]] std::string kubepods_of(std::string_view directory);

/// Returns whether the group is that of a sandbox or container with this id: its name is the id or
/// ends with it ("cri-containerd-ID.scope", "kata_ID").
[[nodiscard]] bool is_group_of(std::string_view directory, std::string_view id);

/// Returns the groups below the root whose names Pinfold would not give, except adopted groups and
/// those above them; also the root and pods' own groups if they have processes. Errors: kIo if the
/// root cannot be listed.
[[nodiscard]] Result<std::vector<ForeignGroup>> find_foreign(const Cgroups& cgroups);

/// Returns the groups below the other roots that have processes, can run on a CPU of `exclusive`
/// now or once a group above is widened, and are neither adopted nor below an adopted group. A
/// group comes before the groups in it.
/// Errors: kIo.
[[nodiscard]] Result<std::vector<ForeignGroup>> find_foreign(const Cgroups& cgroups,
                                                             const ForeignSearch& search,
                                                             const CpuSet& exclusive);

/// Reads a foreign group that was found before; nullopt if it does not exist. Errors: kIo.
[[nodiscard]] Result<std::optional<ForeignGroup>> read_foreign(const Cgroups& cgroups,
                                                               const std::string& directory);

/// Kills the processes of a foreign group. Errors: those of kill_processes.
[[nodiscard]] Result<void> kill_foreign(Cgroups& cgroups, const std::string& directory);

}  // namespace pinfold::enforce
