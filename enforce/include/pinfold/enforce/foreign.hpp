#pragma once

#include <string>
#include <vector>

#include "pinfold/enforce/cgroups.hpp"

/// What is below the root and not Pinfold's: groups with other names, and processes that are
/// directly in the root or in a pod's own group. They must not run on exclusive CPUs.
namespace pinfold::enforce {

struct ForeignGroup {
  std::string path;           ///< relative to the root, "" is the root itself
  std::string directory;      ///< absolute
  CpuSet cpus;                ///< where its processes run, or would
  std::size_t processes = 0;  ///< of a group of another: also those in groups below it
  bool is_own = false;        ///< the root or a pod's group, which only a foreign process is in
  std::string problem = {};   ///< why its processes could not be read, "": they were

  /// Whether a process runs in it, or may do so.
  [[nodiscard]] bool may_run() const { return processes > 0 || !problem.empty(); }
};

/// Groups with names that Pinfold does not give, except adopted ones and those above them; the root
/// and pods' own groups if processes are in them. Errors: kIo if the root cannot be listed.
[[nodiscard]] Result<std::vector<ForeignGroup>> find_foreign(const Cgroups& cgroups);

/// Takes all CPUs but `allowed` from a group of another, and from the groups below it.
/// Domain: not is_own; `allowed` is not empty.
/// Errors: those of write_set; kUnsupported if it has no cpuset.
[[nodiscard]] Result<void> confine(const Cgroups& cgroups, const ForeignGroup& group,
                                   const CpuSet& allowed);

}  // namespace pinfold::enforce
