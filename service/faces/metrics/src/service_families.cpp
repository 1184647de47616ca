#include <algorithm>
#include <string>
#include <utility>

#include "family.hpp"
#include "pinfold/metrics/families.hpp"

namespace pinfold::metrics {
namespace {

using prometheus::MetricFamily;

MetricFamily durations_family(std::string name, std::string help,
                              const agent::Durations& durations) {
  return histogram_family(std::move(name), std::move(help), agent::Durations::kBounds,
                          durations.buckets, durations.sum);
}

/// Returns the number of containers with a note from the last reconciliation.
double limited_by_affinity(const worker::Snapshot& snapshot) {
  const bool is_known = snapshot.reconciled && *snapshot.reconciled;
  return is_known ? static_cast<double>((*snapshot.reconciled)->notes.size()) : 0;
}

/// Returns the number of differences left by the last reconciliation, or 1 if it failed.
double remaining(const worker::Snapshot& snapshot) {
  if (!snapshot.reconciled) return 0;
  return *snapshot.reconciled ? static_cast<double>((*snapshot.reconciled)->remaining.size()) : 1;
}

double narrowed(const worker::Snapshot& snapshot) {
  if (!snapshot.reconciled || !*snapshot.reconciled) return 0;
  return static_cast<double>((*snapshot.reconciled)->narrowed.size());
}

}  // namespace

LargestFree largest_free(const Node& node, const NodeState& state) {
  LargestFree largest;
  if (node.cpu().is_static()) {
    const CpuSet free = state.cpu.default_set - node.cpu().reserved();
    for (int i = 0; i < node.machine().numa_count(); ++i) {
      largest.cpus =
          std::max<std::size_t>(largest.cpus, (free & node.machine().cpus_of_numa(i)).size());
    }
  }
  if (!node.memory().is_static()) return largest;
  for (const auto& [id, memory] : state.memory.machine_state) {
    const auto table = memory.tables.find("memory");
    const bool is_in_group = memory.cells.size() > 1;
    if (table == memory.tables.end() || is_in_group) continue;
    largest.memory = std::max(largest.memory, table->second.free);
  }
  return largest;
}

std::vector<MetricFamily> service_families(const Node& node, const worker::Snapshot& snapshot,
                                           std::size_t waiting) {
  const auto& counted = snapshot.counters;
  const LargestFree free = largest_free(node, snapshot.state.node);
  std::vector<MetricFamily> families;
  families.push_back(durations_family(
      "pinfold_admission_transaction_seconds",
      "Duration of transactions with admissions: to decide, commit and apply to cgroups.",
      counted.admissions));
  families.push_back(counter_family("pinfold_admission_transactions_total",
                                    "Transactions with admissions.", counted.admit_rounds));
  families.push_back(gauge_family(
      "pinfold_affinity_limited_containers",
      "Containers whose CPU affinity excluded some of their CPUs at the last reconciliation.",
      limited_by_affinity(snapshot)));
  families.push_back(durations_family("pinfold_commit_seconds",
                                      "Duration of commits until the state is durable.",
                                      snapshot.timings.commits));
  families.push_back(counter_family("pinfold_drift_found_total",
                                    "Due reconciliations that found drift.", counted.drifts));
  families.push_back(gauge_family("pinfold_drift_remaining",
                                  "Differences that the last reconciliation left; 1 if it failed.",
                                  remaining(snapshot)));
  families.push_back(counter_family("pinfold_drift_repaired_total",
                                    "Due reconciliations that found drift and left none.",
                                    counted.repaired));
  families.push_back(durations_family("pinfold_enforcement_seconds",
                                      "Duration of applying commits to cgroups.",
                                      snapshot.timings.enforcements));
  families.push_back(gauge_family("pinfold_held_pods", "Pods known only from the kubelet's files.",
                                  static_cast<double>(snapshot.state.node.held.size())));
  if (node.cpu().is_static()) {
    families.push_back(gauge_family("pinfold_largest_free_numa_cpus",
                                    "Free exclusive CPUs of the NUMA node that has the most.",
                                    static_cast<double>(free.cpus)));
  }
  if (node.memory().is_static()) {
    families.push_back(gauge_family("pinfold_largest_free_numa_memory_bytes",
                                    "Free memory of the NUMA node that has the most.",
                                    static_cast<double>(free.memory)));
  }
  families.push_back(gauge_family(
      "pinfold_narrowed_containers",
      "Containers that lack CPUs because a parent group does not have them.", narrowed(snapshot)));
  families.push_back(gauge_family(
      "pinfold_not_settled",
      "1 if the kubelet's files are older than the journal, because they cannot be written.",
      snapshot.not_settled ? 1 : 0));
  families.push_back(counter_family(
      "pinfold_overlap_found_total",
      "Due reconciliations that found other processes on exclusive CPUs.", counted.overlaps));
  families.push_back(gauge_family("pinfold_pods", "Active pods.",
                                  static_cast<double>(snapshot.state.node.pods.size())));
  families.push_back(durations_family("pinfold_reconciliation_seconds",
                                      "Duration of the due reconciliations.", counted.reconciling));
  families.push_back(counter_family("pinfold_reconciliations_total", "Due reconciliations.",
                                    counted.reconciliations));
  families.push_back(counter_family("pinfold_requests_expired_total",
                                    "Requests whose deadline passed before they ran.",
                                    counted.expired));
  families.push_back(counter_family("pinfold_requests_refused_total",
                                    "Requests rejected because the queue was full.", counted.busy));
  families.push_back(
      counter_family("pinfold_requests_total", "Requests that were run.", counted.requests));
  families.push_back(gauge_family("pinfold_requests_waiting", "Requests that are waiting to run.",
                                  static_cast<double>(waiting)));
  return families;
}

std::vector<prometheus::MetricFamily> publish_families(const publish::PublishCounters& counted) {
  return {
      counter_family("pinfold_publish_failures_total",
                     "Requests that the API server did not answer, or could not serve at the time.",
                     counted.failures),
      gauge_family("pinfold_publish_foreign",
                   "1 if another exporter writes the NodeResourceTopology of this node.",
                   counted.is_foreign ? 1 : 0),
      gauge_family("pinfold_publish_pending", "Objects that are not yet written.",
                   static_cast<double>(counted.pending)),
      counter_family("pinfold_publish_placements_total", "Placements of pods that were written.",
                     counted.placements),
      counter_family("pinfold_publish_rejections_total",
                     "Objects that the API server has rejected.", counted.rejections),
      counter_family("pinfold_publish_topologies_total",
                     "NodeResourceTopology objects that were written.", counted.topologies)};
}

}  // namespace pinfold::metrics
