#include "pinfold/agent/confined_groups.hpp"

#include <algorithm>
#include <set>
#include <utility>

// How it works
//
// Foreign groups belong to others, so only what was written here may be changed back. groups_ has
// each group that was confined, with the cpuset that it had and the one that was written. As long
// as the group has the latter, it is ours to change. Once it differs, someone else has chosen a
// cpuset, and the group is dropped from groups_; find() returns it again if it reaches exclusive
// CPUs.
//
// One enforcement takes these steps, between which EnforcedLayout makes and applies the plan:
//   1. find(), or one of its cheaper forms, returns the groups that the plan has to consider.
//      add_confined() adds those that were confined earlier: they follow the shared pool.
//   2. take_given_back() returns steps for groups that are now below an adopted group.
//   3. learn() records what the plan has done, and returns it as news for the log and the metrics.
//
// groups_ is not stored. After a restart, recognize() finds the groups again by the pool of the
// former agent: a group below a runtime's root with exactly these CPUs was confined by it, and
// follows the pool from then on.
//
// A container's group exists before its start is reported. is_about_to_start() keeps such a group
// from being confined to the pool while it has only the CPUs of its container.

namespace pinfold::agent {
namespace {

using enforce::ForeignGroup;
using enforce::Step;

/// Returns the container whose group this is if it has not started, and nullptr otherwise.
const ContainerId* starting_in(const enforce::ForeignSearch& search, const std::string& directory) {
  for (const auto& [id, container] : search.starting) {
    if (enforce::is_group_of(directory, id)) return &container;
  }
  return nullptr;
}

/// Returns whether a group has only CPUs of a container without an adopted group. While no service
/// runs, the runtime may have made it for this container.
bool is_of_unadopted(const Desired& desired, const ForeignGroup& group) {
  return std::any_of(desired.layout.begin(), desired.layout.end(), [&](const auto& entry) {
    const auto& [name, settings] = entry;
    return !name.is_pod() && settings.isolation != Isolation::kHost &&
           settings.cpus.contains_all(group.cpus) && !desired.adopted.contains(name.id());
  });
}

/// A container's start is reported after its group was made, and the CPUs belong to it.
bool is_about_to_start(const enforce::ForeignSearch& search, const Desired& desired,
                       const ForeignGroup& group) {
  if (!search.is_of_runtime) return is_of_unadopted(desired, group);
  const ContainerId* const container = starting_in(search, group.directory);
  if (container == nullptr) return false;
  const auto own = desired.layout.find(*container);
  return own != desired.layout.end() && !own->second.cpus.empty() &&
         own->second.cpus.contains_all(group.cpus);
}

bool is_below(const std::string& directory, const std::set<std::string>& adopted) {
  for (auto end = directory.rfind('/'); end != std::string::npos && end != 0;
       end = directory.rfind('/', end - 1)) {
    if (adopted.contains(directory.substr(0, end))) return true;
  }
  return false;
}

}  // namespace

std::set<std::string> adopted_roots(const Desired& desired) {
  std::set<std::string> roots;
  if (!desired.held.empty()) return roots;
  for (const auto& entry : desired.adopted) roots.insert(enforce::kubepods_of(entry.value));
  roots.erase("");
  return roots;
}

/// Finds out where to look and, once, what an earlier agent has confined there.
void ConfinedGroups::look_around(const enforce::Cgroups& cgroups, const Desired& desired) {
  if (!follows_runtime()) search_.roots = adopted_roots(desired);
  if (const auto recognized = recognize(cgroups); !recognized) unread_ = recognized.error();
}

Result<void> ConfinedGroups::recognize(const enforce::Cgroups& cgroups) {
  if (search_.roots.empty()) return {};
  const CpuSet former = std::exchange(former_pool_, {});
  if (former.empty()) return {};
  // Without a runtime, a group with all CPUs may be that of a container that has just started.
  if (!follows_runtime() && cgroups.machine_cpus() == former) return {};
  PINFOLD_LET(const auto found, find_foreign(cgroups, search_, former));
  for (const ForeignGroup& group : found) {
    if (group.chosen == former) groups_.try_emplace(group.directory, Confined{{}, former});
  }
  return {};
}

Result<std::vector<ForeignGroup>> ConfinedGroups::find(const enforce::Cgroups& cgroups,
                                                       const Desired& desired,
                                                       const CpuSet& exclusive) {
  PINFOLD_LET(auto groups, find_foreign(cgroups));
  look_around(cgroups, desired);
  auto others = find_foreign(cgroups, search_, exclusive);
  if (!others) unread_ = others.error();
  for (ForeignGroup& other : others.value_or(std::vector<ForeignGroup>())) {
    if (!is_about_to_start(search_, desired, other)) groups.push_back(std::move(other));
  }
  add_confined(cgroups, groups);
  return groups;
}

Result<std::vector<ForeignGroup>> ConfinedGroups::find_below_root(const enforce::Cgroups& cgroups,
                                                                  const Desired& desired) {
  PINFOLD_LET(auto groups, find_foreign(cgroups));
  // A runtime's containers look unknown until they are adopted; find() is for when they are not.
  if (!follows_runtime()) look_around(cgroups, desired);
  add_confined(cgroups, groups);
  return groups;
}

std::vector<ForeignGroup> ConfinedGroups::find_confined(const enforce::Cgroups& cgroups,
                                                        const CpuSet& pool) {
  std::vector<ForeignGroup> groups;
  if (pool != followed_) add_confined(cgroups, groups);
  return groups;
}

/// Marks the groups that were confined before, and adds those that are missing. Drops those that
/// are gone or that someone else has changed.
void ConfinedGroups::add_confined(const enforce::Cgroups& cgroups,
                                  std::vector<ForeignGroup>& groups) {
  std::erase_if(groups_, [&](const auto& entry) {
    const auto& [directory, confined] = entry;
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const ForeignGroup& group) {
      return group.directory == entry.first;
    });
    if (known != groups.end()) {
      if (known->chosen != confined.written) return true;
      known->before = confined.before;
      return false;
    }
    auto read = read_foreign(cgroups, directory);
    if (!read) return false;  // it cannot be read now
    if (!*read || (*read)->chosen != confined.written) return true;
    (*read)->before = confined.before;
    groups.push_back(**std::move(read));
    return false;
  });
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return a.directory < b.directory; });
}

