#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "pinfold/agent/enforced_layout.hpp"

/// Groups among those of pods that are no container's of the agent: of sandboxes, and of containers
/// that it does not know.
namespace pinfold::nri {

/// A group with processes, and the CPUs on which they can run.
struct OtherGroup {
  enforce::Group group;
  CpuSet cpus;
};

struct OtherSearch {
  std::set<std::string> roots;    ///< one that does not exist has no groups
  std::set<std::string> adopted;  ///< these, and those below them, are not looked at
  CpuSet without;                 ///< that a root has if it has no cpuset
  std::function<bool(const OtherGroup&)> wanted;
};

/// The group of this name in `group`.
[[nodiscard]] enforce::Group child_of(const enforce::Group& group, const std::string& name);

/// All groups with processes that are wanted. Errors: kIo.
[[nodiscard]] Result<std::vector<OtherGroup>> find_others(const agent::EnforcedLayout& enforced,
                                                          const OtherSearch& search);

}  // namespace pinfold::nri
