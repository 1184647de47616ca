#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "other_groups.hpp"
#include "pinfold/agent/enforced_layout.hpp"

namespace pinfold::nri {

/// CPUs for groups that belong to no container of the agent.
struct SharedPlace {
  CpuSet pool;
  CpuSet exclusive;               ///< CPUs that none of them may use
  std::set<std::string> adopted;  ///< directories of groups to leave alone
};

/// The groups confined to the shared pool. They follow the pool, within the CPUs that they had
/// before, until someone else changes their cpuset.
class ConfinedGroups {
 public:
  /// A group with exactly the CPUs `former_pool` was confined by an earlier service.
  explicit ConfinedGroups(CpuSet former_pool) : former_pool_(std::move(former_pool)) {}

  /// Restricts a group to the CPUs of the pool, and reads that back. If the groups above have none
  /// of these, it gets CPUs that are exclusive to no container. On cgroup v1 a group also keeps the
  /// CPUs of adopted groups inside it. Errors: kIo; kUnsupported if it still has other CPUs.
  [[nodiscard]] Result<void> confine(const agent::EnforcedLayout& enforced, const OtherGroup& other,
                                     const SharedPlace& place);
  /// Finds the groups that an earlier service has confined. Later calls do nothing. Errors: kIo.
  [[nodiscard]] Result<void> recognize(const agent::EnforcedLayout& enforced, OtherSearch search);
  /// Gives all groups the CPUs that the pool has gained. Drops groups that are adopted or that
  /// someone else has changed. Returns the failures; they are tried again when the pool changes.
  [[nodiscard]] std::vector<Error> follow(const agent::EnforcedLayout& enforced,
                                          const SharedPlace& place);
  /// Drops groups that no longer exist.
  void forget_gone(const agent::EnforcedLayout& enforced);

 private:
  struct Confined {
    CpuSet before;   ///< the cpuset that someone else chose for it; empty if none
    CpuSet written;  ///< the group is ours as long as it has this cpuset
    CpuSet due;      ///< the cpuset it should have, even if writing it failed

    [[nodiscard]] Result<bool> follow(const agent::EnforcedLayout& enforced,
                                      const std::string& directory, const SharedPlace& place);
    void give_back(const agent::EnforcedLayout& enforced, const std::string& directory) const;
  };

  std::map<std::string, Confined> groups_;  ///< by directory, so a group comes before its children
  CpuSet former_pool_;
};

}  // namespace pinfold::nri
