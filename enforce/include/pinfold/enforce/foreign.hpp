#pragma once

#include <string>
#include <vector>

#include "pinfold/enforce/cgroups.hpp"

/// Foreign groups and processes below the root: groups with other names, and processes directly in
/// the root or in a pod's own group. They must not run on exclusive CPUs.
namespace pinfold::enforce {

struct ForeignGroup {
  std::string path;           ///< relative to the root, "" is the root itself
  std::string directory;      ///< absolute
  CpuSet cpus;                ///< the CPUs that its processes use, or would use
  std::size_t processes = 0;  ///< for groups that are not `is_own`, including the groups below
  bool is_own = false;        ///< the root or a pod's group: only its processes are foreign
  std::string problem = {};   ///< why its processes could not be read; "" if they were

  /// Returns true if a process runs in it, or might.
  [[nodiscard]] bool may_run() const { return processes > 0 || !problem.empty(); }
};

/// Returns the groups whose names Pinfold would not give, except adopted groups and those above
/// them; also the root and pods' own groups if they have processes. Errors: kIo if the root cannot
/// be listed.
[[nodiscard]] Result<std::vector<ForeignGroup>> find_foreign(const Cgroups& cgroups);

/// Takes all CPUs except `allowed` away from a foreign group and the groups below it.
/// Domain: not is_own; `allowed` is not empty.
/// Errors: as write_set; kUnsupported if it has no cpuset.
[[nodiscard]] Result<void> confine(const Cgroups& cgroups, const ForeignGroup& group,
                                   const CpuSet& allowed);

}  // namespace pinfold::enforce
