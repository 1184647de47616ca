#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "family.hpp"
#include "pinfold/metrics/families.hpp"

namespace pinfold::metrics {
namespace {

using prometheus::MetricFamily;

/// Returns the seconds until a NUMA node is out of memory, alone or with others; infinite if no
/// forecast names it.
double exhaustion_of(const forecast::MemoryOutlook& outlook, NumaId numa) {
  double least = std::numeric_limits<double>::infinity();
  for (const forecast::Forecast& one : outlook.forecasts) {
    if (one.numa_nodes.contains(CpuId{numa.value})) least = std::min(least, one.in.count());
  }
  return least;
}

void add_gauge(MetricFamily& family, NumaId numa, double value) {
  auto& metric = family.metric.emplace_back();
  metric.label.push_back({"numa_node", std::to_string(numa.value)});
  metric.gauge.value = value;
}

}  // namespace

std::vector<MetricFamily> memory_families(const forecast::MemoryOutlook& outlook) {
  auto alarms = counter_family("pinfold_memory_alarms_total",
                               "Forecasts that a NUMA node is out of memory, or a container at its "
                               "memory limit, in two minutes or less.",
                               outlook.alarms);
  auto available = family("pinfold_numa_memory_available_bytes",
                          "Memory of each NUMA node that processes can still get: free, page cache "
                          "and reclaimable slabs, less what the kernel keeps free.",
                          prometheus::MetricType::Gauge);
  auto exhaustion = family("pinfold_numa_memory_exhaustion_seconds",
                           "Time until each NUMA node is out of memory at the rate of the last 20 "
                           "seconds; +Inf: more than ten minutes.",
                           prometheus::MetricType::Gauge);
  for (const forecast::NumaMemory& numa : outlook.numa) {
    add_gauge(available, numa.numa, static_cast<double>(numa.available));
    add_gauge(exhaustion, numa.numa, exhaustion_of(outlook, numa.numa));
  }
  return {std::move(alarms), std::move(available), std::move(exhaustion)};
}

}  // namespace pinfold::metrics
