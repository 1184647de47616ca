#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pinfold/checkpoint/files.hpp"
#include "pinfold/memory/count_again.hpp"
#include "pinfold/types/named.hpp"
#include "repair_requests.hpp"
#include "repair_states.hpp"

namespace pinfold::checkpoint {
namespace {

/// An assignment that cannot be read but that other files name.
struct MissingAssignment {
  ContainerId id;                ///< name "": the pod-level reservation
  const PodSpec* pod = nullptr;  ///< nullptr: only the other state file names it
  std::string amount;            ///< "2 CPUs"; "": unknown
  std::vector<std::string_view> named_by;
};

/// Calls `visit` for the containers of the pods in .pinfold_pods, and (with nullptr) for those pods
/// that have a pod-level reservation.
template <class Visit>
void for_each_known(const Node& node, const OtherFiles& others, const Visit& visit) {
  for (const PodSpec& pod : others.pods) {
    if (has_pod_entry(node, pod)) visit(pod, nullptr, ContainerId{pod.uid, ""});
    for (const Container& container : pod.containers) {
      const ContainerId id{pod.uid, container.name};
      if (!others.removed.contains(id)) visit(pod, &container, id);
    }
  }
}

template <class State>
bool has(const State& state, const ContainerId& id) {
  return id.name.empty() ? state.pods.contains(id.pod) : state.assignments.contains(id);
}

/// Adds everything that `other` names and `state` does not, for pods whose spec is unknown.
template <class State, class Other>
void add_unknown(const State& state, const Other& other, std::string_view other_name,
                 const OtherFiles& others, std::vector<MissingAssignment>& missing) {
  const auto add = [&](const ContainerId& id) {
    const bool is_known = std::any_of(others.pods.begin(), others.pods.end(),
                                      [&](const PodSpec& pod) { return pod.uid == id.pod; });
    if (!is_known && !has(state, id)) missing.push_back({id, nullptr, "", {other_name}});
  };
  for (const auto& [pod, reserved] : other.pods) add({pod, ""});
  for (const auto& entry : other.assignments) add(entry.id());
}

template <class State, class Other, class AmountOf>
std::vector<MissingAssignment> find_missing(const Node& node, const State& state,
                                            const Other& other, std::string_view other_name,
                                            const OtherFiles& others, const AmountOf& amount_for) {
  std::vector<MissingAssignment> missing;
  for_each_known(node, others,
                 [&](const PodSpec& pod, const Container* container, const ContainerId& id) {
                   std::string text = amount_text(amount_for(node, pod, container));
                   if (text.empty() || has(state, id)) return;
                   missing.push_back({id, &pod, std::move(text), {kPodsFileName}});
                   if (has(other, id)) missing.back().named_by.push_back(other_name);
                 });
  add_unknown(state, other, other_name, others, missing);
  return missing;
}

void note_lost(const std::vector<MissingAssignment>& missing, std::string_view resource,
               Notes& notes) {
  for (const MissingAssignment& one : missing) {
    const std::string what =
        one.amount.empty() ? fmt::format("any {} that it had", resource) : one.amount;
    notes.lost.push_back(
        {object_of(one.id), fmt::format("{}: its entry is unreadable, but '{}' {} it", what,
                                        fmt::join(one.named_by, "' and '"),
                                        one.named_by.size() == 1 ? "names" : "name")});
  }
}

/// Returns true if an assignment is not named by the other file: damage may have changed one name
/// into another.
template <class State, class Other>
bool has_stranger(const State& state, const Other& other) {
  return std::any_of(state.assignments.begin(), state.assignments.end(),
                     [&](const auto& entry) { return !other.assignments.contains(entry.id()); });
}

void note_restored(const MissingAssignment& one, std::string_view what, Notes& notes) {
  notes.done.push_back(
      {object_of(one.id),
       fmt::format(
           "{}: its entry is unreadable; restored as the only possibility according to '{}'", what,
           kPodsFileName)});
}

/// Gives the only missing pod or container the CPUs that are in no set, if their number is right.
bool restore_only_one(const Node& node, const MissingAssignment& one, const CpuSet& free,
                      CpuCheckpoint& cpu, Notes& notes) {
  if (one.pod == nullptr) return false;
  CpuSet cpus = free;
  const bool is_pod = one.id.name.empty();
  if (is_pod) {
    const auto* const containers = cpu.assignments.find(one.id.pod);
    if (containers == nullptr) return false;
    for (const auto& [name, own] : *containers) cpus |= own;
  }
  const auto count = requested_cpus(node, *one.pod, is_pod ? nullptr : one.pod->find(one.id.name));
  if (cpus.size() != count) return false;
  (is_pod ? cpu.pods[one.id.pod] : cpu.assignments[one.id]) = cpus;
  note_restored(one, cpus_named(cpus), notes);
  return true;
}

/// Returns the NUMA nodes whose counter says that they have more assignments than could be read.
std::vector<std::int32_t> with_missing_assignments(const MemoryCheckpoint& file,
                                                   const MemoryCheckpoint& counted) {
  std::vector<std::int32_t> nodes;
  for (const auto& [id, memory] : file.machine_state) {
    if (memory.number_of_assignments > counted.machine_state.at(id).number_of_assignments) {
      nodes.push_back(id);
    }
  }
  return nodes;
}

/// Returns whether the file says of every NUMA node how many assignments it has. A text that is
/// torn in a NUMA node's first field leaves that node without tables.
bool says_all_counts(const Node& node, const MemoryCheckpoint& file) {
  MemoryState fresh;
  if (!node.memory().start(fresh)) return false;  // cannot happen: an empty state always starts
  return std::all_of(fresh.machine_state.begin(), fresh.machine_state.end(),
                     [&](const auto& entry) {
                       const auto found = file.machine_state.find(entry.first);
                       return found != file.machine_state.end() && !found->second.tables.empty();
                     });
}

/// Gives the only missing pod or container its memory on the NUMA nodes with missing assignments,
/// if the machine state then agrees with all assignments.
bool restore_only_one(const Node& node, const MissingAssignment& one,
                      const std::vector<std::int32_t>& nodes, MemoryCheckpoint& memory,
                      Notes& notes) {
  if (one.pod == nullptr || nodes.empty()) return false;
  const bool is_pod = one.id.name.empty();
  auto blocks = requested_memory(node, *one.pod, is_pod ? nullptr : one.pod->find(one.id.name));
  for (MemoryBlock& block : blocks) block.numa_affinity = nodes;
  MemoryCheckpoint trial = memory;
  (is_pod ? trial.pods[one.id.pod] : trial.assignments[one.id]) = blocks;
  if (!check_machine_state(trial, node.gates().pod_level_resource_managers)) return false;
  memory = std::move(trial);
  note_restored(one, fmt::format("{} on {}", amount_text(blocks), numa_nodes_named(nodes)), notes);
  return true;
}

/// Notes reserved bytes that belong to no assignment.
void note_unowned(const MemoryCheckpoint& file, const MemoryCheckpoint& counted, Notes& notes) {
  for (const auto& [id, memory] : file.machine_state) {
    for (const auto& [type, table] : memory.tables) {
      const std::uint64_t known = counted.machine_state.at(id).tables.at(type).reserved;
      if (table.reserved <= known) continue;
      notes.lost.push_back(
          {std::string(kMemoryFileName),
           fmt::format("{} of {} on NUMA node {}, from unreadable assignments: released",
                       bytes_named(table.reserved - known), type, id)});
    }
  }
}

}  // namespace

void restore_missing(const Node& node, const Damage& damage, const MemoryCheckpoint& memory,
                     CpuCheckpoint& cpu, Notes& notes) {
  if (!node.cpu().is_static()) return;
  CpuSet free = in_no_set(node, cpu);
  auto missing = find_missing(node, cpu, memory, kMemoryFileName, damage.others, requested_cpus);
  if (free.empty() && !damage.is_replaced && !has_stranger(cpu, memory)) {
    // Every CPU is accounted for, so what only the memory file names has no exclusive CPUs.
    std::erase_if(missing, [](const MissingAssignment& one) { return one.pod == nullptr; });
  }
  if (missing.size() == 1 && restore_only_one(node, missing.front(), free, cpu, notes)) {
    missing.clear();
    free = in_no_set(node, cpu);
  }
  note_lost(missing, "CPUs", notes);
  if (free.empty()) return;
  cpu.default_set |= free;
  notes.lost.push_back(
      {std::string(kCpuFileName),
       fmt::format("{}: {} unreadable; now in the shared pool", cpus_named(free),
                   one_or_more(free, "its assignment is", "their assignments are"))});
}

void restore_missing(const Node& node, const Damage& damage, const CpuCheckpoint& cpu,
                     MemoryCheckpoint& memory, Notes& notes) {
  if (!node.memory().is_static()) return;
  auto missing = find_missing(node, memory, cpu, kCpuFileName, damage.others, requested_memory);
  std::erase_if(missing, [](const MissingAssignment& one) {
    // The memory of an init container is released when a later container starts.
    const Container* const container = one.pod == nullptr ? nullptr : one.pod->find(one.id.name);
    return container != nullptr && container->kind == ContainerKind::kInit;
  });
  MemoryCheckpoint counted = count_again(memory, node.gates().pod_level_resource_managers);
  const auto nodes = with_missing_assignments(memory, counted);
  const bool is_read = says_all_counts(node, memory);
  if (is_read && nodes.empty() && !damage.is_replaced && !has_stranger(memory, cpu)) {
    std::erase_if(missing, [](const MissingAssignment& one) { return one.pod == nullptr; });
  }
  if (missing.size() == 1 && restore_only_one(node, missing.front(), nodes, memory, notes)) return;
  note_lost(missing, "memory", notes);
  if (!is_read) {
    notes.lost.push_back({std::string(kMemoryFileName), "its assignments are unreadable"});
  }
  note_unowned(memory, counted, notes);
}

}  // namespace pinfold::checkpoint
