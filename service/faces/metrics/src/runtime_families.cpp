#include "family.hpp"
#include "pinfold/metrics/families.hpp"

namespace pinfold::metrics {

std::vector<prometheus::MetricFamily> runtime_families(const worker::RuntimeCounters& counted) {
  std::vector<prometheus::MetricFamily> families;
  families.push_back(histogram_family(
      "pinfold_nri_answer_seconds", "Duration of the runtime's requests: from arrival to answer.",
      agent::Durations::kBounds, counted.answers.buckets, counted.answers.sum));
  families.push_back(gauge_family("pinfold_nri_connected",
                                  "1 if a runtime is connected and has synchronized.",
                                  counted.is_connected ? 1 : 0));
  families.push_back(counter_family("pinfold_nri_connections_total",
                                    "Connections with a runtime that has synchronized.",
                                    counted.connections));
  families.push_back(counter_family("pinfold_nri_creations_refused_total",
                                    "Containers that were not created.", counted.create_refusals));
  families.push_back(gauge_family(
      "pinfold_nri_differences",
      "Mode observe: containers whose CPUs differ from those they would have; 0 in mode enforce.",
      static_cast<double>(counted.differences)));
  families.push_back(
      gauge_family("pinfold_nri_healthy",
                   "0 if no runtime has been connected for longer than unhealthyAfterSeconds, or "
                   "if the kubelet's own CPU manager is static.",
                   counted.is_healthy ? 1 : 0));
  families.push_back(
      gauge_family("pinfold_nri_kubelet_static",
                   "1 if the kubelet's own CPU manager is static: its containers are rejected.",
                   counted.kubelet_is_static ? 1 : 0));
  families.push_back(counter_family("pinfold_nri_resizes_refused_total",
                                    "Resizes of containers with exclusive CPUs that were refused.",
                                    counted.resize_refusals));
  families.push_back(counter_family("pinfold_nri_reverted_total",
                                    "Cpusets that others changed and that were restored.",
                                    counted.reverted));
  families.push_back(
      gauge_family("pinfold_nri_runtime_overlap_cpus",
                   "Exclusive CPUs that the group of the runtime and its shims can use.",
                   static_cast<double>(counted.runtime_overlap)));
  families.push_back(counter_family("pinfold_nri_starts_refused_total",
                                    "Containers that did not start.", counted.start_refusals));
  families.push_back(
      counter_family("pinfold_nri_stopped_total",
                     "Unknown containers that were stopped, because they could not be confined.",
                     counted.stopped));
  families.push_back(counter_family("pinfold_nri_unpinned_containers_total",
                                    "Containers found that were unknown or did not have their "
                                    "cpuset.",
                                    counted.found_unpinned));
  prometheus::MetricFamily seconds = counter_family(
      "pinfold_nri_unpinned_seconds_total",
      "Upper bound of the time that running containers did not have their cpuset.", 0);
  seconds.metric.front().counter.value = counted.unpinned_seconds;
  families.push_back(std::move(seconds));
  return families;
}

}  // namespace pinfold::metrics
