#include "pinfold/enforce/wanted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::enforce {
namespace {

/// Grows a pod's set by a container's; once one of them has none of its own, neither has the pod.
void join(CpuSet& pod, const CpuSet& container, bool is_first) {
  if (is_first) {
    pod = container;
  } else if (pod.empty() || container.empty()) {
    pod.clear();
  } else {
    pod |= container;
  }
}

NodeSet mems_of(const ContainerResources& resources) {
  auto mems = NodeSet::parse(resources.cpuset_mems);
  return mems ? *std::move(mems) : NodeSet{};
}

Group container_group(const ContainerResources& resources, const CpuSet& pool,
                      const KernelFacts& facts) {
  Group group;
  // An assignment may be empty: a container entitled to no CPU of its own still runs.
  const bool has_own = resources.cpus.has_value() && !resources.cpus->empty();
  group.cpus = has_own ? *resources.cpus : pool;
  group.mems = mems_of(resources);
  group.isolation = has_own ? resources.isolation : Isolation::kHost;
  group.values = values_of(resources.linux_resources, GroupLevel::kContainer, facts);
  return group;
}

Group shared_group(const CpuSet& pool) {
  Group group;
  group.cpus = pool;
  return group;
}

std::string shown(const CpuSet& set) { return set.empty() ? "its parent's" : set.to_string(); }

void compare(const GroupName& name, const Group& seen, const Group& wanted,
             std::vector<std::string>& out) {
  const auto add = [&](std::string_view file, const std::string& has, const std::string& expected) {
    out.push_back(
        fmt::format("{}: {} is '{}', expected '{}'", to_string(name), file, has, expected));
  };
  if (!seen.is_complete) out.push_back(to_string(name) + ": exists only in part");
  if (seen.cpus != wanted.cpus) add("cpuset.cpus", shown(seen.cpus), shown(wanted.cpus));
  if (seen.mems != wanted.mems) add("cpuset.mems", shown(seen.mems), shown(wanted.mems));
  for (const auto& [file, value] : wanted.values) {
    const auto has = seen.values.find(file);
    if (has == seen.values.end()) {
      add(file, "absent", value);
    } else if (has->second != value) {
      add(file, has->second, value);
    }
  }
}

}  // namespace

CpuSet shared_pool(const Node& node, const NodeState& state) {
  if (!node.cpu().is_static() || !state.cpu.default_set.empty()) return state.cpu.default_set;
  return node.cpu().reserved();
}

bool is_finished(const ActivePod& pod, const Container& container) {
  if (container.kind != ContainerKind::kInit) return false;
  const auto& all = pod.spec.containers;
  const auto self = std::find_if(
      all.begin(), all.end(), [&](const Container& other) { return other.name == container.name; });
  return self != all.end() && std::any_of(std::next(self), all.end(), [&](const Container& later) {
           return pod.started.contains(later.name);
         });
}

Layout wanted_layout(const Node& node, const AgentState& state, const KernelFacts& facts) {
  Layout layout;
  const CpuSet pool = shared_pool(node, state.node);
  for (const ActivePod& pod : state.node.pods) {
    const std::string& uid = pod.spec.uid;
    Group own;
    own.cpus = pool;
    bool is_first = true;
    const auto removed = state.removed.find(uid);
    for (const Container& container : pod.spec.containers) {
      const bool is_gone =
          (removed != state.removed.end() && removed->second.contains(container.name)) ||
          is_finished(pod, container);
      if (is_gone) continue;
      const auto resources = container_resources(node, state.node, uid, container.name);
      if (!resources) continue;  // cannot be: the pod is active and has the container
      Group group = container_group(*resources, pool, facts);
      // Whoever made the group gives it everything but its cpuset.
      if (state.adopted.contains({uid, container.name})) group.values.clear();
      join(own.cpus, group.cpus, is_first);
      join(own.mems, group.mems, is_first);
      is_first = false;
      layout.emplace(GroupName{uid, container.name}, std::move(group));
    }
    if (const auto resources = pod_resources(node, state.node, uid)) {
      own.values = values_of(*resources, GroupLevel::kPod, facts);
    }
    layout.emplace(GroupName{uid, ""}, std::move(own));
  }
  return layout;
}

Layout with_strays(Layout wanted, const std::vector<GroupName>& busy, const CpuSet& pool) {
  for (const GroupName& name : busy) {
    Group& pod = wanted.try_emplace(name.pod(), shared_group(pool)).first->second;
    if (name.is_pod()) continue;
    wanted.insert_or_assign(name, shared_group(pool));
    join(pod.cpus, pool, false);
    pod.mems.clear();
  }
  return wanted;
}

std::vector<std::string> drift(const Layout& seen, const Layout& wanted) {
  std::vector<std::string> out;
  for (const auto& [name, group] : wanted) {
    const auto has = seen.find(name);
    if (has == seen.end()) {
      out.push_back(fmt::format("{}: does not exist", to_string(name)));
    } else {
      compare(name, has->second, group, out);
    }
  }
  for (const auto& [name, group] : seen) {
    if (wanted.contains(name)) continue;
    out.push_back(fmt::format("{}: belongs to no active pod", to_string(name)));
  }
  return out;
}

}  // namespace pinfold::enforce
