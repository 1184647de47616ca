#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pinfold/enforce/cgroups.hpp"

namespace pinfold::test {

/// Linux control groups as a tree in memory, for cgroup v1 and v2: which writes fail, a new group's
/// initial values, and which CPUs are effective (model_cpusets.hpp). As observed on kernel 6.1;
/// with `is_linux7`, partitions as in 7.2 (model_partitions.hpp).
class ModelKernel {
 public:
  ModelKernel(enforce::CgroupVersion which, CpuSet all_cpus, CpuSet all_mems);

  struct Dir {
    std::map<std::string, std::string> files;
    std::map<std::string, std::unique_ptr<Dir>> children;
    Dir* parent = nullptr;
    std::set<int> processes;  ///< 0: of another PID namespace; see lists_all_processes
    /// No sibling may have its CPUs: cgroup v1's cpuset.cpu_exclusive, or a partition of cgroup v2.
    bool is_exclusive = false;
    CpuSet granted;          ///< Linux 7: exclusive to a partition, or until CPUs went offline
    bool is_remote = false;  ///< Linux 7: a valid partition below ordinary groups
    bool has_cpuset = true;  ///< false: the controller is not enabled above
    std::uint64_t memory_use = 0;  ///< bytes; cgroup v1 refuses a limit below it with EBUSY
  };

  using Wrapper = std::function<std::unique_ptr<enforce::CgroupFs>(
      std::unique_ptr<enforce::CgroupFs>, const std::string& below)>;

  [[nodiscard]] Dir* find(const std::string& group);
  [[nodiscard]] CpuSet effective(const Dir& dir, const std::string& file) const;
  /// Returns a CgroupFs on this kernel, which must outlive it.
  [[nodiscard]] std::unique_ptr<enforce::CgroupFs> fs();
  /// Returns Cgroups on one hierarchy of this kernel with every controller; its directory is
  /// "/model".
  /// `below`: a group to create and use as the root instead, "/model/BELOW".
  /// `wrap`: wraps every file system of the cgroups; empty: no wrapping.
  [[nodiscard]] enforce::Cgroups cgroups(const std::string& below = "", const Wrapper& wrap = {});
  /// Changes the CPUs that are online. On cgroup v1 every group permanently loses the others; the
  /// processes of a group without any move to the nearest group above that has some.
  void set_online(const CpuSet& online);
  /// Makes a group and the missing ones above it, as a runtime does.
  void make_path(const std::string& group);

  /// Like enforce::canonical_directory: resolves `links` and what
  /// std::filesystem::path::lexically_normal does. The group need not exist.
  [[nodiscard]] Result<std::string> canonical(const std::string& directory) const;

  /// Other names of directories: symbolic links, and other mounts of the hierarchy.
  std::map<std::string, std::string> links;

  enforce::CgroupVersion version;
  CpuSet cpus;  ///< those online
  CpuSet mems;
  CpuSet possible_cpus;  ///< the initial ones, and those that come online later
  Dir root;
  /// "", or the event after which the real kernel may differ from the model.
  mutable std::string beyond_model;
  std::vector<std::string> log;  ///< "write pod1 cpuset.cpus 0-1", "create pod1", ...
  const enforce::ProcessTable* processes = &enforce::this_kernel();  ///< see enforce::HierarchyRoot
  bool lists_all_processes = true;                                   ///< see enforce::HierarchyRoot
  /// cgroup v2 since Linux 6.7: cpuset.cpus.exclusive, and partitions below ordinary groups.
  bool has_exclusive = true;
  /// cgroup v2 since Linux 7.0: a conflict with a sibling costs a partition these CPUs instead of
  /// its state. Needs has_exclusive.
  bool is_linux7 = false;
  /// CPUs that a partition below ordinary groups lacks although it is valid: since Linux 7.0 those
  /// that another group has exclusively.
  CpuSet stripped;
  bool has_kill = false;          ///< cgroup v2 only: writing cgroup.kill ends processes at once
  std::string unreadable;         ///< reading this file of any group fails with EIO
  std::string unlistable;         ///< listing the groups in this one fails with EIO
  int writes_until_failure = -1;  ///< the write that fails with EIO; -1: none
  /// Returns the errno with which an access fails; 0: it does not. Arguments: "read", "write" or
  /// "create"; group; file or "".
  std::function<int(const char*, const std::string&, const std::string&)> fault;
  /// Changes the value that a write stores: maps (file, value) to the value.
  std::function<std::string(const std::string&, const std::string&)> distort;
};

/// Returns true if a process runs in a group or below it.
[[nodiscard]] bool is_populated(const ModelKernel::Dir& dir);

}  // namespace pinfold::test
