#include "confined_groups.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace pinfold::nri {
namespace {

/// Those of the pool that a group may have; it must have some.
CpuSet within(const CpuSet& chosen, const CpuSet& pool) {
  const CpuSet both = chosen & pool;
  return both.empty() ? pool : both;
}

Result<void> write_cpus(const enforce::Group& group, const CpuSet& cpus, const CpuSet& pool) {
  const auto& part = group.cpuset();
  PINFOLD_TRY(part.fs->write(part.path, enforce::kCpusFile, cpus.to_string()));
  PINFOLD_LET(const CpuSet has, effective_cpus(group));
  if (pool.contains_all(has)) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("'{}' has CPUs {}, expected {}", group.directory,
                                                   has.to_string(), cpus.to_string()));
}

/// The cpuset that was written to a group; empty: none, it has the CPUs of the group that it is in.
CpuSet chosen_cpus(const enforce::Group& group) {
  return read_set(group, enforce::kCpusFile).value_or(CpuSet());
}

/// The CPUs of the groups in it, which a group of cgroup v1 must have.
CpuSet cpus_in(const enforce::Group& group) {
  const auto& part = group.cpuset();
  CpuSet cpus;
  for (const std::string& child :
       part.fs->children(part.path).value_or(std::vector<std::string>())) {
    cpus |= chosen_cpus(child_of(group, child));
  }
  return cpus;
}

}  // namespace

Result<void> ConfinedGroups::confine(const OtherGroup& other, const CpuSet& pool) {
  const CpuSet chosen = chosen_cpus(other.group);
  const CpuSet target = within(other.cpus, pool);
  const auto known = groups_.find(other.group.directory);
  CpuSet before = chosen == former_pool_ ? CpuSet() : chosen;
  if (known != groups_.end() && known->second.written == chosen) before = known->second.before;
  Confined& confined = groups_[other.group.directory];
  confined = {std::move(before), target, target};
  auto done = write_cpus(other.group, target, pool);
  if (done || other.group.is_v2()) return done;
  const CpuSet inner = cpus_in(other.group);
  if (inner.empty()) return done;
  confined.written = target | inner;
  return write_cpus(other.group, confined.written, pool | inner);
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

/// False if the group is not ours any more.
Result<bool> ConfinedGroups::Confined::follow(const agent::EnforcedLayout& enforced,
                                              const std::string& directory, const CpuSet& pool) {
  CpuSet cpus = before.empty() ? pool : within(before, pool);
  if (cpus == due) return true;
  due = std::move(cpus);
  const auto group = enforced.open_elsewhere(directory);
  if (!group || chosen_cpus(*group) != written) return false;
  const auto done = write_cpus(*group, due, pool);
  if (!done && enforce::is_gone(done.error())) return false;
  PINFOLD_TRY_WRAP(done, fmt::format("'{}' does not get CPUs {}", directory, due.to_string()));
  written = due;
  return true;
}

std::vector<Error> ConfinedGroups::follow(const agent::EnforcedLayout& enforced,
                                          const std::set<std::string>& adopted,
                                          const CpuSet& pool) {
  std::vector<Error> errors;
  if (pool.empty()) return errors;
  for (auto it = groups_.begin(); it != groups_.end();) {
    Result<bool> is_ours = !adopted.contains(it->first);
    if (*is_ours) is_ours = it->second.follow(enforced, it->first, pool);
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
