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

/// Control groups of Linux as a tree in memory, for cgroup v1 and v2: which writes fail, a new
/// group's initial values, and which CPUs are effective (model_cpusets.hpp). Observed on
/// kernel 6.1.
class ModelKernel {
 public:
  ModelKernel(enforce::CgroupVersion which, CpuSet all_cpus, CpuSet all_mems);

  struct Dir {
    std::map<std::string, std::string> files;
    std::map<std::string, std::unique_ptr<Dir>> children;
    Dir* parent = nullptr;
    std::set<int> processes;
    /// No sibling may have its CPUs: cgroup v1's cpuset.cpu_exclusive; a partition of cgroup v2.
    bool is_exclusive = false;
    bool has_cpuset = true;        ///< false: the controller is not enabled above it
    std::uint64_t memory_use = 0;  ///< bytes; cgroup v1 refuses a limit below it with EBUSY
  };

  using Wrapper = std::function<std::unique_ptr<enforce::CgroupFs>(
      std::unique_ptr<enforce::CgroupFs>, const std::string& below)>;

  [[nodiscard]] Dir* find(const std::string& group);
  [[nodiscard]] CpuSet effective(const Dir& dir, const std::string& file) const;
  /// A CgroupFs on this kernel, which must outlive it.
  [[nodiscard]] std::unique_ptr<enforce::CgroupFs> fs();
  /// Cgroups on one hierarchy of this kernel with every controller; its directory is "/model".
  /// `below`: a group that is made, and is the root of the cgroups instead, "/model/BELOW".
  /// `wrap`: what every file system of the cgroups becomes; empty: itself.
  [[nodiscard]] enforce::Cgroups cgroups(const std::string& below = "", const Wrapper& wrap = {});
  /// Other CPUs are online from now on. On cgroup v1 every group loses those that are not, for
  /// good; the processes of a group without any move to the nearest one above that has some.
  void set_online(const CpuSet& online);
  /// Makes a group, and those above it that do not exist, as a runtime does.
  void make_path(const std::string& group);

  /// As enforce::canonical_directory: `links` and what std::filesystem::path::lexically_normal
  /// undoes. A group need not exist.
  [[nodiscard]] Result<std::string> canonical(const std::string& directory) const;

  /// Other names of directories: symbolic links, and other mounts of the hierarchy.
  std::map<std::string, std::string> links;

  enforce::CgroupVersion version;
  CpuSet cpus;  ///< that are online
  CpuSet mems;
  CpuSet possible_cpus;  ///< at first; those that come online later are too
  Dir root;
  /// "", or what has happened after which the kernel may do what the model does not.
  mutable std::string beyond_model;
  std::vector<std::string> log;  ///< "write pod1 cpuset.cpus 0-1", "create pod1", ...
  const enforce::ProcessTable* processes = &enforce::this_kernel();  ///< see enforce::HierarchyRoot
  /// cgroup v2 from Linux 6.7 on: cpuset.cpus.exclusive, and partitions below ordinary groups.
  bool has_exclusive = true;
  bool has_kill = false;          ///< cgroup v2 only: writing cgroup.kill ends processes at once
  std::string unreadable;         ///< reading this file of any group fails with EIO
  std::string unlistable;         ///< the same for the groups in this one
  int writes_until_failure = -1;  ///< that write fails with EIO; -1: none fails
  /// The errno with which an access fails, 0: it does not: ("read", "write" or "create", group,
  /// file or "").
  std::function<int(const char*, const std::string&, const std::string&)> fault;
  /// Changes the value that a write stores: (file, value) to value.
  std::function<std::string(const std::string&, const std::string&)> distort;
};

/// Whether a process runs in a group or below it.
[[nodiscard]] bool is_populated(const ModelKernel::Dir& dir);

}  // namespace pinfold::test
