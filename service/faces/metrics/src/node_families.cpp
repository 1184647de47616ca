#include <algorithm>
#include <string>
#include <utility>

#include "family.hpp"
#include "pinfold/metrics/families.hpp"

namespace pinfold::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// The kubelet registers these only with the feature gate PodLevelResourceManagers.
bool is_gated(std::string_view family) { return family.starts_with("resource_manager_"); }

/// A counter with labels is printed at zero only if the manager that counts it is enabled.
bool is_in_use(const agent::CounterName& name, const Node& node) {
  if (name.labels.empty()) return true;
  const bool is_numa = name.labels.front().second == "numa_node";
  return is_numa ? node.topology().policy() != TopologyPolicy::kNone : node.cpu().is_static();
}

std::vector<MetricFamily> counters(const Node& node, const agent::Metrics& metrics) {
  std::vector<MetricFamily> families;
  for (const agent::CounterName& name : agent::counter_names()) {
    if (is_gated(name.family) && !node.gates().pod_level_resource_managers) continue;
    const std::uint64_t count = metrics.counts[name.counter];
    if (count == 0 && !(name.starts_at_zero && is_in_use(name, node))) continue;
    if (families.empty() || families.back().name != name.family) {
      families.push_back(
          family(std::string(name.family), std::string(name.help), MetricType::Counter));
    }
    ClientMetric metric;
    for (const auto& [label, value] : name.labels) {
      metric.label.push_back({std::string(label), std::string(value)});
    }
    metric.counter.value = static_cast<double>(count);
    families.back().metric.push_back(std::move(metric));
  }
  return families;
}

void add_gauges(const Node& node, const NodeState& state, std::vector<MetricFamily>& families) {
  const auto gauges = agent::cpu_gauges(node, state);
  MetricFamily by_node = family("kubelet_cpu_manager_allocation_per_numa",
                                "Number of CPUs allocated per NUMA node", MetricType::Gauge);
  for (const auto& [id, count] : gauges.cpus_by_node) {
    ClientMetric& metric = by_node.metric.emplace_back();
    metric.label.push_back({"numa_node", std::to_string(id)});
    metric.gauge.value = static_cast<double>(count);
  }
  if (!by_node.metric.empty()) families.push_back(std::move(by_node));
  families.push_back(gauge_family(
      "kubelet_cpu_manager_exclusive_cpu_allocation_count",
      "The total number of CPUs exclusively allocated to containers running on this node",
      static_cast<double>(gauges.exclusive_cpus)));
  families.push_back(
      gauge_family("kubelet_cpu_manager_shared_pool_size_millicores",
                   "The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.",
                   static_cast<double>(gauges.shared_pool_millicores)));
}

MetricFamily admission_duration(const agent::Metrics& metrics) {
  return histogram_family("kubelet_topology_manager_admission_duration_ms",
                          "Duration in milliseconds to serve a pod admission request.",
                          agent::admission_duration_bounds(), metrics.durations,
                          static_cast<double>(metrics.duration_sum_ms));
}

}  // namespace

std::vector<MetricFamily> node_families(const Node& node, const NodeState& state,
                                        const agent::Metrics& counted) {
  std::vector<MetricFamily> families = counters(node, counted);
  add_gauges(node, state, families);
  families.push_back(admission_duration(counted));
  std::sort(families.begin(), families.end(),
            [](const MetricFamily& a, const MetricFamily& b) { return a.name < b.name; });
  return families;
}

}  // namespace pinfold::metrics
