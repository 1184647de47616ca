// For any damage to a state: the kubelet starts from the repaired state, and the repair removed
// only what it had to.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/repair.hpp"
#include "random_state.hpp"

namespace pinfold::checkpoint {
namespace {

using test::StateConfig;

KubeletFiles files_of(const NodeState& state, bool newest, bool pod_level) {
  if (newest) {
    return {encode_cpu(state.cpu, "static", CpuFormat::kV4),
            encode_memory(state.memory, "Static", MemoryFormat::kV3)};
  }
  return {encode_cpu(state.cpu, "static", pod_level),
          encode_memory(state.memory, "Static", pod_level)};
}

StateConfig any_repair_config() {
  StateConfig config;
  config.pod_level = *rc::gen::arbitrary<bool>();
  config.scope = *rc::gen::element<std::string>("pod", "container");
  config.strict = *rc::gen::arbitrary<bool>();
  return config;
}

CpuSet any_cpus() {
  return CpuSet::of(CpuId{*rc::gen::inRange(0, 18)}) | CpuSet::of(CpuId{*rc::gen::inRange(0, 18)});
}

/// Simulates interrupted operations of a kubelet, and changes by other programs.
void damage(NodeState& state) {
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) {
    auto& entries = state.cpu.assignments;
    auto& memory = state.memory;
    switch (*rc::gen::inRange(0, 7)) {
      case 0:  // CPUs were removed from the pool and never assigned
        state.cpu.default_set -= any_cpus();
        break;
      case 1:  // CPUs were returned and not removed from their container
        state.cpu.default_set |= any_cpus();
        break;
      case 2:  // a container was removed, its CPUs were not returned
        if (!entries.empty()) entries.erase(entries.by_pod().begin()->first);
        break;
      case 3:  // a pod was written, its containers were not
        state.cpu.pods[PodUid("half-done")] = any_cpus();
        break;
      case 4:
        entries[{PodUid("stranger"), "c"}] = any_cpus();
        break;
      case 5:
        if (!memory.machine_state.empty()) {
          memory.machine_state.begin()->second.tables["memory"].free /= 2;
        }
        break;
      default:
        memory.assignments[{PodUid("stranger"), "c"}] = {
            {{*rc::gen::inRange(0, 4)}, "memory", std::uint64_t{1} << 30U}};
    }
  }
}

/// Damages bytes as a disk does.
void damage(std::string& bytes) {
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.replace(at, bytes.size() - at, bytes.size() - at, '\0');
      break;
    case 2:
      bytes[at] = static_cast<char>(*rc::gen::inRange(1, 128));
      break;
    default:
      bytes += bytes.substr(at);
  }
}

/// Returns the same node, or one whose configuration has changed since.
Node any_successor(StateConfig config) {
  test::NodeShape shape;
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      shape.cpus = *rc::gen::element(9, 10);
      break;
    case 1:
      shape.gib = *rc::gen::element(2, 8, 32);
      break;
    case 2:
      shape.numa = *rc::gen::element(1, 3);
      config.reserved = "0";
      break;
    case 3:
      config.reserved = *rc::gen::element<std::string>("0", "0-1,8", "7");
      break;
    case 4:
      config.pod_level = !config.pod_level;
      break;
    default:
      break;
  }
  return test::node_of(config, shape);
}

CpuSet held_by_others(const CpuCheckpoint& state, const PodUid& pod) {
  CpuSet held;
  for (const auto& [other, containers] : state.assignments.by_pod()) {
    if (other == pod) continue;
    for (const auto& [name, cpus] : containers) held |= cpus;
  }
  for (const auto& [other, cpus] : state.pods) {
    if (other != pod) held |= cpus;
  }
  return held;
}

bool gave_up_for_the_pool(const Repaired& repaired, const PodUid& pod) {
  return std::any_of(repaired.lost.begin(), repaired.lost.end(), [&](const Note& note) {
    return note.object == pod.value && note.text.find("shared pool") != std::string::npos;
  });
}

void expect_cpus_kept(const Node& node, const CpuCheckpoint& before, const CpuCheckpoint& after,
                      const Repaired& repaired) {
  const CpuSet possible = node.machine().all_cpus() - node.cpu().reserved();
  for (const auto& [pod, containers] : before.assignments.by_pod()) {
    if (gave_up_for_the_pool(repaired, pod)) continue;
    for (const auto& [name, cpus] : containers) {
      const CpuSet* const kept = after.assignments.find({pod, name});
      const CpuSet gone = cpus - (kept == nullptr ? CpuSet() : *kept);
      RC_ASSERT((gone & possible) - held_by_others(before, pod) == CpuSet());
      if (kept != nullptr) RC_ASSERT(cpus.contains_all(*kept));
    }
  }
}

