#include "pinfold/agent/desired.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pinfold::agent {
namespace {

/// Extends a pod's set by a container's. An empty set means the parent's, so it makes the pod's
/// set empty, too.
void join(CpuSet& pod, const CpuSet& container, bool is_first) {
  if (is_first) {
    pod = container;
  } else if (pod.empty() || container.empty()) {
    pod.clear();
  } else {
    pod |= container;
  }
}

enforce::NodeSet parse_mems(const std::string& cpuset_mems) {
  auto mems = enforce::NodeSet::parse(cpuset_mems);
  return mems ? *std::move(mems) : enforce::NodeSet{};
}

enforce::GroupSettings container_group(const ContainerResources& resources, const CpuSet& pool,
                                       const enforce::KernelFacts& facts) {
  enforce::GroupSettings group;
  // An assignment can be empty: a container without exclusive CPUs still runs.
  const bool has_own = resources.cpus.has_value() && !resources.cpus->empty();
  group.cpus = has_own ? *resources.cpus : pool;
  group.mems = parse_mems(resources.cpuset_mems);
  group.isolation = has_own ? resources.isolation : Isolation::kHost;
  group.values =
      enforce::values_of(resources.linux_resources, enforce::GroupLevel::kContainer, facts);
  return group;
}

enforce::Layout held_layout(const Node& node, const NodeState& state) {
  enforce::Layout layout;
  for (const PodUid& uid : state.held) {
    for (const ContainerId& container : containers_with_assignments(state, uid)) {
      enforce::GroupSettings& group = layout[container];
      const CpuSet* const cpus = state.cpu.assignments.find(container);
      if (cpus != nullptr && !cpus->empty()) {
        group.cpus = *cpus;
        group.isolation = Isolation::kContainer;
      }
      group.mems = parse_mems(node.memory().cpuset_mems(state.memory, container));
    }
  }
  return layout;
}

/// Gives containers of a pod that share one adopted group, that of their sandbox, the union of
/// their sets.
void unite_adopted(const AgentState& state, const PodUid& pod, enforce::Layout& layout) {
  const auto* const adopted = state.adopted.find(pod);
  if (adopted == nullptr) return;
  std::map<std::string, std::vector<enforce::GroupSettings*>> sharing;
  for (const auto& [container, directory] : *adopted) {
    const auto group = layout.find(ContainerId{pod, container});
    if (group != layout.end()) sharing[directory].push_back(&group->second);
  }
  for (const auto& [directory, groups] : sharing) {
    enforce::GroupSettings all = *groups.front();
    for (const enforce::GroupSettings* const group : groups) {
      join(all.cpus, group->cpus, false);
      join(all.mems, group->mems, false);
    }
    for (enforce::GroupSettings* const group : groups) {
      group->cpus = all.cpus;
      group->mems = all.mems;
    }
  }
}

/// Marks standard init containers that must have ended because a later container has started.
std::vector<bool> find_finished(const ActivePod& pod) {
  const auto& all = pod.spec.containers;
  std::vector<bool> finished(all.size());
  bool has_later = false;
  for (std::size_t i = all.size(); i-- > 0;) {
    finished[i] = has_later && all[i].kind == ContainerKind::kInit;
    has_later = has_later || pod.started.contains(all[i].name);
  }
  return finished;
}

}  // namespace

CpuSet shared_pool(const Node& node, const NodeState& state) {
  if (!node.cpu().is_static() || !state.cpu.default_set.empty()) return state.cpu.default_set;
  return node.cpu().reserved();
}

CpuSet exclusive_cpus(const enforce::Layout& layout) {
  CpuSet cpus;
  for (const auto& [name, settings] : layout) {
    if (settings.isolation != Isolation::kHost) cpus |= settings.cpus;
  }
  return cpus;
}

CpuSet exclusive_cpus(const Desired& desired) {
  return exclusive_cpus(desired.layout) | exclusive_cpus(desired.held);
}

void add_pod_layout(const Node& node, const AgentState& state, const ActivePod& pod,
                    const std::vector<ContainerResources>& containers,
                    const enforce::KernelFacts& facts, enforce::Layout& layout) {
  const CpuSet pool = shared_pool(node, state.node);
  const PodUid& uid = pod.spec.uid;
  const std::vector<bool> finished = find_finished(pod);
  enforce::GroupSettings own;
  own.cpus = pool;
  bool is_first = true;
  bool has_own_groups = false;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const ContainerId id{uid, containers[i].name};
    if (finished[i] || state.removed.contains(id)) continue;
    enforce::GroupSettings group = container_group(containers[i], pool, facts);
    // The runtime sets everything but the cpuset of an adopted group.
    const bool is_adopted = state.adopted.contains(id);
    if (is_adopted) group.values.clear();
    has_own_groups = has_own_groups || !is_adopted;
    join(own.cpus, group.cpus, is_first);
    join(own.mems, group.mems, is_first);
    is_first = false;
    layout.emplace(id, std::move(group));
  }
  unite_adopted(state, uid, layout);
  if (!has_own_groups) return;  // no process would ever be in the pod's group
  if (const auto resources = pod_resources(node, state.node, uid)) {
    own.values = enforce::values_of(*resources, enforce::GroupLevel::kPod, facts);
  }
  layout.emplace(enforce::GroupName(uid), std::move(own));
}

