#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pinfold/enforce/cgroup_fs.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::enforce {

/// A control group, existing or not: a pod's, a container's, or the root of them all. Created by
/// Cgroups, and borrows its file systems.
struct Group {
  /// The group in one hierarchy.
  struct Part {
    CgroupFs* fs = nullptr;
    const HierarchyRoot* hierarchy = nullptr;
    std::string path;  ///< in `fs`
  };

  std::string label;      ///< its name in messages: "pod1/c1"
  std::string directory;  ///< absolute, in the cpuset hierarchy
  /// One for each hierarchy, the cpuset hierarchy first. An adopted group has only that one.
  std::vector<Part> parts;
  /// Not null for an adopted group: a container runtime made it and will remove it.
  std::shared_ptr<CgroupFs> adopted;
  /// True for a container's group: the groups below it belong to the container too.
  bool is_container = false;

  [[nodiscard]] bool is_adopted() const { return adopted != nullptr; }
  [[nodiscard]] const Part& cpuset() const { return parts.front(); }
  /// See HierarchyRoot.
  [[nodiscard]] const ProcessTable* process_table() const { return cpuset().hierarchy->processes; }
  [[nodiscard]] bool is_this_kernel() const { return process_table() == &this_kernel(); }
  [[nodiscard]] bool is_v2() const { return cpuset().hierarchy->version == CgroupVersion::kV2; }
};

inline constexpr const char* kCpusFile = "cpuset.cpus";
inline constexpr const char* kMemsFile = "cpuset.mems";
inline constexpr const char* kPartitionFile = "cpuset.cpus.partition";  ///< of cgroup v2

/// Reads a file with a list of CPUs or NUMA nodes. Errors: kNotFound; kIo, also for unexpected
/// content.
[[nodiscard]] Result<CpuSet> read_set(const Group& group, const std::string& file);
/// Return the CPUs and NUMA nodes that the processes of a group can really use. Errors: as
/// read_set.
[[nodiscard]] Result<CpuSet> effective_cpus(const Group& group);
[[nodiscard]] Result<NodeSet> effective_mems(const Group& group);

}  // namespace pinfold::enforce
