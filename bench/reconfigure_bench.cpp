// The cost of a plan for a full node: 256 CPUs on 8 NUMA nodes, 100 pods with 2 exclusive CPUs each
// and their memory, by kind of change. The counters give the cost of the plan and whether the
// search was exhausted.

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "pinfold/reconfigure/reconfigure.hpp"

namespace pinfold {
namespace {

constexpr int kNumaNodes = 8;
constexpr int kCoresPerNode = 16;
constexpr int kPods = 100;

/// Two CPUs per core; the second ones are numbered after all the first ones.
Machine machine() {
  MachineDescription description;
  const int cores = kNumaNodes * kCoresPerNode;
  for (int id = 0; id < 2 * cores; ++id) {
    const int core = id % cores;
    const int numa = core / kCoresPerNode;
    description.cpus.push_back(
        {CpuId{id}, CoreId{core}, SocketId{numa / 4}, NumaId{numa}, CacheId{core / 8}});
  }
  for (int numa = 0; numa < kNumaNodes; ++numa) {
    NumaNode node;
    node.id = NumaId{numa};
    node.memory = std::uint64_t{64} << 30U;
    description.numa_nodes.push_back(node);
  }
  return Machine::make(std::move(description)).value();
}

Config config(const char* policy, const char* reserved) {
  Config made;
  made.cpu_manager_policy = "static";
  made.memory_manager_policy = "Static";
  made.topology_manager_policy = policy;
  made.reserved_system_cpus = reserved;
  made.eviction_hard.emplace();
  made.kube_reserved["memory"] = "1Gi";
  made.reserved_memory = {{0, {{"memory", "1Gi"}}}};
  return made;
}

Node node(const Config& config) { return std::move(*Node::make(machine(), config)); }

PodSpec pod(int number, const char* cpus) {
  Container container;
  container.name = "c";
  container.resources.limits["cpu"] = Quantity::parse(cpus).value();
  container.resources.limits["memory"] = Quantity::parse("2Gi").value();
  container.resources.requests = container.resources.limits;
  PodSpec made;
  made.uid = PodUid("pod-" + std::to_string(number));
  made.containers = {container};
  return made;
}

NodeState full(const Node& node, const char* cpus) {
  NodeState state = empty_state(node);
  for (int i = 0; i < kPods; ++i) {
    Decision decision = decide(node, state, pod(i, cpus));
    auto* const admitted = std::get_if<Admitted>(&decision);
    if (admitted == nullptr) std::abort();
    state = std::move(admitted->next);
  }
  return state;
}

void plan(benchmark::State& run, const Config& from, const Config& to) {
  const Node before = node(from);
  const Node after = node(to);
  const NodeState state = full(before, "2");
  PlanCost cost;
  bool optimal = false;
  for (auto _ : run) {
    const auto plan = plan_reconfiguration(before, state, after);
    cost = plan->cost;
    optimal = plan->optimal;
  }
  run.counters["evicted"] = static_cast<double>(cost.pods_evicted);
  run.counters["against"] = static_cast<double>(cost.pods_against_rules);
  run.counters["moved"] = static_cast<double>(cost.containers_moved);
  run.counters["cpus"] = static_cast<double>(cost.cpus_moved);
  run.counters["optimal"] = optimal ? 1 : 0;
}

void nothing(benchmark::State& run) { plan(run, config("none", "0"), config("none", "0")); }
BENCHMARK(nothing)->Unit(benchmark::kMillisecond);

void reserved_grows(benchmark::State& run) {
  plan(run, config("none", "0"), config("none", "0-7"));
}
BENCHMARK(reserved_grows)->Unit(benchmark::kMillisecond);

void single_numa_node(benchmark::State& run) {
  plan(run, config("none", "0"), config("single-numa-node", "0-1"));
}
BENCHMARK(single_numa_node)->Unit(benchmark::kMillisecond);

void none_to_static(benchmark::State& run) {
  Config none = config("none", "0");
  none.cpu_manager_policy = "none";
  none.memory_manager_policy = "None";
  plan(run, none, config("restricted", "0-1"));
}
BENCHMARK(none_to_static)->Unit(benchmark::kMillisecond);

/// Some pods can stay only against the rules, so the search uses all its steps.
void too_little_memory(benchmark::State& run) {
  Config to = config("single-numa-node", "0-1");
  to.kube_reserved["memory"] = "310Gi";
  to.reserved_memory.clear();
  for (int numa = 0; numa < 5; ++numa) to.reserved_memory.push_back({numa, {{"memory", "62Gi"}}});
  plan(run, config("none", "0"), to);
}
BENCHMARK(too_little_memory)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinfold

BENCHMARK_MAIN();