void expect_nodes_kept(const Node& node, const MemoryCheckpoint& before,
                       const MemoryCheckpoint& after) {
  for (const auto& [pod, containers] : before.assignments.by_pod()) {
    for (const auto& [name, blocks] : containers) {
      for (const MemoryBlock& block : blocks) {
        for (const std::int32_t id : block.numa_affinity) {
          if (!node.machine().numa_position(NumaId{id})) continue;
          const auto* const kept = after.assignments.find({pod, name});
          RC_ASSERT(kept != nullptr);
          RC_ASSERT(std::any_of(kept->begin(), kept->end(), [&](const MemoryBlock& now) {
            return now.type == block.type &&
                   std::count(now.numa_affinity.begin(), now.numa_affinity.end(), id) == 1;
          }));
        }
      }
    }
  }
}

Repaired expect_repaired(const Node& node, const KubeletFiles& files) {
  Repaired repaired = repair(node, files, {}, {});
  const auto starts = would_start(node, repaired.files, {});
  if (!starts) RC_LOG() << starts.error().error << "\n" << *repaired.files.cpu << "\n";
  RC_ASSERT(starts.has_value());
  const Repaired again = repair(node, repaired.files, {}, {});
  if (again.changed()) RC_LOG() << (again.done.empty() ? again.lost : again.done).front().text;
  RC_ASSERT(again.files == repaired.files);
  RC_ASSERT_FALSE(again.changed());
  return repaired;
}

/// With overlapping groups of NUMA nodes it depends on chance whether a kubelet starts.
bool has_overlapping_groups(const MemoryState& memory) {
  std::set<std::vector<std::int32_t>> groups;
  const auto add = [&groups](const std::vector<MemoryBlock>& blocks) {
    for (const MemoryBlock& block : blocks) {
      groups.emplace(block.numa_affinity.begin(), block.numa_affinity.end());
    }
  };
  for (const auto& [pod, containers] : memory.assignments.by_pod()) {
    for (const auto& [name, blocks] : containers) add(blocks);
  }
  for (const auto& [pod, blocks] : memory.pods) add(blocks);
  std::set<std::int32_t> seen;
  std::size_t count = 0;
  for (const auto& group : groups) {
    seen.insert(group.begin(), group.end());
    count += group.size();
  }
  return seen.size() != count;
}

RC_GTEST_PROP(Repair, KeepsAValidStateUnchanged, ()) {
  const StateConfig config = any_repair_config();
  const Node node = test::node_of(config);
  const bool newest = *rc::gen::arbitrary<bool>();
  NodeState state = test::any_state(node);
  // A kubelet starts with CPUs of a pod without containers, and never releases them.
  RC_PRE(std::all_of(state.cpu.pods.begin(), state.cpu.pods.end(),
                     [&](const auto& pod) { return state.cpu.assignments.contains(pod.first); }));
  // Kubelet 1.36 reads no pod-level reservations in CPU V4 and memory V3.
  RC_PRE(!newest || (state.cpu.pods.empty() && state.memory.pods.empty()));
  RC_PRE(!has_overlapping_groups(state.memory));
  const KubeletFiles files = files_of(state, newest, config.pod_level);
  RC_PRE(would_start(node, files, {}).has_value());
  const Repaired repaired = repair(node, files, {}, {});
  if (repaired.changed()) {
    RC_LOG() << *files.cpu << "\n" << *files.memory << "\n";
    for (const auto& note : repaired.done) RC_LOG() << "done " << note.text << "\n";
    for (const auto& note : repaired.lost) RC_LOG() << "lost " << note.text << "\n";
  }
  RC_ASSERT_FALSE(repaired.changed());
  RC_ASSERT(repaired.files == files);
}

