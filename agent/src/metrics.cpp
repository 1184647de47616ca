#include "pinfold/agent/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pinfold::agent {
namespace {

using nlohmann::json;

constexpr int kMetricsVersion = 1;
constexpr std::array<double, Metrics::kBuckets - 1> kBounds = [] {
  std::array<double, Metrics::kBuckets - 1> bounds{};
  double bound = 0.05;
  for (double& entry : bounds) {
    entry = bound;
    bound *= 2;
  }
  return bounds;
}();

constexpr const char* kAligned = "kubelet_container_aligned_compute_resources_count";
constexpr const char* kMisaligned = "kubelet_container_aligned_compute_resources_failure_count";
constexpr const char* kAllocations = "resource_manager_allocations_total";
constexpr const char* kErrors = "resource_manager_allocation_errors_total";
constexpr const char* kAssignments = "resource_manager_container_assignments";
constexpr const char* kAlignedHelp =
    "Cumulative number of aligned compute resources allocated to containers by alignment type.";
constexpr const char* kMisalignedHelp =
    "Cumulative number of failures to allocate aligned compute resources to containers by "
    "alignment type.";
constexpr const char* kAllocationsHelp =
    "Number of exclusive resource allocations performed by a resource manager.";
constexpr const char* kErrorsHelp =
    "Number of errors encountered during exclusive resource allocation.";
constexpr const char* kAssignmentsHelp =
    "Number of containers with a specific type of resource assignment.";

CounterName with_sample(CounterName name) {
  name.sample = name.family;
  for (const auto& [label, value] : name.labels) {
    name.sample += label == name.labels.front().first ? '{' : ',';
    name.sample.append(label).append("=\"").append(value) += '"';
  }
  if (!name.labels.empty()) name.sample += '}';
  return name;
}
CounterName plain(Counter counter, std::string_view family, std::string_view help) {
  return with_sample({counter, family, {}, help, true});
}
CounterName alignment(Counter counter, bool good, std::string_view boundary,
                      std::string_view scope) {
  return with_sample({counter,
                      good ? kAligned : kMisaligned,
                      {{"boundary", boundary}, {"scope", scope}},
                      good ? kAlignedHelp : kMisalignedHelp,
                      true});
}
CounterName allocation(Counter counter, bool good, std::string_view resource,
                       std::string_view source) {
  return with_sample({counter,
                      good ? kAllocations : kErrors,
                      {{"resource_name", resource}, {"source", source}},
                      good ? kAllocationsHelp : kErrorsHelp,
                      false});
}
CounterName assignment(Counter counter, std::string_view resource, std::string_view type) {
  return with_sample({counter,
                      kAssignments,
                      {{"assignment_type", type}, {"resource_name", resource}},
                      kAssignmentsHelp,
                      false});
}

bool read_count(const json& value, std::uint64_t& out) {
  if (!value.is_number_unsigned()) return false;
  out = value.get<std::uint64_t>();
  return true;
}

}  // namespace

std::span<const double> admission_duration_bounds() { return kBounds; }

void Metrics::observe(std::chrono::nanoseconds duration) {
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(whole, 0));
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), static_cast<double>(ms));
  ++durations[static_cast<std::size_t>(bound - kBounds.begin())];
  duration_sum_ms += ms;
}

