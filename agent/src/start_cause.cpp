#include "start_cause.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pinfold/agent/offline.hpp"
#include "pinfold/agent/pod_logs.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/types/named.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold::agent {
namespace {

CpuSet assigned_in(const CpuCheckpoint& state) {
  CpuSet all;
  for (const auto& entry : state.assignments) all |= entry.value;
  for (const auto& [uid, cpus] : state.pods) all |= cpus;
  return all;
}

/// Reserves more of the free CPUs until there are `count`, whole cores first.
void reserve_more(const Machine& machine, const CpuSet& free, std::size_t count, CpuSet& reserved) {
  for (const Machine::Group& core : machine.cores()) {
    const bool fits = free.contains_all(core.cpus) && !reserved.intersects(core.cpus) &&
                      reserved.size() + core.cpus.size() <= count;
    if (fits) reserved |= core.cpus;
  }
  for (const CpuId cpu : free - reserved) {
    if (reserved.size() >= count) break;
    reserved.insert(cpu);
  }
}

/// Replaces the `taken` ones of the reserved CPUs with free ones, on the same NUMA nodes as far as
/// possible, because each may have been meant to keep some for the system.
CpuSet with_free_cpus(const Node& node, const CpuSet& free, const CpuSet& taken) {
  const Machine& machine = node.machine();
  CpuSet reserved = node.cpu().reserved() - taken;
  for (int numa = 0; numa < machine.numa_count(); ++numa) {
    const CpuSet& here = machine.cpus_of_numa(numa);
    reserve_more(machine, free & here, reserved.size() + taken.count_common(here), reserved);
  }
  reserve_more(machine, free, node.cpu().reserved().size(), reserved);
  return reserved;
}

/// Returns reserved CPUs with which the state starts; nullopt if there are none.
std::optional<CpuSet> other_reservation(const Node& node, const CpuCheckpoint& state,
                                        const CpuSet& taken) {
  const CpuSet reserved = with_free_cpus(node, state.default_set, taken);
  Config config = node.config();
  config.reserved_system_cpus = reserved.to_string();
  const auto other = Node::make(node.machine(), std::move(config));
  CpuState started{state};
  if (!other || !other->cpu().start(started)) return std::nullopt;
  return reserved;
}

/// Describes CPUs that the system reserves and containers have.
std::string about_reserved(const Node& node, const CpuCheckpoint& state, const PodNames& names,
                           const CpuSet& taken) {
  const auto other = other_reservation(node, state, taken);
  return fmt::format(
      "this configuration reserves {} ({}): {}return to the earlier configuration, remove the pods "
      "that have {}, and then change it",
      cpus_named(taken), owners_of(state.assignments, names, taken),
      other ? fmt::format("write reservedSystemCPUs: {}, which {} free, or ", other->to_string(),
                          one_or_more(*other, "is", "are"))
            : "",
      cpus_named(taken));
}

/// Describes CPUs that the machine does not have. `is_other_machine`: its memory differs, too.
std::string about_lost(const CpuCheckpoint& state, const PodNames& names, const CpuSet& lost,
                       bool is_other_machine) {
  const std::string what =
      fmt::format("{} of the state {} offline or no longer {} ({})", cpus_named(lost),
                  one_or_more(lost, "is", "are"), one_or_more(lost, "exists", "exist"),
                  owners_of(state.assignments, names, lost));
  if (is_other_machine) {
    return what +
           ", and the memory differs, too: the files seem to come from another machine. If their "
           "pods do not run here, delete cpu_manager_state and memory_manager_state";
  }
  return fmt::format("{}: if offline, '{}' brings {} back", what, online_command(lost),
                     one_or_more(lost, "it", "them"));
}

StartCause about_cpus(const Node& node, const CpuCheckpoint& state, const PodNames& names,
                      bool is_other_machine) {
  const CpuSet assigned = assigned_in(state);
  const CpuSet known = state.default_set | assigned;
  const CpuSet lost = known - node.machine().all_cpus();
  const CpuSet taken = (node.cpu().reserved() & assigned) - lost;
  std::vector<std::string> parts;
  if (!lost.empty()) parts.push_back(about_lost(state, names, lost, is_other_machine));
  if (!taken.empty()) parts.push_back(about_reserved(node, state, names, taken));
  if (const CpuSet added = node.cpu().allocatable() - known; !added.empty()) {
    parts.push_back(
        fmt::format("{} {} not in the state", cpus_named(added), one_or_more(added, "is", "are")));
  }
  return {fmt::format("{}", fmt::join(parts, "; ")), !taken.empty() || lost.intersects(assigned)};
}

using Tables = std::map<std::string, MemoryTable>;

std::string bytes_text(std::uint64_t bytes) {
  return Quantity::bytes(static_cast<std::int64_t>(bytes)).to_string();
}

/// Compares the memory of one NUMA node in the state with that of the node as it is now.
void compare_tables(std::int32_t id, Tables was, Tables is, std::vector<std::string>& out) {
  for (const auto& entry : is) was.try_emplace(entry.first);
  for (const auto& [type, before] : was) {
    const MemoryTable& now = is[type];
    if (before.total != now.total) {
      out.push_back(fmt::format("NUMA node {} has {} of {}, in the state {}", id,
                                bytes_text(now.total), type, bytes_text(before.total)));
    }
    if (before.system_reserved != now.system_reserved) {
      out.push_back(fmt::format(
          "{} of {} are reserved for the system on NUMA node {}, in the state {}",
          bytes_text(now.system_reserved), type, id, bytes_text(before.system_reserved)));
    }
  }
}

/// Returns whether the NUMA nodes have changed, or the memory of one by more than a sixteenth. (A
/// new kernel takes a little more or less for itself.)
bool has_other_memory(const Node& node, const MemoryCheckpoint& state) {
  MemoryState fresh;
  if (!node.memory().start(fresh)) return false;
  return !std::equal(
      fresh.machine_state.begin(), fresh.machine_state.end(), state.machine_state.begin(),
      state.machine_state.end(), [](const auto& now, const auto& before) {
        constexpr std::uint64_t kDrift = 16;
        const auto sum = [](const NodeMemory& memory) {
          std::uint64_t bytes = 0;
          for (const auto& [type, table] : memory.tables) bytes += table.total;
          return bytes;
        };
        const auto [least, most] = std::minmax({sum(now.second), sum(before.second)});
        return now.first == before.first && most - least <= most / kDrift;
      });
}

std::string about_memory(const Node& node, const MemoryCheckpoint& state) {
  MemoryState fresh;
  if (!node.memory().start(fresh)) return "";
  std::vector<std::string> parts;
  for (const auto& [id, now] : fresh.machine_state) {
    const auto before = state.machine_state.find(id);
    if (before == state.machine_state.end()) {
      parts.push_back(fmt::format("NUMA node {} is new: not in the state", id));
    } else {
      compare_tables(id, before->second.tables, now.tables, parts);
    }
  }
  for (const auto& entry : state.machine_state) {
    if (fresh.machine_state.contains(entry.first)) continue;
    parts.push_back(fmt::format("NUMA node {} of the state no longer exists", entry.first));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Returns the state of the memory manager; nullopt if the node would not read it.
std::optional<MemoryCheckpoint> memory_of(const Node& node, const checkpoint::Files& files) {
  if (!files.memory || !node.memory().is_static()) return std::nullopt;
  auto found = checkpoint::inspect_memory(*files.memory);
  if (!found || found->policy != node.config().memory_manager_policy) return std::nullopt;
  return std::move(found->state);
}

}  // namespace

StartCause find_start_cause(const Node& node, const StartError& error,
                            const checkpoint::Files& files, const PodNames& names) {
  const auto memory = memory_of(node, files);
  if (error.stage == StartStage::kCpuManager && files.cpu && node.cpu().is_static()) {
    const auto found = checkpoint::inspect_cpu(*files.cpu);
    if (found && found->policy == node.config().cpu_manager_policy) {
      return about_cpus(node, found->state, names, memory && has_other_memory(node, *memory));
    }
  }
  if (error.stage == StartStage::kMemoryManager && memory) return {about_memory(node, *memory)};
  return {};
}

bool holds_nothing(const checkpoint::Files& files) {
  if (files.pods) return false;
  const auto cpu = checkpoint::inspect_cpu(files.cpu.value_or(""));
  const auto memory = checkpoint::inspect_memory(files.memory.value_or(""));
  const auto is_empty = [](const auto& file, const auto& read) {
    return !file || (read && read->state.assignments.empty() && read->state.pods.empty());
  };
  return is_empty(files.cpu, cpu) && is_empty(files.memory, memory);
}

PodNames names_in_files(const checkpoint::Files& files, const std::string& pod_logs) {
  AgentState state;
  if (!files.pods || !decode_pods(*files.pods, state)) state = {};
  PodNames names = names_of_pods(state.node);
  const auto found = checkpoint::inspect_cpu(files.cpu.value_or(""));
  if (!found) return names;
  std::set<PodUid> uids;
  for (const auto& entry : found->state.assignments) uids.insert(entry.pod);
  names.merge(names_in_pod_logs(pod_logs, uids));
  return names;
}

}  // namespace pinfold::agent
