#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node_fixture.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"

/// Short ways to write changes of a node, and the properties of every plan.
namespace pinfold::test {

/// Returns a machine with two NUMA nodes, each a socket with `cores` cores of two CPUs and 16 GiB:
/// the first CPUs of the cores are 0 to n-1, the second ones n to 2n-1.
inline Machine smt_machine(int cores = 4, int gib = 16) {
  MachineDescription description;
  for (int id = 0; id < 4 * cores; ++id) {
    const int core = id % (2 * cores);
    const int numa = core / cores;
    description.cpus.push_back(
        {CpuId{id}, CoreId{core}, SocketId{numa}, NumaId{numa}, CacheId{numa}});
  }
  for (int numa = 0; numa < 2; ++numa) {
    NumaNode node;
    node.id = NumaId{numa};
    node.memory = static_cast<std::uint64_t>(gib) << 30U;
    description.numa_nodes.push_back(node);
  }
  return Machine::make(std::move(description)).value();
}

inline Node node_of(const Machine& machine, const Config& config) {
  return std::move(*Node::make(machine, config));
}

inline Node copy_of(const Node& node) { return node_of(node.machine(), node.config()); }

/// Returns the state after the pods were admitted and started. Domain: pods that the node admits.
inline NodeState state_with(const Node& node, const std::vector<PodSpec>& pods) {
  NodeState state = empty_state(node);
  for (const PodSpec& pod : pods) {
    Decision decision = decide(node, std::move(state), pod);
    if (const auto* const rejected = std::get_if<Rejected>(&decision)) {
      ADD_FAILURE() << pod.uid << ": " << rejected->why.message;
    }
    state = std::holds_alternative<Admitted>(decision)
                ? std::move(std::get<Admitted>(decision).next)
                : std::move(std::get<Rejected>(decision).next);
    for (const Container& container : pod.containers) {
      (void)start_in_place(node, state, {pod.uid, container.name});
    }
  }
  return state;
}

/// Returns "" if a kubelet of `node` starts from the state files of `state` and then has that
/// state.
inline std::string start_error(const Node& node, const NodeState& state) {
  const checkpoint::Kubelet kubelet = checkpoint::kubelet_of(node);
  checkpoint::KubeletFiles files{
      checkpoint::write_cpu(state.cpu, node.config().cpu_manager_policy, kubelet),
      checkpoint::write_memory(state.memory, node.config().memory_manager_policy, kubelet)};
  const auto started = checkpoint::start(node, files, {});
  if (!started) return started.error().error;
  if (started->cpu.checkpoint() != state.cpu.checkpoint()) return "other CPUs than planned";
  if (started->memory.checkpoint() != state.memory.checkpoint()) return "other memory than planned";
  return "";
}

/// Returns "" if no CPU is exclusive to two pods, or to two containers of a pod that run at the
/// same time, and no exclusive CPU is reserved or in the shared pool.
inline std::string overlap(const Node& node, const NodeState& state) {
  CpuSet all;
  for (const auto& [uid, containers] : state.cpu.assignments.by_pod()) {
    CpuSet of_pod;
    CpuSet running;
    const ActivePod* const pod = state.find(uid);
    const bool is_whole = state.cpu.pods.contains(uid);
    for (const auto& [name, cpus] : containers) {
      of_pod |= cpus;
      const Container* const spec = pod == nullptr ? nullptr : pod->spec.find(name);
      if (is_whole || spec == nullptr || spec->kind == ContainerKind::kInit) continue;
      if (running.intersects(cpus)) return name + " of pod " + uid.value + " shares its CPUs";
      running |= cpus;
    }
    if (all.intersects(of_pod)) return "pod " + uid.value + " shares its CPUs";
    all |= of_pod;
  }
  if (all.intersects(node.cpu().reserved())) return "reserved CPUs are exclusive";
  if (all.intersects(state.cpu.default_set)) return "exclusive CPUs are shared";
  return "";
}

/// Returns the planned change of a container; fails the test for an unknown one.
inline PlannedContainer planned(const ReconfigurationPlan& plan, const std::string& pod,
                                const std::string& name = "c") {
  for (const PlannedContainer& container : plan.containers) {
    if (container.id == ContainerId{PodUid(pod), name}) return container;
  }
  ADD_FAILURE() << "no container " << pod << "/" << name;
  return {};
}

inline std::string describe(const ReconfigurationPlan& plan) {
  std::string text;
  for (const PlannedContainer& container : plan.containers) {
    text += to_string(container.id) + " " + std::string(to_string(container.change));
    const auto add = [&](const std::optional<CpuSet>& cpus) {
      text += " " + (cpus ? cpus->to_string() : "shared");
    };
    add(container.cpus_before);
    text += " ->";
    add(container.cpus_after);
    for (const auto* const blocks : {&container.memory_before, &container.memory_after}) {
      text += blocks == &container.memory_before ? "; memory" : " ->";
      for (const MemoryBlock& block : *blocks) {
        for (const auto id : block.numa_affinity) text += " " + std::to_string(id);
      }
    }
    text += ": " + container.why;
    if (container.rejection) text += " (" + container.rejection->message + ")";
    text += "\n";
  }
  return text + "evicted " + std::to_string(plan.cost.pods_evicted) + ", against " +
         std::to_string(plan.cost.pods_against_rules) + ", moved " +
         std::to_string(plan.cost.containers_moved) + ", CPUs " +
         std::to_string(plan.cost.cpus_moved) + ", bytes " + std::to_string(plan.cost.bytes_moved) +
         "\n";
}

/// Returns the state with a pod with pod-level CPUs: container "one" has the CPUs `first`, and
/// "two" the rest.
inline NodeState divided(const Node& node, const CpuSet& first) {
  PodSpec spec = pod_of("a", {container("one", {{"cpu", "1"}, {"memory", "1Gi"}}),
                              container("two", {{"cpu", "1"}, {"memory", "1Gi"}})});
  spec.resources = container("", {{"cpu", "2"}, {"memory", "2Gi"}}).resources;
  NodeState state = state_with(node, {spec});
  state.cpu.assignments.erase(ContainerId{PodUid("a"), "one"});
  if (!first.empty()) state.cpu.assignments[{PodUid("a"), "one"}] = first;
  return state;
}

}  // namespace pinfold::test
