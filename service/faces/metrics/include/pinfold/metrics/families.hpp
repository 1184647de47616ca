#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "pinfold/agent/metrics.hpp"
#include "pinfold/forecast/memory_watch.hpp"
#include "pinfold/noise/sample.hpp"
#include "pinfold/publish/outbox.hpp"
#include "pinfold/worker/snapshot.hpp"

/// Metrics for Prometheus, each described in docs/metrics.md. Families are sorted by name.
namespace pinfold::metrics {

/// Returns the metrics that `pinfold metrics` prints, with the kubelet's names and counting rules.
[[nodiscard]] std::vector<prometheus::MetricFamily> node_families(const Node& node,
                                                                  const NodeState& state,
                                                                  const agent::Metrics& counted);

/// Returns the metrics of the service itself, pinfold_*. `waiting` is Worker::waiting().
[[nodiscard]] std::vector<prometheus::MetricFamily> service_families(
    const Node& node, const worker::Snapshot& snapshot, std::size_t waiting);

/// Returns the metrics of the connection with a container runtime, pinfold_nri_*.
[[nodiscard]] std::vector<prometheus::MetricFamily> runtime_families(
    const worker::RuntimeCounters& counted);

/// Returns the metrics of what the service publishes to the API server, pinfold_publish_*.
[[nodiscard]] std::vector<prometheus::MetricFamily> publish_families(
    const publish::PublishCounters& counted);

/// Returns the kernel's counters of what has interrupted these CPUs, pinfold_noise_*.
[[nodiscard]] std::vector<prometheus::MetricFamily> noise_families(
    const noise::NoiseSample& counters, const CpuSet& cpus);

/// Returns what was done to make CPUs quiet, also pinfold_noise_*.
[[nodiscard]] std::vector<prometheus::MetricFamily> quiet_families(
    const quiet::QuietReport& report);

/// Returns the memory of NUMA nodes and when it is used up, pinfold_memory_* and
/// pinfold_numa_memory_*.
[[nodiscard]] std::vector<prometheus::MetricFamily> memory_families(
    const forecast::MemoryOutlook& outlook);

/// The most that one container can still get on a single NUMA node.
struct LargestFree {
  std::size_t cpus = 0;      ///< exclusive CPUs; 0 without the static CPU manager
  std::uint64_t memory = 0;  ///< bytes; 0 without the static memory manager
};
/// Returns both values independently: CPUs and memory may be on different NUMA nodes. Excludes
/// memory of NUMA nodes that a container uses as a group with others: no single-node pod can get
/// it.
[[nodiscard]] LargestFree largest_free(const Node& node, const NodeState& state);

}  // namespace pinfold::metrics
