#pragma once

#include <set>
#include <string>
#include <vector>

#include "pinfold/agent/enforced_layout.hpp"

/// Groups among those of pods that are no container's of the agent: of sandboxes, and of containers
/// that it does not know.
namespace pinfold::nri {

/// A group with processes that can run on `exclusive`.
struct OtherGroup {
  enforce::Group group;
  CpuSet cpus;
};

/// All below `roots` that are neither in `adopted` nor below one of it. A root that does not exist
/// has none. Errors: kIo.
[[nodiscard]] Result<std::vector<OtherGroup>> find_others(const agent::EnforcedLayout& enforced,
                                                          const std::set<std::string>& roots,
                                                          const std::set<std::string>& adopted,
                                                          const CpuSet& exclusive);

/// Takes all CPUs but `allowed` from a group, and reads that back.
/// Errors: kIo; kUnsupported if it still has others.
[[nodiscard]] Result<void> confine(const OtherGroup& other, const CpuSet& allowed);

}  // namespace pinfold::nri
