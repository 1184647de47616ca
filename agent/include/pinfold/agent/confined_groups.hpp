#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/enforce/apply_plan.hpp"
#include "pinfold/enforce/foreign.hpp"

namespace pinfold::agent {

/// The effect of a plan on a foreign group.
struct ConfinedNews {
  std::string directory;
  CpuSet had;                       ///< the CPUs on which it could run; see ForeignGroup::reach
  CpuSet gets;                      ///< the CPUs that it should have now
  std::optional<Error> unconfined;  ///< why it does not have them
  bool was_killed = false;          ///< its processes were killed for that reason
  bool only_follows = false;        ///< it was off exclusive CPUs already, and only follows the
                                    ///< pool
};

/// Returns the kubelet directories that contain adopted groups; none if there are held pods,
/// because their groups look like unknown ones.
[[nodiscard]] std::set<std::string> adopted_roots(const Desired& desired);

/// An agent's knowledge of foreign groups: where to look for them, and which it has confined. A
/// confined group follows the shared pool, within the CPUs that were chosen for it before, until
/// someone else changes its cpuset.
class ConfinedGroups {
 public:
  /// A group with exactly the CPUs `former_pool` was confined by an earlier agent.
  explicit ConfinedGroups(CpuSet former_pool) : former_pool_(std::move(former_pool)) {}

  /// Sets where to look. Until a runtime has shown that, find() looks where adopted groups are.
  void set_search(enforce::ForeignSearch search) { search_ = std::move(search); }
  [[nodiscard]] bool follows_runtime() const { return search_.is_of_runtime; }

  /// Finds the foreign groups that can reach a CPU of `exclusive`, and adds those that were
  /// confined before. Leaves out the group of a container that has not started, if the group has
  /// only the container's CPUs. A parent group comes before its children. Errors: kIo if the root
  /// cannot be listed; for the directories of the search see take_unread().
  [[nodiscard]] Result<std::vector<enforce::ForeignGroup>> find(const enforce::Cgroups& cgroups,
                                                                const Desired& desired,
                                                                const CpuSet& exclusive);
  /// Finds only those below the root, and adds those that were confined before. Errors: as find.
  [[nodiscard]] Result<std::vector<enforce::ForeignGroup>> find_below_root(
      const enforce::Cgroups& cgroups, const Desired& desired);
  /// Returns why a directory of the search could not be read by the last find().
  [[nodiscard]] std::optional<Error> take_unread() { return std::exchange(unread_, std::nullopt); }
  /// Returns only those that were confined before and do not follow `pool` yet.
  [[nodiscard]] std::vector<enforce::ForeignGroup> find_confined(const enforce::Cgroups& cgroups,
                                                                 const CpuSet& pool);
  /// Returns the steps that restore the former cpuset of groups below an adopted one, which now
  /// confines them.
  [[nodiscard]] enforce::Plan take_given_back(const enforce::Cgroups& cgroups);
  /// Records the effects of a plan on `foreign`, and returns them. `has_followed`: the plan had the
  /// steps with which they follow the pool.
  std::vector<ConfinedNews> learn(const enforce::PlanResult& result,
                                  const enforce::ForeignGroups& foreign, bool has_followed);

 private:
  struct Confined {
    CpuSet before;   ///< the cpuset that someone else had chosen; empty if none
    CpuSet written;  ///< the group is ours as long as it has this cpuset
  };
  void look_around(const enforce::Cgroups& cgroups, const Desired& desired);
  [[nodiscard]] Result<void> recognize(const enforce::Cgroups& cgroups);
  void add_confined(const enforce::Cgroups& cgroups, std::vector<enforce::ForeignGroup>& groups);

  enforce::ForeignSearch search_{false, {}, {}, {}};
  CpuSet former_pool_;
  std::map<std::string, Confined> groups_;
  std::optional<Error> unread_;
  CpuSet followed_;  ///< the pool that all confined groups follow
};

}  // namespace pinfold::agent
