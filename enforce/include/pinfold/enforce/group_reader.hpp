#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pinfold/enforce/cpu_quota.hpp"
#include "pinfold/enforce/group.hpp"
#include "pinfold/enforce/processes.hpp"

namespace pinfold::enforce {

/// A control group that can be read and not written.
class GroupReader {
 public:
  explicit GroupReader(Group group) : group_(std::move(group)) {}

  [[nodiscard]] const std::string& directory() const { return group_.directory; }
  /// The CPUs and NUMA nodes that its processes can use. Errors: kNotFound if it has no cpuset;
  /// kIo.
  [[nodiscard]] Result<CpuSet> cpus() const { return effective_cpus(group_); }
  [[nodiscard]] Result<NodeSet> mems() const { return effective_mems(group_); }
  /// The processes in it and in the groups below it. Errors: kIo.
  [[nodiscard]] Result<std::vector<pid_t>> processes() const { return processes_below(group_); }
  /// The names of the groups right below it. Errors: kNotFound, kIo.
  [[nodiscard]] Result<std::vector<std::string>> children() const {
    return group_.cpuset().fs->children(group_.cpuset().path);
  }
  /// See read_cpu_quota and read_huge_page_limit.
  [[nodiscard]] Result<CpuQuota> quota() const { return read_cpu_quota(group_); }
  [[nodiscard]] Result<std::optional<std::uint64_t>> huge_page_limit(
      const std::string& size) const {
    return read_huge_page_limit(group_, size);
  }

 private:
  Group group_;
};

}  // namespace pinfold::enforce
