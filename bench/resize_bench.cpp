// Decides a resize on a node of 256 CPUs with other pods. Results: docs/performance.md.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <variant>

#include "pinfold/decide/resize.hpp"

namespace pinfold {
namespace {

/// 256 CPUs, two threads per core, 8 cores per cache.
Machine machine_with(int numa_nodes) {
  MachineDescription machine;
  for (int id = 0; id < 256; ++id) {
    machine.cpus.push_back({CpuId{id}, CoreId{id / 2 * 2}, SocketId{id / 128},
                            NumaId{id * numa_nodes / 256}, CacheId{id / 16}});
  }
  for (int id = 0; id < numa_nodes; ++id) {
    machine.numa_nodes.push_back({NumaId{id}, std::uint64_t{1024} << 30U, {}, {}});
  }
  return Machine::make(machine).value();
}

struct Setting {
  int numa_nodes = 2;
  const char* policy = "none";
  const char* option = "";  ///< of the CPU manager; "": none
};

Node node_of(const Setting& setting) {
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0-1";
  config.topology_manager_policy = setting.policy;
  if (*setting.option != '\0') config.cpu_manager_policy_options[setting.option] = "true";
  config.feature_gates["CPUManagerPolicyAlphaOptions"] = true;
  return Node::make(machine_with(setting.numa_nodes), config).value();
}

PodSpec a_guaranteed_pod(const std::string& name, std::int64_t cpus) {
  PodSpec pod{PodUid(name), name, "default", {}, {}};
  Container container{"main", ContainerKind::kApp, {}};
  container.resources.limits = {{"cpu", Quantity::milli(cpus * 1000)},
                                {"memory", Quantity::parse("1Gi").value()}};
  pod.containers.push_back(std::move(container));
  apply_defaults(pod);
  return pod;
}

ResizeRequest to(std::int64_t cpus) {
  return {{PodUid("resized"), "main"}, Quantity::milli(cpus * 1000)};
}

/// A pod with 4 CPUs that has room for 12 more near them, and 60 pods with 2 CPUs each.
NodeState crowded(const Node& node) {
  NodeState state = empty_state(node);
  const auto admit = [&](const PodSpec& pod) {
    Decision decision = decide(node, std::move(state), pod);
    state = std::move(std::get<Admitted>(decision).next);
  };
  admit(a_guaranteed_pod("resized", 4));
  admit(a_guaranteed_pod("room", 12));
  for (int i = 0; i < 60; ++i) admit(a_guaranteed_pod("pod-" + std::to_string(i), 2));
  return remove_pod(node, std::move(state), PodUid("room"));
}

void decide_one(benchmark::State& state, const Node& node, const NodeState& before,
                const ResizeRequest& request) {
  for (auto _ : state) {
    auto decision = resize(node, before, request, nullptr, AdmissionChecks::kManagersAndRequests);
    if (!std::holds_alternative<Resized>(*decision)) state.SkipWithError("not resized");
    benchmark::DoNotOptimize(decision);
  }
}

void grows(benchmark::State& state, Setting setting) {
  const Node node = node_of(setting);
  decide_one(state, node, crowded(node), to(16));
}

void shrinks(benchmark::State& state, Setting setting) {
  const Node node = node_of(setting);
  const NodeState grown = std::get<Resized>(*resize(node, crowded(node), to(16))).next;
  decide_one(state, node, grown, to(8));
}

#define PINFOLD_RESIZES(name, ...)                                                     \
  BENCHMARK_CAPTURE(grows, name, Setting{__VA_ARGS__})->Unit(benchmark::kMicrosecond); \
  BENCHMARK_CAPTURE(shrinks, name, Setting{__VA_ARGS__})->Unit(benchmark::kMicrosecond)
PINFOLD_RESIZES(two_nodes, 2, "none");
PINFOLD_RESIZES(two_nodes_restricted, 2, "restricted");
PINFOLD_RESIZES(eight_nodes_restricted, 8, "restricted");
PINFOLD_RESIZES(eight_nodes_single, 8, "single-numa-node");
PINFOLD_RESIZES(eight_nodes_across_numa, 8, "restricted", "distribute-cpus-across-numa");
PINFOLD_RESIZES(eight_nodes_by_cache, 8, "restricted", "prefer-align-cpus-by-uncorecache");

}  // namespace
}  // namespace pinfold
