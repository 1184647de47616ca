#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/enforce/cgroup_fs.hpp"
#include "pinfold/enforce/layout.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::enforce {

struct CpuQuota;

/// A control group, existing or not, for reading: a pod's, a container's, the root of them all, or
/// any other. Created by Cgroups; borrows its file systems.
struct GroupReader {
  /// The group in one hierarchy.
  struct Part {
    CgroupFiles* fs = nullptr;
    const HierarchyRoot* hierarchy = nullptr;
    std::string path;  ///< in `fs`
  };

  std::string label;      ///< its name in messages: "pod1/c1"
  std::string directory;  ///< absolute, in the cpuset hierarchy
  /// One for each hierarchy, the cpuset hierarchy first. An adopted group has only that one.
  std::vector<Part> parts;
  /// Not null for an adopted group: a container runtime made it and will remove it.
  std::shared_ptr<CgroupFiles> adopted;
  /// True for a container's group: the groups below it belong to the container too.
  bool is_container = false;

  [[nodiscard]] bool is_adopted() const { return adopted != nullptr; }
  [[nodiscard]] const Part& cpuset() const { return parts.front(); }
  /// See HierarchyRoot.
  [[nodiscard]] const ProcessTable* process_table() const { return cpuset().hierarchy->processes; }
  [[nodiscard]] bool is_this_kernel() const { return process_table() == &this_kernel(); }
  [[nodiscard]] bool is_v2() const { return cpuset().hierarchy->version == CgroupVersion::kV2; }

  /// Return the CPUs and NUMA nodes that its processes can use. Errors: kNotFound if it has no
  /// cpuset; kIo.
  [[nodiscard]] Result<CpuSet> cpus() const;
  [[nodiscard]] Result<NodeSet> mems() const;
  /// Returns the processes in it and in the groups below it. Errors: kIo.
  [[nodiscard]] Result<std::vector<pid_t>> processes() const;
  /// Returns the names of the groups directly below it. Errors: kNotFound, kIo.
  [[nodiscard]] Result<std::vector<std::string>> children() const {
    return cpuset().fs->children(cpuset().path);
  }
  /// See read_cpu_quota and read_huge_page_limit.
  [[nodiscard]] Result<CpuQuota> quota() const;
  [[nodiscard]] Result<std::optional<std::uint64_t>> huge_page_limit(const std::string& size) const;
};

/// The same, for reading and writing. Only Cgroups makes one, and only for callers that may change
/// it.
struct Group : GroupReader {
  /// Returns the file system of a part of this group.
  [[nodiscard]] static CgroupFs& fs(const Part& part) { return static_cast<CgroupFs&>(*part.fs); }
};

inline constexpr const char* kCpusFile = "cpuset.cpus";
inline constexpr const char* kMemsFile = "cpuset.mems";
inline constexpr const char* kPartitionFile = "cpuset.cpus.partition";  ///< of cgroup v2

/// Reads a file with a list of CPUs or NUMA nodes. Errors: kNotFound; kIo, including for unexpected
/// content.
[[nodiscard]] Result<CpuSet> read_set(const GroupReader& group, const std::string& file);
/// Return the CPUs and NUMA nodes that the processes of a group can really use. Errors: as
/// read_set.
[[nodiscard]] Result<CpuSet> effective_cpus(const GroupReader& group);
[[nodiscard]] Result<NodeSet> effective_mems(const GroupReader& group);

}  // namespace pinfold::enforce
