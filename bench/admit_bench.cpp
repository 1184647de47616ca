// One admission of a pod with many containers: the decision, and the node agent's work on it.
// Results: docs/performance.md.
#include <benchmark/benchmark.h>

#include <string>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/decide/decide.hpp"

namespace pinfold {
namespace {

Node a_node() {
  MachineDescription machine;
  for (int id = 0; id < 16; ++id) {
    machine.cpus.push_back(
        {CpuId{id}, CoreId{id}, SocketId{id / 8}, NumaId{id / 8}, CacheId{id / 8}});
  }
  for (int id = 0; id < 2; ++id) {
    machine.numa_nodes.push_back({NumaId{id}, std::uint64_t{1} << 40U, {}, {}});
  }
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{0, {{"memory", "100Mi"}}}};
  config.topology_manager_policy = "best-effort";
  return Node::make(Machine::make(machine).value(), config).value();
}

/// Returns a Guaranteed pod whose containers have shared CPUs and exclusive memory.
PodSpec a_pod(std::int64_t containers) {
  PodSpec pod{PodUid("pod"), "pod", "default", {}, {}};
  for (std::int64_t i = 0; i < containers; ++i) {
    Container container{"c" + std::to_string(i), ContainerKind::kApp, {}};
    container.resources.limits = {{"cpu", Quantity::parse("100m").value()},
                                  {"memory", Quantity::parse("1Mi").value()}};
    pod.containers.push_back(std::move(container));
  }
  apply_defaults(pod);
  return pod;
}

void decides(benchmark::State& state) {
  const Node node = a_node();
  const PodSpec pod = a_pod(state.range(0));
  const NodeState empty = empty_state(node);
  for (auto _ : state) {
    Decision decision = decide(node, empty, pod);
    if (std::holds_alternative<Rejected>(decision)) state.SkipWithError("rejected");
    benchmark::DoNotOptimize(decision);
  }
  state.SetComplexityN(state.range(0));
}
// One request has at most 2,048 containers.
BENCHMARK(decides)->Arg(500)->Arg(1000)->Arg(2000)->Complexity()->Unit(benchmark::kMillisecond);

/// Returns a large machine: `numa` NUMA nodes with 8 CPUs and 64 GiB each.
Node a_wide_node(std::int64_t numa, const char* policy) {
  MachineDescription machine;
  for (int id = 0; id < 8 * numa; ++id) {
    machine.cpus.push_back(
        {CpuId{id}, CoreId{id / 2}, SocketId{id / 32}, NumaId{id / 8}, CacheId{id / 8}});
  }
  for (int id = 0; id < numa; ++id) {
    std::vector<std::uint32_t> distances;
    for (int to = 0; to < numa; ++to)
      distances.push_back(to == id ? 10 : to / 4 == id / 4 ? 16 : 32);
    machine.numa_nodes.push_back({NumaId{id},
                                  std::uint64_t{64} << 30U,
                                  {{"hugepages-1Gi", std::uint64_t{8} << 30U}},
                                  std::move(distances)});
  }
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{0, {{"memory", "100Mi"}}}};
  config.topology_manager_policy = policy;
  config.topology_manager_policy_options = {{"max-allowable-numa-nodes", "16"},
                                            {"prefer-closest-numa-nodes", "true"}};
  return Node::make(Machine::make(machine).value(), config).value();
}

/// Decides about CPUs and memory together.
#define PINFOLD_NODES Arg(8)->Arg(12)->Arg(16)->Unit(benchmark::kMicrosecond)
void decides_on_nodes(benchmark::State& state, const char* policy, const char* cpus,
                      const char* memory, const char* huge_pages = "0") {
  const Node node = a_wide_node(state.range(0), policy);
  PodSpec pod{PodUid("pod"), "pod", "default", {}, {}};
  Container container{"c", ContainerKind::kApp, {}};
  container.resources.limits = {{"cpu", Quantity::parse(cpus).value()},
                                {"memory", Quantity::parse(memory).value()}};
  if (const Quantity pages = Quantity::parse(huge_pages).value(); pages != Quantity()) {
    container.resources.limits["hugepages-1Gi"] = pages;
  }
  pod.containers.push_back(std::move(container));
  apply_defaults(pod);
  const NodeState empty = empty_state(node);
  for (auto _ : state) {
    Decision decision = decide(node, empty, pod);
    if (std::holds_alternative<Rejected>(decision)) state.SkipWithError("rejected");
    benchmark::DoNotOptimize(decision);
  }
}
BENCHMARK_CAPTURE(decides_on_nodes, small, "restricted", "2", "2Gi")->PINFOLD_NODES;
BENCHMARK_CAPTURE(decides_on_nodes, wide, "best-effort", "60", "60Gi")->PINFOLD_NODES;
BENCHMARK_CAPTURE(decides_on_nodes, more_memory_than_cpus, "best-effort", "2", "100Gi")
    ->PINFOLD_NODES;
BENCHMARK_CAPTURE(decides_on_nodes, more_cpus_than_memory, "best-effort", "30", "1Gi")
    ->PINFOLD_NODES;
BENCHMARK_CAPTURE(decides_on_nodes, huge_pages, "best-effort", "2", "100Gi", "3Gi")->PINFOLD_NODES;

/// Computes the desired groups, writes the file of active pods, and reads it back.
void lays_out_and_keeps(benchmark::State& state) {
  const Node node = a_node();
  agent::AgentState admitted;
  admitted.node = std::get<Admitted>(decide(node, empty_state(node), a_pod(state.range(0)))).next;
  for (auto _ : state) {
    benchmark::DoNotOptimize(agent::desired_layout(node, admitted, {}));
    agent::AgentState read;
    if (!agent::decode_pods(agent::encode_pods(admitted), read)) state.SkipWithError("not read");
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(lays_out_and_keeps)
    ->Arg(500)
    ->Arg(1000)
    ->Arg(2000)
    ->Complexity()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinfold
