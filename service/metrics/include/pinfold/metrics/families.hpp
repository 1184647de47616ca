#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "pinfold/service/snapshot.hpp"

/// Metrics for Prometheus: docs/metrics.md describes each. Families are in the order of their
/// names.
namespace pinfold::metrics {

/// What `pinfold metrics` prints: under the kubelet's names, and as the kubelet counts.
[[nodiscard]] std::vector<prometheus::MetricFamily> node_families(const Node& node,
                                                                  const NodeState& state,
                                                                  const agent::Metrics& counted);

/// What only a service knows, pinfold_*. `waiting`: Worker::waiting().
[[nodiscard]] std::vector<prometheus::MetricFamily> service_families(
    const Node& node, const service::Snapshot& snapshot, std::size_t waiting);

/// What the connection with a container runtime has counted, pinfold_nri_*.
[[nodiscard]] std::vector<prometheus::MetricFamily> runtime_families(
    const service::RuntimeCounters& counted);

/// The most that one container can still get on a single NUMA node.
struct LargestFree {
  std::size_t cpus = 0;      ///< exclusive CPUs; 0 without the static CPU manager
  std::uint64_t memory = 0;  ///< bytes; 0 without the static memory manager
};
/// Each of its own: the CPUs and the memory may be on different NUMA nodes. Memory of NUMA nodes
/// that a container has as a group with others does not count: no single-node pod can get it.
[[nodiscard]] LargestFree largest_free(const Node& node, const NodeState& state);

}  // namespace pinfold::metrics
