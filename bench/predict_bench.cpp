// The cost of a query about one pod in a fleet of nodes with 8 zones and 6 resources: filter and
// score of every node, by the number of nodes. The counter is the fleet's memory per zone.

#include <benchmark/benchmark.h>

#include "pinfold/predict/pod_query.hpp"

namespace pinfold {
namespace {

constexpr int kZones = 8;

Quantity amount(const char* text) { return Quantity::parse(text).value(); }

/// Returns node `number`. The amounts in use differ between nodes and zones.
NodeTopology node(int number, const char* policy, const char* scope) {
  NodeTopology topology;
  topology.name = "worker-" + std::to_string(number) + ".cluster.example.com";
  topology.attributes = {{"topologyManagerPolicy", policy}, {"topologyManagerScope", scope}};
  for (int i = 0; i < kZones; ++i) {
    Zone zone{"node-" + std::to_string(i), "Node", "", {}, {}, {}};
    const auto add = [&](const char* name, const Quantity& all, std::int64_t used, bool bytes) {
      const auto format = bytes ? Quantity::Format::kBinarySi : Quantity::Format::kDecimalSi;
      zone.resources.push_back({name, all, all, all - Quantity::of(used, format)});
    };
    const std::int64_t gi = std::int64_t{1} << 30U;
    const int busy = number * 7 + i * 5;
    add("cpu", amount("32"), busy % 29, false);
    add("memory", amount("256Gi"), busy % 200 * gi, true);
    add("hugepages-2Mi", amount("16Gi"), busy % 13 * gi, true);
    add("hugepages-1Gi", amount("16Gi"), busy % 11 * gi, true);
    add("example.com/gpu", amount("4"), busy % 4, false);
    add("example.com/nic", amount("8"), busy % 7, false);
    topology.zones.push_back(std::move(zone));
  }
  return topology;
}

/// Returns a container of a Guaranteed pod that requests as much of all six resources as `zones`
/// zones have.
Container container(const char* name, int zones) {
  Container made;
  made.name = name;
  const auto set = [&](const char* resource, std::int64_t of_one_zone, Quantity::Format format) {
    const std::int64_t all = of_one_zone * zones - (zones > 1 ? of_one_zone / 2 : 0);
    made.resources.limits[resource] = Quantity::of(all, format);
  };
  const std::int64_t gi = std::int64_t{1} << 30U;
  set("cpu", zones > 1 ? 32 : 8, Quantity::Format::kDecimalSi);
  set("memory", (zones > 1 ? 256 : 32) * gi, Quantity::Format::kBinarySi);
  set("hugepages-2Mi", (zones > 1 ? 16 : 4) * gi, Quantity::Format::kBinarySi);
  set("hugepages-1Gi", (zones > 1 ? 16 : 4) * gi, Quantity::Format::kBinarySi);
  set("example.com/gpu", zones > 1 ? 4 : 1, Quantity::Format::kDecimalSi);
  set("example.com/nic", zones > 1 ? 8 : 1, Quantity::Format::kDecimalSi);
  made.resources.requests = made.resources.limits;
  return made;
}

PodSpec pod(std::vector<Container> containers) {
  PodSpec made;
  made.uid = PodUid("pod");
  made.name = "pod";
  made.namespace_name = "default";
  made.containers = std::move(containers);
  return made;
}

void predict_all(benchmark::State& bench, const char* policy, const char* scope, const PodSpec& pod,
                 ScoringStrategy strategy) {
  Fleet fleet;
  for (int i = 0; i < bench.range(0); ++i) (void)fleet.add(node(i, policy, scope));
  std::vector<Prediction> predictions(fleet.size());
  std::size_t admitting = 0;
  for (auto _ : bench) {
    PodQuery query(fleet, pod);
    query.predict_all(strategy, predictions);
    benchmark::DoNotOptimize(predictions.data());
  }
  for (const Prediction& prediction : predictions) admitting += prediction.admits() ? 1 : 0;
  bench.counters["bytes_per_zone"] =
      static_cast<double>(fleet.memory()) / static_cast<double>(fleet.size() * kZones);
  bench.counters["admitting_percent"] =
      100 * static_cast<double>(admitting) / static_cast<double>(fleet.size());
}

void single_numa_node(benchmark::State& bench) {
  predict_all(bench, "single-numa-node", "pod", pod({container("main", 1)}),
              ScoringStrategy::kLeastNumaNodes);
}
void single_numa_node_balanced(benchmark::State& bench) {
  predict_all(bench, "single-numa-node", "pod", pod({container("main", 1)}),
              ScoringStrategy::kBalancedAllocation);
}
void single_numa_node_3_containers(benchmark::State& bench) {
  predict_all(bench, "single-numa-node", "container",
              pod({container("a", 1), container("b", 1), container("c", 1)}),
              ScoringStrategy::kLeastNumaNodes);
}
void restricted_1_zone(benchmark::State& bench) {
  predict_all(bench, "restricted", "pod", pod({container("main", 1)}),
              ScoringStrategy::kLeastNumaNodes);
}
void restricted_4_zones(benchmark::State& bench) {
  predict_all(bench, "restricted", "pod", pod({container("main", 4)}),
              ScoringStrategy::kLeastNumaNodes);
}
/// The largest number of masks: for each resource about 4 of 8 zones have enough, each time
/// different ones.
void restricted_4_zones_every_mask(benchmark::State& bench) {
  Container wants = container("main", 4);
  for (const char* const other : {"hugepages-2Mi", "hugepages-1Gi", "example.com/nic"}) {
    wants.resources.limits.erase(other);
  }
  wants.resources.limits["memory"] = Quantity::bytes(std::int64_t{800} << 30U);
  wants.resources.limits["cpu"] = Quantity::milli(97'000);
  wants.resources.limits["example.com/gpu"] = Quantity::milli(13'000);
  wants.resources.requests = wants.resources.limits;
  predict_all(bench, "restricted", "pod", pod({wants}), ScoringStrategy::kLeastNumaNodes);
}
void restricted_8_zones(benchmark::State& bench) {
  predict_all(bench, "restricted", "pod", pod({container("main", 8)}),
              ScoringStrategy::kLeastNumaNodes);
}

#define PINFOLD_SIZES Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond)
BENCHMARK(single_numa_node)->PINFOLD_SIZES;
BENCHMARK(single_numa_node_balanced)->PINFOLD_SIZES;
BENCHMARK(single_numa_node_3_containers)->PINFOLD_SIZES;
BENCHMARK(restricted_1_zone)->PINFOLD_SIZES;
BENCHMARK(restricted_4_zones)->PINFOLD_SIZES;
BENCHMARK(restricted_4_zones_every_mask)->PINFOLD_SIZES;
BENCHMARK(restricted_8_zones)->PINFOLD_SIZES;

}  // namespace
}  // namespace pinfold

BENCHMARK_MAIN();
