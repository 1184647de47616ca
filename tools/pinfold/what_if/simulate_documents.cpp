#include <limits>
#include <utility>

#include "documents.hpp"
#include "pinfold/decide/fields.hpp"

/// The documents of `pinfold simulate`.
namespace pinfold::tools {

using fields::Fields;

void describe(Fields& fields, SimulatedPod& pod) {
  fields.type("SimulatedPod", "A pod and its fate.");
  describe(fields, pod.pod);
  fields.computed("admitted", !pod.rejection, "");
  fields.member("rejection", pod.rejection, "Null: admitted.");
  fields.member("removed", pod.is_removed, "It has left again.");
  fields.member("containers", pod.containers, "When it was admitted.");
  fields.member("notes", pod.notes, "Known bugs of the kubelet that took effect.");
}

void describe(Fields& fields, SimulatedNuma& node) {
  fields.type("SimulatedNumaNode", "A NUMA node after the last event.");
  fields.member("id", fields::up_to(node.id, std::numeric_limits<std::int32_t>::max()), "");
  fields.member("cpuCount", node.cpus, "");
  fields.member("exclusiveCpuCount", node.exclusive, "");
  fields.member("freeCpuCount", node.free, "");
}

void describe(Fields& fields, SimulatedRun& run) {
  fields.type("SimulatedRun", "The pods under one configuration.");
  fields.member("label", run.label, "The file of the configuration, or \"now\".");
  fields.member("eventCount", run.events, "Arrivals and departures.");
  std::size_t rejected = 0;
  for (const auto& [reason, count] : run.rejections) rejected += count;
  fields.computed("admittedCount", run.pods.size() - rejected, "Pods.");
  fields.computed("rejectedCount", rejected, "Pods.");
  fields.member("removedCount", run.removed, "Pods.");
  fields.member("rejectionCounts", run.rejections, "Pods by reason.");
  fields.member("allocatableCpuCount", run.allocatable_cpus, "");
  fields.member("exclusiveCpuCount", run.exclusive_cpus, "After the last event.");
  fields.member("meanExclusiveCpuCount", run.mean_exclusive_cpus, "Over all events.");
  fields.member("peakExclusiveCpuCount", run.peak_exclusive_cpus, "");
  fields.member("freeCpuCount", run.free_cpus, "After the last event, like all below.");
  fields.member("freeWholeCoreCount", run.free_whole_cores, "");
  fields.member("freeSplitCoreCpuCount", run.free_split_core_cpus,
                "Free CPUs of cores that are not free as a whole.");
  fields.member("mostFreeOnOneNumaCpuCount", run.most_free_on_one_numa, "");
  fields.member("numaNodes", run.numa_nodes, "");
  fields.member("pods", run.pods, "In the order of their arrival.");
}

void describe(Fields& fields, ChangedPod& pod) {
  fields.type("ChangedPod", "A pod that two configurations treat differently.");
  describe(fields, pod.pod);
  fields.member("change", pod.change, "By the second configuration.");
}

void describe(Fields& fields, RunComparison& comparison) {
  using simulate::PodChange;
  fields.type("SimulationComparison", "How the second configuration treats the pods.");
  const auto count = [&](const char* name, PodChange change, const char* doc) {
    const auto known = comparison.counts.find(change);
    std::size_t number = known == comparison.counts.end() ? 0 : known->second;
    fields.member(name, number, doc);
    if (fields.reads()) comparison.counts[change] = number;
  };
  count("sameCount", PodChange::kSame, "Pods with the same placement, or rejected by both.");
  count("movesCount", PodChange::kMoves, "Pods with other CPUs or NUMA nodes.");
  count("rejectedCount", PodChange::kRejected, "Pods that only the second one rejects.");
  count("admittedCount", PodChange::kAdmitted, "Pods that only the first one rejects.");
  fields.member("pods", comparison.pods, "Those that are not the same.");
}

void describe(Fields& fields, SimulateDocument& document) {
  fields.type("Simulation", "Pods on a hypothetical machine.");
  fields.member("machineName", document.machine_name, "");
  fields.member("complete", document.is_complete, "False: interrupted.");
  fields.member("runs", document.runs, "One for each configuration.");
  fields.member("compared", document.compared, "Null: there is only one run.");
}

void describe(Fields& fields, ScheduledRun& run) {
  fields.type("ScheduledRun", "A scheduler that asks by one rule before it binds.");
  fields.member("rule", run.rule, "\"sums\", \"published\" or \"extender\".");
  fields.member("placedCount", run.placed, "Pods that a kubelet has admitted.");
  fields.member("bouncedCount", run.bounced, "Pods that a kubelet has rejected.");
  fields.member(
      "bouncesOverTime", run.bounced_by_time,
      "In equal parts from the first arrival to the last; the last one has those of later "
      "attempts too.");
  fields.member("waitedCount", run.waited, "Times that no node passed.");
  fields.member("unplacedCount", run.unplaced, "Pods that were not admitted in the end.");
  fields.member("peakCount", run.peak, "Most pods at one time.");
  fields.member("filterP50Seconds", run.p50, "Time to filter the nodes of a pod.");
  fields.member("filterP99Seconds", run.p99, "");
  fields.member("fleetBytes", run.fleet_bytes, "Memory of the amounts of all nodes.");
}

void describe(Fields& fields, ClusterDocument& document) {
  fields.type("ClusterSimulation", "A scheduler in front of many nodes.");
  fields.member("nodeCount", document.nodes, "");
  fields.member("podCount", document.pods, "");
  fields.member("seed", document.seed, "");
  fields.member("exporterDelaySeconds", document.delay,
                "From a change on a node until its object shows it.");
  fields.member("runs", document.runs, "One for each rule.");
}

void describe(Fields& fields, BenchLine& line) {
  fields.type("BenchLine", "How long admissions took.");
  fields.member("name", line.name, "Of the history.");
  fields.member("admissionCount", line.admissions, "");
  fields.member("p50Seconds", line.p50, "Null: no admission.");
  fields.member("p99Seconds", line.p99, "Null: no admission.");
}

}  // namespace pinfold::tools
