// The merge alone, on the lists that the kubelet's providers would give. The figures are in
// docs/performance.md.
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

/// Six resources; of each the masks that `feasible` takes, preferred those of its width.
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
    merged = topology.merge(offers, {}, nullptr);
    benchmark::DoNotOptimize(merged);
  }
  state.SetLabel((merged.best.numa ? merged.best.numa->to_string() : "any") +
                 (merged.best.preferred ? " preferred" : " not preferred"));
}

bool everywhere(int /*resource*/, NumaMask /*mask*/) { return true; }

/// Every mask is possible and the resources agree on the width.
void agreeing(benchmark::State& state) {
  run(state, "restricted",
      providers(static_cast<int>(state.range(0)), everywhere, [](int) { return 2; }));
}
BENCHMARK(agreeing)->Arg(8)->Arg(16)->Arg(64);

/// Every mask is possible but the resources want different widths: no preferred answer.
void disagreeing(benchmark::State& state) {
  run(state, "best-effort",
      providers(static_cast<int>(state.range(0)), everywhere, [](int i) { return 1 + i % 3; }));
}
BENCHMARK(disagreeing)->Arg(8)->Arg(16)->Arg(64);

/// Every resource needs three nodes and has its own idea of which.
void scattered(benchmark::State& state) {
  const auto feasible = [](int i, NumaMask mask) {
    return mask.count() >= 3 && (mask.bits() + static_cast<std::uint64_t>(i)) % 6 != 0;
  };
  run(state, "best-effort",
      providers(static_cast<int>(state.range(0)), feasible, [](int i) { return i == 0 ? 2 : 3; }));
}
BENCHMARK(scattered)->Arg(8)->Arg(16)->Arg(64);

/// As agreeing, of one node, under the policy that looks at nothing else.
void single_node(benchmark::State& state) {
  run(state, "single-numa-node",
      providers(static_cast<int>(state.range(0)), everywhere, [](int) { return 1; }));
}
BENCHMARK(single_node)->Arg(8)->Arg(16)->Arg(64);

}  // namespace
}  // namespace pinfold
