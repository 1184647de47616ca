#include "compare.hpp"

#include <set>
#include <string>
#include <utility>

namespace pinfold::planning {
namespace {

Change change_of(const Part& before, const Part& after) {
  const auto has_more = [](const Part& one, const Part& other) {
    return (one.cpus && !other.cpus) || (!one.memory.empty() && other.memory.empty());
  };
  if (is_moved(before, after)) return Change::kMoved;
  if (has_more(after, before)) return Change::kBecomesExclusive;
  if (has_more(before, after)) return Change::kBecomesShared;
  return Change::kKept;
}

}  // namespace

PlannedContainer planned(const ContainerId& id, const Part& before, const Part& after) {
  PlannedContainer container;
  container.id = id;
  container.change = change_of(before, after);
  container.cpus_before = before.cpus;
  container.cpus_after = after.cpus;
  container.memory_before = before.memory;
  container.memory_after = after.memory;
  container.cpus_moved = moved_cpus(before, after);
  container.bytes_moved = moved_bytes(before, after);
  return container;
}

}  // namespace pinfold::planning

namespace pinfold {

std::vector<PlannedContainer> compare_states(const NodeState& before, const NodeState& after) {
  std::vector<PlannedContainer> containers;
  const auto add = [&](const PodUid& uid, const std::string& name) {
    const ContainerId id{uid, name};
    containers.push_back(
        planning::planned(id, planning::part_in(before, id), planning::part_in(after, id)));
    const bool stays = after.find(uid) != nullptr || after.held.contains(uid);
    if (!stays) containers.back().change = Change::kEvicted;
  };
  for (const ActivePod& pod : before.pods) {
    for (const Container& container : pod.spec.containers) add(pod.spec.uid, container.name);
  }
  for (const PodUid& uid : before.held) {
    for (const ContainerId& id : containers_with_assignments(before, uid)) add(uid, id.name);
  }
  return containers;
}

PlanCost cost_of(const std::vector<PlannedContainer>& containers) {
  PlanCost cost;
  std::set<PodUid> evicted;
  std::set<PodUid> against_rules;
  for (const PlannedContainer& container : containers) {
    if (container.change == Change::kEvicted) evicted.insert(container.id.pod);
    if (container.change == Change::kKeptAgainstRules) against_rules.insert(container.id.pod);
    if (container.change != Change::kMoved) continue;
    ++cost.containers_moved;
    cost.cpus_moved += container.cpus_moved;
    cost.bytes_moved += container.bytes_moved;
  }
  cost.pods_evicted = evicted.size();
  cost.pods_against_rules = against_rules.size();
  return cost;
}

}  // namespace pinfold
