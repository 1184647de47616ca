// The merge alone, on lists like those of the kubelet's providers. Results: docs/performance.md.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "pinfold/align/topology_manager.hpp"

namespace pinfold {
namespace {

TopologyManager manager(const char* policy, int nodes) {
  Config config;
  config.topology_manager_policy = policy;
  config.topology_manager_policy_options["max-allowable-numa-nodes"] = "64";
  return TopologyManager::make({nodes, {}}, config).value();
}

/// Six resources, each with the masks that `feasible` accepts; those of its width are preferred.
template <class Feasible>
std::vector<ResourceHints> providers(int nodes, Feasible&& feasible, int (*preferred_width)(int)) {
  std::vector<ResourceHints> all(3);
  for (int i = 0; i < 6; ++i) {
    std::vector<TopologyHint> hints;
    for_each_hint_mask(nodes, [&](NumaMask mask) {
      if (feasible(i, mask)) hints.push_back({mask, mask.count() == preferred_width(i)});
    });
    all[static_cast<std::size_t>(i / 2)]["example.com/r" + std::to_string(i)] = std::move(hints);
  }
  return all;
}

void run(benchmark::State& state, const char* policy, const std::vector<ResourceHints>& offers) {
  const TopologyManager topology = manager(policy, static_cast<int>(state.range(0)));
  MergedHint merged;
  for (auto _ : state) {
    merged = topology.merge(offers, {});
    benchmark::DoNotOptimize(merged);
  }
  state.SetLabel((merged.best.numa ? merged.best.numa->to_string() : "any") +
                 (merged.best.preferred ? " preferred" : " not preferred"));
}

bool everywhere(int /*resource*/, NumaMask /*mask*/) { return true; }

/// Every mask is feasible and all resources prefer the same width.
void agreeing(benchmark::State& state) {
  run(state, "restricted",
      providers(static_cast<int>(state.range(0)), everywhere, [](int) { return 2; }));
}
BENCHMARK(agreeing)->Arg(8)->Arg(16)->Arg(64);

/// Every mask is feasible but the resources prefer different widths: no preferred result.
void disagreeing(benchmark::State& state) {
  run(state, "best-effort",
      providers(static_cast<int>(state.range(0)), everywhere, [](int i) { return 1 + i % 3; }));
}
BENCHMARK(disagreeing)->Arg(8)->Arg(16)->Arg(64);

/// Every resource needs at least three NUMA nodes, each resource on different sets of nodes.
void scattered(benchmark::State& state) {
  const auto feasible = [](int i, NumaMask mask) {
    return mask.count() >= 3 && (mask.bits() + static_cast<std::uint64_t>(i)) % 6 != 0;
  };
  run(state, "best-effort",
      providers(static_cast<int>(state.range(0)), feasible, [](int i) { return i == 0 ? 2 : 3; }));
}
BENCHMARK(scattered)->Arg(8)->Arg(16)->Arg(64);

/// As agreeing(), with width one and the policy single-numa-node.
void single_node(benchmark::State& state) {
  run(state, "single-numa-node",
      providers(static_cast<int>(state.range(0)), everywhere, [](int) { return 1; }));
}
BENCHMARK(single_node)->Arg(8)->Arg(16)->Arg(64);

}  // namespace
}  // namespace pinfold
