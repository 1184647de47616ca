// One admission of a pod with many containers: the decision, and what the node agent makes of it.
// docs/performance.md has the results.
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

/// A Guaranteed pod whose containers share CPUs and have memory of their own.
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
BENCHMARK(decides)->Arg(1000)->Arg(4000)->Arg(20000)->Complexity()->Unit(benchmark::kMillisecond);

/// The groups that the state asks for, the file of active pods, and reading it back.
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
    ->Arg(1000)
    ->Arg(4000)
    ->Arg(20000)
    ->Complexity()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinfold
