#include "confined_groups.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "pinfold/agent/offline.hpp"
#include "pinfold/enforce/nested.hpp"

namespace pinfold::nri {
namespace {

/// Returns the CPUs of the pool that a group chose, or the whole pool if there are none: a group
/// must have some.
CpuSet within(const CpuSet& chosen, const CpuSet& pool) {
  const CpuSet both = chosen & pool;
  return both.empty() ? pool : both;
}

/// Returns whether a group is, or contains, the group of an adopted container.
bool has_adopted(const std::set<std::string>& adopted, const std::string& directory) {
  const auto below = adopted.lower_bound(directory + "/");
  return adopted.contains(directory) ||
         (below != adopted.end() && below->starts_with(directory + "/"));
}

/// Returns whether a group is that of an adopted container or lies below one.
bool is_adopted(const std::set<std::string>& adopted, const std::string& directory) {
  for (auto end = directory.size(); end != std::string::npos && end != 0;) {
    if (adopted.contains(directory.substr(0, end))) return true;
    end = directory.rfind('/', end - 1);
  }
  return false;
}

/// Writes the CPUs of a group. Groups that a container has made below its own follow.
Result<void> write_cpus(const enforce::Group& group, const CpuSet& cpus, const CpuSet& pool,
                        const std::set<std::string>& adopted) {
  const auto may_write = [&](const std::string& name) {
    return !has_adopted(adopted, group.directory + "/" + name);
  };
  PINFOLD_TRY(enforce::write_set(group, enforce::kCpusFile, cpus, may_write));
  PINFOLD_LET(const CpuSet has, effective_cpus(group));
  if (pool.contains_all(has)) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("'{}' has CPUs {}, expected {}", group.directory,
                                                   has.to_string(), cpus.to_string()));
}

/// Returns the cpuset that was written to a group; empty if none was, so that it has its parent's
/// CPUs.
CpuSet chosen_cpus(const enforce::Group& group) {
  return read_set(group, enforce::kCpusFile).value_or(CpuSet());
}

/// Returns the CPUs of the child groups. On cgroup v1 their parent must have them.
CpuSet cpus_in(const enforce::Group& group) {
  const auto& part = group.cpuset();
  CpuSet cpus;
  for (const std::string& child :
       part.fs->children(part.path).value_or(std::vector<std::string>())) {
    cpus |= chosen_cpus(child_of(group, child));
  }
  return cpus;
}

/// Returns the part of the pool that the groups above have. cgroup v1 rejects other CPUs, and v2
/// gives a group with none of them all CPUs of the group above.
CpuSet pool_of(const agent::EnforcedLayout& enforced, const enforce::Group& group,
               const SharedPlace& place) {
  const auto above = enforced.cpus_above(group.directory);
  if (!above || (group.is_v2() && above->intersects(place.pool))) return place.pool;
  CpuSet pool = agent::pool_in(*above, place.pool, place.exclusive);
  return pool.empty() ? place.pool : pool;
}

}  // namespace

Result<void> ConfinedGroups::confine(const agent::EnforcedLayout& enforced, const OtherGroup& other,
                                     const SharedPlace& place) {
  const CpuSet chosen = chosen_cpus(other.group);
  const CpuSet pool = pool_of(enforced, other.group, place);
  const CpuSet target = within(other.cpus, pool);
  const auto known = groups_.find(other.group.directory);
  CpuSet before = chosen == former_pool_ ? CpuSet() : chosen;
  if (known != groups_.end() && known->second.written == chosen) before = known->second.before;
  Confined& confined = groups_[other.group.directory];
  const CpuSet due = before.empty() ? place.pool : within(before, place.pool);
  confined = {std::move(before), target, pool == place.pool ? target : due};
  auto done = write_cpus(other.group, target, pool, place.adopted);
  if (done || other.group.is_v2()) return done;
  const CpuSet inner = cpus_in(other.group);
  if (inner.empty()) return done;
  confined.written = target | inner;
  return write_cpus(other.group, confined.written, pool | inner, place.adopted);
}

Result<void> ConfinedGroups::recognize(const agent::EnforcedLayout& enforced, OtherSearch search) {
  const CpuSet former = std::exchange(former_pool_, {});
  if (former.empty()) return {};
  search.wanted = [&](const OtherGroup& other) { return chosen_cpus(other.group) == former; };
  PINFOLD_LET(const auto found, find_others(enforced, search));
  for (const OtherGroup& other : found) {
    groups_.try_emplace(other.group.directory, Confined{{}, former, former});
  }
  return {};
}

/// Returns false if the group is no longer ours.
Result<bool> ConfinedGroups::Confined::follow(const agent::EnforcedLayout& enforced,
                                              const std::string& directory,
                                              const SharedPlace& place) {
  CpuSet cpus = before.empty() ? place.pool : within(before, place.pool);
  if (cpus == due) return true;
  due = std::move(cpus);
  const auto group = enforced.open_elsewhere(directory);
  if (!group || chosen_cpus(*group) != written) return false;
  const CpuSet pool = pool_of(enforced, *group, place);
  CpuSet target = before.empty() ? pool : within(before, pool);
  const auto done = write_cpus(*group, target, pool, place.adopted);
  if (!done && enforce::is_gone(done.error())) return false;
  PINFOLD_TRY_WRAP(done, fmt::format("'{}' does not get CPUs {}", directory, target.to_string()));
  written = std::move(target);
  return true;
}

/// Returns a group below an adopted one to its former cpuset; the adopted group keeps it in place.
void ConfinedGroups::Confined::give_back(const agent::EnforcedLayout& enforced,
                                         const std::string& directory) const {
  const auto group = enforced.open_elsewhere(directory);
  if (!group || !group->is_v2() || chosen_cpus(*group) != written) return;
  const auto& part = group->cpuset();
  (void)part.fs->write(part.path, enforce::kCpusFile, before.to_string());
}

std::vector<Error> ConfinedGroups::follow(const agent::EnforcedLayout& enforced,
                                          const SharedPlace& place) {
  std::vector<Error> errors;
  if (place.pool.empty()) return errors;
  for (auto it = groups_.begin(); it != groups_.end();) {
    Result<bool> is_ours = !is_adopted(place.adopted, it->first);
    if (*is_ours) {
      is_ours = it->second.follow(enforced, it->first, place);
    } else if (!place.adopted.contains(it->first)) {
      it->second.give_back(enforced, it->first);
    }
    if (!is_ours) errors.push_back(is_ours.error());
    it = is_ours.value_or(true) ? std::next(it) : groups_.erase(it);
  }
  return errors;
}

void ConfinedGroups::forget_gone(const agent::EnforcedLayout& enforced) {
  std::erase_if(groups_, [&](const auto& entry) {
    const auto group = enforced.open_elsewhere(entry.first);
    return !group && enforce::is_gone(group.error());
  });
}

}  // namespace pinfold::nri