RC_GTEST_PROP(Repair, KeepsTheValidPartOfAnInconsistentState, ()) {
  const StateConfig config = any_repair_config();
  NodeState state = test::any_state(test::node_of(config));
  damage(state);
  const Node node = any_successor(config);
  const bool newest = *rc::gen::arbitrary<bool>();
  const Repaired repaired = expect_repaired(node, files_of(state, newest, config.pod_level));
  const auto cpu = inspect_cpu(*repaired.files.cpu);
  const auto memory = inspect_memory(*repaired.files.memory);
  RC_ASSERT(cpu.has_value());
  RC_ASSERT(memory.has_value());
  expect_cpus_kept(node, state.cpu, cpu->state, repaired);
  expect_nodes_kept(node, state.memory, memory->state);
}

RC_GTEST_PROP(Repair, RepairsDamagedFiles, ()) {
  const StateConfig config = any_repair_config();
  const NodeState state = test::any_state(test::node_of(config));
  KubeletFiles files = files_of(state, *rc::gen::arbitrary<bool>(), config.pod_level);
  damage(*files.cpu);
  damage(*files.memory);
  (void)expect_repaired(any_successor(config), files);
}

/// Returns all containers with exclusive CPUs, and one that shares, as they run on a node.
std::vector<RunningContainer> running_on(const CpuCheckpoint& state) {
  std::vector<RunningContainer> all;
  for (const auto& entry : state.assignments) {
    all.push_back({.id = entry.id(), .group = "/g", .is_known = true, .cpus = entry.value});
  }
  all.push_back({.id = {PodUid("shares"), "c"},
                 .group = "/s",
                 .qos = QosClass::kBurstable,
                 .cpus = state.default_set});
  return all;
}

/// A later container of a pod can have the CPUs of an init container, so that both are uncertain.
bool is_apart(const CpuCheckpoint& state, const ContainerId& id, const CpuSet& cpus) {
  return std::all_of(state.assignments.begin(), state.assignments.end(), [&](const auto& entry) {
    return entry.id() == id || !entry.value.intersects(cpus);
  });
}

RC_GTEST_PROP(Repair, ReadsBackExactlyWhatRuns, ()) {
  StateConfig config = any_repair_config();
  config.pod_level = false;
  const Node node = test::node_of(config);
  const NodeState state = test::any_state(node);
  KubeletFiles files = files_of(state, false, false);
  RC_PRE(would_start(node, files, {}).has_value());
  RC_PRE(!state.cpu.default_set.empty());
  files.cpu->resize(*rc::gen::inRange<std::size_t>(0, files.cpu->size()));
  const Repaired repaired = repair(node, files, {}, {.running = running_on(state.cpu)});
  RC_ASSERT(would_start(node, repaired.files, {}).has_value());
  const CpuCheckpoint after = inspect_cpu(*repaired.files.cpu)->state;
  for (const auto& entry : after.assignments) {
    const CpuSet* const before = state.cpu.assignments.find(entry.id());
    RC_ASSERT(before != nullptr && *before == entry.value);
  }
  for (const auto& entry : state.cpu.assignments) {
    if (entry.value.empty() || !is_apart(state.cpu, entry.id(), entry.value)) continue;
    RC_ASSERT(after.assignments.contains(entry.id()));
  }
}

RC_GTEST_PROP(Repair, KeepsEveryContainerBeforeATear, ()) {
  const StateConfig config = any_repair_config();
  const Node node = test::node_of(config);
  const NodeState state = test::any_state(node);
  KubeletFiles files = files_of(state, false, config.pod_level);
  RC_PRE(would_start(node, files, {}).has_value());
  files.cpu->resize(*rc::gen::inRange<std::size_t>(0, files.cpu->size()));
  const Repaired repaired = expect_repaired(node, files);
  const CpuCheckpoint after = inspect_cpu(*repaired.files.cpu)->state;
  for (const auto& [pod, containers] : state.cpu.assignments.by_pod()) {
    for (const auto& [name, cpus] : containers) {
      const auto pod_at = files.cpu->find("\"" + pod.value + "\":{");
      if (pod_at == std::string::npos) continue;
      const std::string entry = "\"" + name + "\":\"" + cpus.to_string() + "\"";
      if (files.cpu->find(entry, pod_at) == std::string::npos) continue;
      const auto other = files.cpu->find("}", pod_at);
      if (other < files.cpu->find(entry, pod_at)) continue;  // belongs to a later pod
      RC_ASSERT(after.assignments.find({pod, name}) != nullptr);
      RC_ASSERT(*after.assignments.find({pod, name}) == cpus);
    }
  }
}

}  // namespace
}  // namespace pinfold::checkpoint
