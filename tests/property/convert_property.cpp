// For any state of a node: an older kubelet starts from the converted files, and the CPUs and
// memory nodes of all containers stay the same.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "pinfold/checkpoint/convert.hpp"
#include "random_state.hpp"

namespace pinfold::checkpoint {
namespace {

using test::StateConfig;

/// NUMA nodes of every container's blocks.
std::map<std::string, std::vector<std::int32_t>> nodes_of(const MemoryCheckpoint& state) {
  std::map<std::string, std::vector<std::int32_t>> nodes;
  for (const auto& entry : state.assignments) {
    for (const MemoryBlock& block : entry.value) {
      auto& of_block = nodes[to_string(entry.id()) + " " + block.type];
      of_block.insert(of_block.end(), block.numa_affinity.begin(), block.numa_affinity.end());
    }
  }
  return nodes;
}

KubeletFiles files_of(const NodeState& state, const Formats& formats) {
  const KubeletFiles newest = {encode_cpu(state.cpu, "static", CpuFormat::kV4),
                               encode_memory(state.memory, "Static", MemoryFormat::kV3)};
  return convert(newest, formats, {}).value().files;
}

ContainerIds ids_of(const CpuCheckpoint& state) {
  ContainerIds ids;
  for (const auto& [pod, name, cpus] : state.assignments) {
    ids["id-" + pod.value + "-" + name] = {pod, name};
  }
  return ids;
}

StateConfig any_config() {
  StateConfig config;
  config.scope = *rc::gen::element<std::string>("pod", "container");
  config.strict = *rc::gen::arbitrary<bool>();
  return config;
}

/// Returns false for states that even the kubelet that wrote them rejects (docs/kubelet-compat.md).
bool starts_as_it_is(const Node& node, const NodeState& state) {
  return would_start_as({36, true}, node, files_of(state, {3, 2}), {}).has_value();
}

RC_GTEST_PROP(Convert, AnOlderKubeletStartsAndNoContainerLosesACpu, ()) {
  StateConfig config = any_config();
  const Node node = test::node_of(config);
  const NodeState state = test::any_state(node);
  RC_PRE(starts_as_it_is(node, state));
  RC_CLASSIFY(!state.cpu.pods.empty(), "with pod entries");
  config.pod_level = false;
  const Node older = test::node_of(config);
  const ContainerIds ids = ids_of(state.cpu);
  for (const int version : {1, 2}) {
    const auto done = convert(files_of(state, {3, 2}), {version, 1}, ids);
    RC_ASSERT(done.has_value());
    const auto starts = would_start_as({36, false}, older, done->files, ids);
    if (!starts) {
      RC_LOG() << starts.error().error << "\n"
               << *files_of(state, {3, 2}).memory << "\n"
               << *done->files.memory;
    }
    RC_ASSERT(starts.has_value());
    const auto cpu = restore_cpu(done->files.cpu, "static", false, ids);
    RC_ASSERT((*cpu)->assignments == state.cpu.assignments);
    RC_ASSERT((*cpu)->default_set.contains_all(state.cpu.default_set));
    const auto memory = restore_memory(done->files.memory, "Static", false);
    RC_ASSERT(nodes_of(**memory) == nodes_of(state.memory));
  }
}

RC_GTEST_PROP(Convert, EveryKubeletStartsFromFilesForIt, ()) {
  StateConfig config = any_config();
  const Node node = test::node_of(config);
  const NodeState state = test::any_state(node);
  RC_PRE(starts_as_it_is(node, state));
  for (const KubeletFormats& known : kubelets()) {
    const Kubelet& kubelet = known.kubelet;
    config.pod_level = kubelet.pod_level_gate;
    const Node other = test::node_of(config);
    const auto done = convert_for(kubelet, files_of(state, {4, 3}), {});
    RC_ASSERT(done.has_value());
    const auto starts = would_start_as(kubelet, other, done->files, {});
    if (!starts) RC_LOG() << to_string(kubelet) << ": " << starts.error().error;
    RC_ASSERT(starts.has_value());
    const auto cpu = restore_cpu(done->files.cpu, "static", kubelet, {});
    RC_ASSERT((*cpu)->assignments == state.cpu.assignments);
    RC_ASSERT((*cpu)->pods == (kubelet.pod_level_gate ? state.cpu.pods : decltype((*cpu)->pods)()));
    const auto memory = restore_memory(done->files.memory, "Static", kubelet);
    RC_ASSERT(nodes_of(**memory) == nodes_of(state.memory));
  }
}

RC_GTEST_PROP(Convert, NothingIsCountedTwiceAndNoSizeGrows, ()) {
  const Node node = test::node_of(any_config());
  const NodeState state = test::any_state(node);
  const MemoryCheckpoint older = without_pod_entries(state.memory).state;
  for (const auto& [pod, blocks] : state.memory.pods) {
    std::map<std::string, std::uint64_t> total;
    for (const MemoryBlock& block : blocks) total[block.type] += block.size;
    const auto* const containers = older.assignments.find(pod);
    if (containers == nullptr) continue;
    for (const auto& [name, own] : *containers) {
      const auto& before = *state.memory.assignments.find({pod, name});
      RC_ASSERT(own.size() == before.size());
      for (std::size_t i = 0; i < own.size(); ++i) {
        RC_ASSERT(own[i].size <= before[i].size);
        RC_ASSERT(own[i].size <= total[own[i].type]);
        total[own[i].type] -= own[i].size;
      }
    }
  }
}

RC_GTEST_PROP(Convert, UpAndDownAgainGivesTheSameBytes, ()) {
  StateConfig config = any_config();
  config.pod_level = false;
  const Node node = test::node_of(config);
  const NodeState state = test::any_state(node);
  const KubeletFiles oldest = files_of(state, {2, 1});
  const bool starts = would_start_as({36, false}, node, oldest, {}).has_value();
  for (const Formats& newer : {Formats{3, 2}, Formats{4, 3}}) {
    const auto up = convert(oldest, newer, {});
    RC_ASSERT(up.has_value());
    RC_ASSERT(up->lost.empty());
    const Node with_gate = test::node_of({.scope = config.scope, .strict = config.strict});
    const Kubelet kubelet{newer.cpu == 3 ? 36 : 37, true};
    RC_ASSERT(would_start_as(kubelet, with_gate, up->files, {}).has_value() == starts);
    RC_ASSERT(convert(up->files, {2, 1}, {})->files == oldest);
  }
}

}  // namespace
}  // namespace pinfold::checkpoint
