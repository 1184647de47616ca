// Explains a rejection on a large and crowded node. Results: docs/performance.md.
#include <benchmark/benchmark.h>

#include <string>

#include "pinfold/explain/explanation.hpp"

namespace pinfold {
namespace {

/// 256 CPUs in 8 NUMA nodes, two threads per core.
Node a_crowded_node(const char* policy) {
  MachineDescription machine;
  for (int id = 0; id < 256; ++id) {
    machine.cpus.push_back(
        {CpuId{id}, CoreId{id / 2 * 2}, SocketId{id / 128}, NumaId{id / 32}, CacheId{id / 16}});
  }
  for (int id = 0; id < 8; ++id) {
    machine.numa_nodes.push_back({NumaId{id}, std::uint64_t{128} << 30U, {}, {}});
  }
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0-1";
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{0, {{"memory", "100Mi"}}}};
  config.topology_manager_policy = policy;
  return Node::make(Machine::make(machine).value(), config).value();
}

PodSpec a_guaranteed_pod(const std::string& name, std::int64_t cpus, const char* memory) {
  PodSpec pod{PodUid(name), name, "default", {}, {}};
  Container container{"main", ContainerKind::kApp, {}};
  container.resources.limits = {{"cpu", Quantity::milli(cpus * 1000)},
                                {"memory", Quantity::parse(memory).value()}};
  pod.containers.push_back(std::move(container));
  apply_defaults(pod);
  return pod;
}

/// 100 pods have 2 or 3 CPUs each, and one more pod requests `cpus`.
void explains_a_rejection(benchmark::State& state, const char* policy, std::int64_t cpus,
                          const char* memory) {
  const Node node = a_crowded_node(policy);
  NodeState crowded = empty_state(node);
  for (int i = 0; i < 100; ++i) {
    Decision decision = decide(node, std::move(crowded),
                               a_guaranteed_pod("pod-" + std::to_string(i), 2 + i % 2, "8Gi"));
    crowded = std::visit([](auto& decided) { return std::move(decided.next); }, decision);
  }
  const PodSpec pod = a_guaranteed_pod("wanted", cpus, memory);
  for (auto _ : state) {
    const Explanation explained = explain(node, crowded, pod);
    if (!explained.rejection) state.SkipWithError("admitted");
    state.SetLabel(explained.remedies.empty() ? "none" : explained.remedies.back().text);
  }
}
#define PINFOLD_EXPLAINS(name, ...) \
  BENCHMARK_CAPTURE(explains_a_rejection, name, __VA_ARGS__)->Unit(benchmark::kMillisecond)
PINFOLD_EXPLAINS(two_pods_in_the_way, "single-numa-node", 8, "8Gi");
PINFOLD_EXPLAINS(four_pods_in_the_way, "single-numa-node", 14, "8Gi");
PINFOLD_EXPLAINS(many_pods_in_the_way, "single-numa-node", 30, "8Gi");
PINFOLD_EXPLAINS(restricted, "restricted", 30, "100Gi");
PINFOLD_EXPLAINS(half_of_the_node, "best-effort", 128, "500Gi");
PINFOLD_EXPLAINS(more_than_the_node, "restricted", 300, "8Gi");

}  // namespace
}  // namespace pinfold
