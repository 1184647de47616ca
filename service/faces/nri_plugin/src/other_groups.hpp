#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "pinfold/agent/enforced_layout.hpp"

/// Finds groups among those of pods that belong to no container of the agent: groups of sandboxes
/// and of containers that it does not know.
namespace pinfold::nri {

/// A group with processes, and the CPUs on which they can run.
struct OtherGroup {
  enforce::Group group;
  CpuSet cpus;
};

struct OtherSearch {
  std::set<std::string> roots;    ///< one that does not exist is skipped
  std::set<std::string> adopted;  ///< these and all groups below them are skipped
  CpuSet without;                 ///< the CPUs of a root that has no cpuset
  std::function<bool(const OtherGroup&)> wanted;
};

/// Returns the child of `group` with this name.
[[nodiscard]] enforce::Group child_of(const enforce::Group& group, const std::string& name);

/// Returns all wanted groups that have processes. Errors: kIo.
[[nodiscard]] Result<std::vector<OtherGroup>> find_others(const agent::EnforcedLayout& enforced,
                                                          const OtherSearch& search);

}  // namespace pinfold::nri