const std::vector<CounterName>& counter_names() {
  static const std::vector<CounterName> kNames = {
      alignment(Counter::kAlignedNumaContainer, true, "numa_node", "container"),
      alignment(Counter::kAlignedNumaPod, true, "numa_node", "pod"),
      alignment(Counter::kAlignedPhysicalCpu, true, "physical_cpu", "container"),
      alignment(Counter::kAlignedUncoreCache, true, "uncore_cache", "container"),
      alignment(Counter::kMisalignedNumaContainer, false, "numa_node", "container"),
      alignment(Counter::kMisalignedNumaPod, false, "numa_node", "pod"),
      alignment(Counter::kMisalignedPhysicalCpu, false, "physical_cpu", "container"),
      plain(Counter::kCpuPinningErrors, "kubelet_cpu_manager_pinning_errors_total",
            "The number of cpu core allocations which required pinning failed."),
      plain(Counter::kCpuPinningRequests, "kubelet_cpu_manager_pinning_requests_total",
            "The number of cpu core allocations which required pinning."),
      plain(Counter::kMemoryPinningErrors, "kubelet_memory_manager_pinning_errors_total",
            "The number of memory pages allocations which required pinning that failed."),
      plain(Counter::kMemoryPinningRequests, "kubelet_memory_manager_pinning_requests_total",
            "The number of memory pages allocations which required pinning."),
      plain(Counter::kTopologyErrors, "kubelet_topology_manager_admission_errors_total",
            "The number of admission request failures where resources could not be aligned."),
      plain(Counter::kTopologyRequests, "kubelet_topology_manager_admission_requests_total",
            "The number of admission requests where resources have to be aligned."),
      allocation(Counter::kCpuErrorsNode, false, "cpu", "node"),
      allocation(Counter::kCpuErrorsPod, false, "cpu", "pod"),
      allocation(Counter::kMemoryErrorsNode, false, "memory", "node"),
      allocation(Counter::kMemoryErrorsPod, false, "memory", "pod"),
      allocation(Counter::kCpuFromNode, true, "cpu", "node"),
      allocation(Counter::kCpuFromPod, true, "cpu", "pod"),
      allocation(Counter::kMemoryFromNode, true, "memory", "node"),
      allocation(Counter::kMemoryFromPod, true, "memory", "pod"),
      assignment(Counter::kCpuNodeExclusive, "cpu", "node_exclusive"),
      assignment(Counter::kMemoryNodeExclusive, "memory", "node_exclusive"),
      assignment(Counter::kCpuPodExclusive, "cpu", "pod_exclusive"),
      assignment(Counter::kMemoryPodExclusive, "memory", "pod_exclusive"),
      assignment(Counter::kCpuPodShared, "cpu", "pod_shared"),
      assignment(Counter::kMemoryPodShared, "memory", "pod_shared"),
  };
  return kNames;
}

CpuGauges cpu_gauges(const Node& node, const NodeState& state) {
  CpuGauges gauges;
  if (!node.cpu().is_static()) return gauges;
  gauges.shared_pool_millicores = (state.cpu.default_set - node.cpu().reserved()).size() * 1000;
  CpuSet assigned;
  CpuSet by_container;
  for (const auto& [pod, name, cpus] : state.cpu.assignments) {
    assigned |= cpus;
    if (!state.cpu.pods.contains(pod)) by_container |= cpus;
  }
  gauges.exclusive_cpus = assigned.size();
  // QUIRK: the kubelet has no sample for the others until it assigns their CPUs.
  if (!node.quirks().unused_numa_nodes_have_no_sample) {
    for (const Cpu& cpu : node.machine().cpus()) gauges.cpus_by_node.try_emplace(cpu.numa.value);
  }
  for (const CpuId id : by_container) {
    if (const Cpu* const cpu = node.machine().find(id)) ++gauges.cpus_by_node[cpu->numa.value];
  }
  return gauges;
}

std::string encode_metrics(const Metrics& metrics) {
  json counts = json::object();
  for (const CounterName& name : counter_names()) {
    if (metrics.counts[name.counter] != 0) {
      counts[name.sample] = metrics.counts[name.counter];
    }
  }
  return json{{"version", kMetricsVersion},
              {"counts", std::move(counts)},
              {"durations", metrics.durations},
              {"duration_sum_ms", metrics.duration_sum_ms}}
      .dump();
}

Result<Metrics> decode_metrics(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  const auto bad = [](const char* what) {
    return fail(ErrorCode::kCorrupt, fmt::format("metrics: expected {}", what));
  };
  const auto member = [&](const char* name) -> const json& {
    static const json kNone;
    const auto found = document.find(name);
    return found == document.end() ? kNone : *found;
  };
  if (!document.is_object() || member("version") != kMetricsVersion) {
    return bad("an object with \"version\": 1");
  }
  Metrics metrics;
  const json& counts = member("counts");
  if (!counts.is_object()) return bad("\"counts\": an object");
  for (const CounterName& name : counter_names()) {
    const auto found = counts.find(name.sample);
    if (found != counts.end() && !read_count(*found, metrics.counts[name.counter])) {
      return bad("counts that are not negative");
    }
  }
  const json& durations = member("durations");
  if (!durations.is_array() || durations.size() != Metrics::kBuckets) {
    return bad("\"durations\": a count for each of 16 buckets");
  }
  for (std::size_t i = 0; i < Metrics::kBuckets; ++i) {
    if (!read_count(durations[i], metrics.durations[i])) return bad("durations: counts");
  }
  if (!read_count(member("duration_sum_ms"), metrics.duration_sum_ms)) {
    return bad("\"duration_sum_ms\": milliseconds");
  }
  return metrics;
}

}  // namespace pinfold::agent