enforce::Plan ConfinedGroups::take_given_back(const enforce::Cgroups& cgroups) {
  std::set<std::string> adopted;
  for (const auto& entry : cgroups.adopted()) adopted.insert(entry.value);
  enforce::Plan steps;
  std::erase_if(groups_, [&](const auto& group) {
    const auto& [directory, confined] = group;
    if (adopted.contains(directory)) return true;
    if (!is_below(directory, adopted)) return false;
    const auto now = read_foreign(cgroups, directory);
    const bool is_ours = now && *now && (*now)->chosen == confined.written;
    if (is_ours && cgroups.root_group().is_v2()) {
      steps.push_back({Step::Kind::kFollow, {}, confined.before, "", "", directory});
    }
    return true;
  });
  return steps;
}

std::vector<ConfinedNews> ConfinedGroups::learn(const enforce::PlanResult& result,
                                                const enforce::ForeignGroups& foreign,
                                                bool has_followed) {
  const std::vector<ForeignGroup>& groups = foreign.groups;
  const CpuSet all = foreign.pool | foreign.exclusive;
  const auto group_of = [&](const std::string& directory) {
    return std::find_if(groups.begin(), groups.end(),
                        [&](const auto& group) { return group.directory == directory; });
  };
  std::vector<ConfinedNews> news;
  for (const Step& step : result.done) {
    const auto group = step.is_foreign() ? group_of(step.directory) : groups.end();
    if (group == groups.end()) continue;
    const auto [known, is_new] = groups_.try_emplace(step.directory);
    if (is_new) known->second.before = group->before.value_or(group->chosen);
    known->second.written = step.set;
    news.push_back({step.directory, group->reach(all), step.set, std::nullopt, false,
                    step.kind == Step::Kind::kFollow});
  }
  for (const enforce::UnconfinedGroup& failed : result.unconfined) {
    const auto group = group_of(failed.step.directory);
    if (group == groups.end()) continue;
    news.push_back({failed.step.directory, group->reach(all), failed.step.set, failed.error,
                    failed.was_killed, failed.step.kind == Step::Kind::kFollow});
  }
  followed_ = has_followed && result.unconfined.empty() ? foreign.pool : CpuSet();
  return news;
}

}  // namespace pinfold::agent