enforce::Layout desired_layout(const Node& node, const AgentState& state,
                               const enforce::KernelFacts& facts) {
  enforce::Layout layout;
  for (const ActivePod& pod : state.node.pods) {
    add_pod_layout(node, state, pod, all_container_resources(node, state.node, pod), facts, layout);
  }
  return layout;
}

void remove_inactive(AgentState& state) {
  if (state.removed.empty() && state.adopted.empty() && state.ending.empty() &&
      state.notes.empty()) {
    return;
  }
  std::map<std::string_view, const ActivePod*> active;  // one lookup per container
  for (const ActivePod& pod : state.node.pods) active.emplace(pod.spec.uid.value, &pod);
  const auto is_inactive = [&](const PodUid& uid) { return !active.contains(uid.value); };
  std::erase_if(state.removed, [&](const ContainerId& id) { return is_inactive(id.pod); });
  state.adopted.erase_if([&](const auto& entry) {  // a pod can be admitted with other containers
    const auto pod = active.find(entry.pod.value);
    return pod == active.end() || pod->second->spec.find(entry.name) == nullptr;
  });
  for (auto* const containers : {&state.end_with_group, &state.unread}) {
    std::erase_if(*containers, [&](const ContainerId& id) { return !state.adopted.contains(id); });
  }
  std::erase_if(state.ending, is_inactive);
  std::erase_if(state.creators, [&](const auto& entry) { return is_inactive(entry.first); });
  std::erase_if(state.notes, [&](const auto& entry) { return is_inactive(entry.first); });
}

CpuSet pool_in(const CpuSet& cpus, const CpuSet& pool, const CpuSet& exclusive) {
  CpuSet left = pool & cpus;
  return left.empty() && !pool.empty() ? cpus - exclusive : left;
}

enforce::Layout without_cpus(enforce::Layout desired, const CpuSet& offline, const CpuSet& pool) {
  CpuSet fallen;  // CPUs that the pod needs for containers that fall back to the shared pool
  for (auto it = desired.rbegin(); it != desired.rend(); ++it) {  // containers before their pod
    auto& [name, group] = *it;
    if (name.is_pod()) {
      if (!group.cpus.empty()) group.cpus = (group.cpus - offline) | fallen;
      fallen.clear();
    } else if (group.cpus.intersects(offline)) {
      group.cpus -= offline;
      if (!group.cpus.empty()) continue;
      group.cpus = fallen = pool;
      group.isolation = Isolation::kHost;
    }
  }
  return desired;
}

Desired make_desired(const Node& node, const AgentState& state, const enforce::KernelFacts& facts,
                     const CpuSet& offline) {
  enforce::Layout layout = desired_layout(node, state, facts);
  enforce::Layout held = held_layout(node, state.node);
  const CpuSet pool = shared_pool(node, state.node);
  const CpuSet left = offline.empty() ? pool
                                      : pool_in(node.machine().all_cpus() - offline, pool,
                                                exclusive_cpus(layout) | exclusive_cpus(held));
  return {without_cpus(std::move(layout), offline, left), std::move(held), left, state.adopted,
          node.config().partition};
}

void mark_isolation(const enforce::Layout& desired, const enforce::Layout& earlier,
                    enforce::Layout& observed) {
  for (auto& [name, group] : observed) {
    if (name.is_pod() || group.cpus.empty() || group.isolation != Isolation::kHost) continue;
    const auto now = desired.find(name);
    if (now != desired.end() && now->second.cpus == group.cpus) {
      group.isolation = now->second.isolation;
      continue;
    }
    for (const enforce::Layout* const layout : {&desired, &earlier}) {
      const auto found = layout->find(name);
      if (found == layout->end() || found->second.isolation == Isolation::kHost) continue;
      if (!found->second.cpus.contains_all(group.cpus)) continue;
      group.isolation = found->second.isolation;
      break;
    }
  }
}

enforce::Layout with_strays(const Desired& desired, const enforce::Layout& observed,
                            const std::vector<enforce::GroupName>& strays) {
  enforce::Layout layout = desired.layout;
  const auto confined = [&](const enforce::GroupName& name) {
    enforce::GroupSettings group;
    if (const auto held = desired.held.find(name); held != desired.held.end()) group = held->second;
    if (group.cpus.empty()) group.cpus = desired.pool;
    const auto has = observed.find(name);
    group.mems = has == observed.end() ? enforce::NodeSet{} : has->second.mems;
    return group;
  };
  for (const enforce::GroupName& name : strays) {
    const auto [pod, is_new] = layout.try_emplace(name.parent(), confined(name.parent()));
    if (name.is_pod()) continue;
    enforce::GroupSettings group = confined(name);
    join(pod->second.cpus, group.cpus, false);
    if (!is_new) join(pod->second.mems, group.mems, false);
    layout.insert_or_assign(name, std::move(group));
  }
  return layout;
}

}  // namespace pinfold::agent
