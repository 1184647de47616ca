#include "pinfold/audit/memory_binding.hpp"

#include <fmt/format.h>

#include <utility>

namespace pinfold::audit {
namespace {

using enforce::NodeSet;

/// Moves `lost` from the NUMA nodes that can be bound to those that cannot.
void limit(MemoryBinding& binding, NodeSet lost, BindingLimit why) {
  if (lost.empty()) return;
  binding.numa_nodes -= lost;
  why.numa_nodes = std::move(lost);
  binding.limits.push_back(std::move(why));
}

/// Describes why a group permits no more. Its own cpuset.mems may contain more: that of cgroup v2
/// keeps NUMA nodes that the group above has lost.
std::string describe(const GroupMems& group, const NodeSet& lost) {
  if (group.configured.empty() || group.configured.intersects(lost)) {
    return fmt::format("the effective memory nodes of '{}' are {}", group.directory,
                       group.effective.to_string());
  }
  return fmt::format("cpuset.mems of '{}' is {}", group.directory, group.configured.to_string());
}

}  // namespace

std::string_view to_string(BindingReason reason) {
  switch (reason) {
    case BindingReason::kOffline:
      return "offline";
    case BindingReason::kWithoutMemory:
      return "without-memory";
    case BindingReason::kCgroup:
      return "cgroup";
    case BindingReason::kProcess:
      break;
  }
  return "process";
}

MemoryBinding judge_binding(const BindingFacts& facts) {
  const NumaLists& numa = facts.numa;
  MemoryBinding binding{numa.possible | numa.online};
  limit(binding, binding.numa_nodes - numa.online,
        {{}, BindingReason::kOffline, "", "offline: the kernel only has a number for it"});
  limit(binding, binding.numa_nodes - numa.with_memory,
        {{}, BindingReason::kWithoutMemory, "", "it has no memory"});
  for (const GroupMems& group : facts.groups) {
    const NodeSet lost = binding.numa_nodes - group.effective;
    limit(binding, lost, {{}, BindingReason::kCgroup, group.directory, describe(group, lost)});
  }
  if (facts.allowed) {
    limit(binding, binding.numa_nodes - *facts.allowed,
          {{},
           BindingReason::kProcess,
           "",
           fmt::format("Mems_allowed_list of the process is {}, although its group permits more",
                       facts.allowed->to_string())});
  }
  return binding;
}

}  // namespace pinfold::audit
