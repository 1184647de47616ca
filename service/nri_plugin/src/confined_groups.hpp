#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "other_groups.hpp"
#include "pinfold/agent/enforced_layout.hpp"

namespace pinfold::nri {

/// Where groups that are no container's of the agent can run.
struct SharedPlace {
  CpuSet pool;
  CpuSet exclusive;               ///< what none of them may have
  std::set<std::string> adopted;  ///< directories of groups that are left alone
};

/// The groups that were confined to the shared pool. They follow it, within the CPUs that they had
/// before, until another one changes their cpuset.
class ConfinedGroups {
 public:
  /// `former_pool`: a group with exactly these CPUs was confined by an earlier service.
  explicit ConfinedGroups(CpuSet former_pool) : former_pool_(std::move(former_pool)) {}

  /// Takes all CPUs but those of the pool from a group, and reads that back. If the groups above
  /// have none of these, it gets those that are exclusive to nobody. A group of cgroup v1 keeps
  /// those of the adopted ones in it, too. Errors: kIo; kUnsupported if it still has others.
  [[nodiscard]] Result<void> confine(const agent::EnforcedLayout& enforced, const OtherGroup& other,
                                     const SharedPlace& place);
  /// Finds what an earlier service has confined. Later, the former pool means nothing any more.
  /// Errors: kIo.
  [[nodiscard]] Result<void> recognize(const agent::EnforcedLayout& enforced, OtherSearch search);
  /// Gives all of them what the pool has gained. Forgets those that are adopted, or that another
  /// one has changed. Returns what has failed: it is tried again when the pool changes.
  [[nodiscard]] std::vector<Error> follow(const agent::EnforcedLayout& enforced,
                                          const SharedPlace& place);
  /// Forgets those that do not exist any more.
  void forget_gone(const agent::EnforcedLayout& enforced);

 private:
  struct Confined {
    CpuSet before;   ///< the cpuset that another one chose for it; empty: none
    CpuSet written;  ///< it is ours as long as it has this
    CpuSet due;      ///< that it should have, whether that could be written or not

    [[nodiscard]] Result<bool> follow(const agent::EnforcedLayout& enforced,
                                      const std::string& directory, const SharedPlace& place);
    void give_back(const agent::EnforcedLayout& enforced, const std::string& directory) const;
  };

  std::map<std::string, Confined> groups_;  ///< by directory: a group comes before those in it
  CpuSet former_pool_;
};

}  // namespace pinfold::nri
