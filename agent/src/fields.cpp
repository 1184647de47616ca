#include "pinfold/agent/fields.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "pinfold/api/fields.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/enforce/fields.hpp"
#include "pinfold/fields/json.hpp"
#include "pinfold/reconfigure/fields.hpp"

namespace pinfold::agent {
namespace {

using fields::Fields;

constexpr const char* kNotEnforcedDoc =
    "Set if the change is stored but not yet applied to the kernel; reconciliations retry it.";

constexpr const char* kNotesDoc = "Known bugs of the kubelet that took effect.";

/// Describes the exclusive CPUs of a container; null: it has none.
void describe_exclusive(Fields& fields, const char* name, CpuSet& cpus, const char* doc) {
  std::optional<CpuSet> some;
  if (!cpus.empty()) some = cpus;
  fields.member(name, some, doc);
  if (fields.reads()) cpus = some.value_or(CpuSet());
}

/// The observed part of a container. Every member is null if the kernel was not read.
void describe_observed(Fields& fields, std::optional<ObservedContainer>& observed) {
  std::optional<CpuSet> cpus;
  std::optional<CpuSet> mems;
  std::optional<std::size_t> processes;
  std::optional<double> placement;
  std::optional<enforce::Affinity> affinity;
  std::optional<enforce::CpuQuota> quota;
  std::optional<enforce::CpuQuota> quota_above;
  if (observed) {
    cpus = observed->effective_cpus;
    mems = observed->effective_mems;
    processes = observed->processes;
    placement = observed->page_placement;
    if (observed->affinity.main.pid != 0) affinity = observed->affinity;
    quota = observed->quota;
    quota_above = observed->quota_above;
  }
  fields.member("cpusetCpusEffective", cpus, "Observed CPUs; null: not read.");
  fields.member("cpusetMemsEffective", mems, "Observed memory nodes; null: not read.");
  fields.member("processCount", processes, "Null: not read.");
  fields.member("pagePlacement", placement,
                "Share of its resident memory on the NUMA nodes that it may use, 0 to 1.");
  fields.member("affinity", affinity, "Null: it has no process, or none was read.");
  fields.member("cpuQuotaEffective", quota, "Observed quota of its group; null: unknown.");
  fields.member("parentCpuQuotaEffective", quota_above,
                "Observed quota of the parent group; null: unknown.");
  if (!fields.reads()) return;
  observed.reset();
  if (!cpus) return;
  observed.emplace();
  observed->effective_cpus = *std::move(cpus);
  observed->effective_mems = mems.value_or(CpuSet());
  observed->processes = processes.value_or(0);
  observed->page_placement = placement.value_or(1);
  observed->affinity = affinity.value_or(enforce::Affinity());
  observed->quota = quota;
  observed->quota_above = quota_above;
}

}  // namespace

std::span<const ProfileSource> enumerators(ProfileSource /*type*/) {
  static constexpr std::array kAll = {ProfileSource::kCommandLine, ProfileSource::kConfiguration,
                                      ProfileSource::kKubelet, ProfileSource::kStateFiles,
                                      ProfileSource::kDefault};
  return kAll;
}

void describe(Fields& fields, CgroupsStatus& cgroups) {
  fields.type("Cgroups", "The control groups of the node.");
  fields.member("mode", cgroups.mode, "\"v2\", \"v1\" or \"hybrid\".");
  fields.member("root", cgroups.root, "The group for the pods, absolute.");
  fields.member("warnings", cgroups.warnings, "What the kernel or its mounts do not provide.");
}

void describe(Fields& fields, ContainerStatus& container) {
  fields.type("ContainerStatus", "A container, desired and observed.");
  ContainerResources resources = container.resources;
  resources.isolation = container.desired.isolation;
  resources.cpuset_cpus = container.desired.cpus;
  describe(fields, resources);
  describe(fields, resources.linux_resources);
  if (fields.reads()) {
    container.desired.isolation = resources.isolation;
    container.desired.cpus = resources.cpuset_cpus;
    container.resources = std::move(resources);
  }
  fields.member("values", container.desired.values, "Desired values of its group by file.");
  fields.may_lack("started", container.is_started, "At least once since its pod was admitted.");
  fields.member("whyShared", container.why_shared,
                "Why it has no exclusive CPUs; \"\": it has exclusive CPUs.");
  fields.member("cgroup", container.cgroup, "Its group below the root.");
  fields.member("cgroupPath", container.cgroup_path,
                "Its own group, absolute; \"\": it has none, or nothing is enforced.");
  fields.member("problem", container.problem,
                "How it differs from the desired state, or why it was not read; \"\": it is ok.");
  describe_observed(fields, container.observed);
}

void describe(Fields& fields, PodStatus& pod) {
  fields.type("PodStatus", "A pod, desired and observed.");
  PodRef names = ref_of(pod.spec);
  describe(fields, names);
  if (fields.reads()) {
    pod.spec.uid = names.uid;
    pod.spec.namespace_name = names.namespace_name;
    pod.spec.name = names.name;
  }
  fields.member("qosClass", pod.qos, "Null: unknown, for example for a held pod.");
  fields.member("cgroup", pod.cgroup, "Its group below the root; \"\": none.");
  fields.member("cgroupPath", pod.cgroup_path, "Its group, absolute; \"\": nothing is enforced.");
  fields.member("problem", pod.problem,
                "The drift of the pod's own group; \"\": none, or not read.");
  fields.member("containers", pod.containers, "In start order, without those that have ended.");
}

void describe(Fields& fields, DecidedPod& pod) {
  fields.type("DecidedPod", "A pod and the decision about it.");
  describe(fields, static_cast<PodStatus&>(pod));
  fields.member("held", pod.is_held,
                "Only the kubelet's files name it: names and most of its values are unknown.");
  fields.computed("admitted", pod.is_admitted(), "");
  fields.member("rejection", pod.rejection, "Null: it is not rejected.");
  fields.member("notes", pod.notes, kNotesDoc);
}

void describe(Fields& fields, HeldContainer& held) {
  fields.type("HeldContainer", "A container known only from the kubelet's files.");
  describe(fields, held.container);
  fields.member("cpus", held.cpus, "Its exclusive CPUs; \"\": none.");
  fields.member("mems", held.mems, "Its memory nodes; \"\": any.");
}

void describe(Fields& fields, RequestSum& sum) {
  fields.type("RequestSum", "What all pods request of a resource.");
  fields.member("resource", sum.resource, "\"cpu\", \"memory\" or \"hugepages-2Mi\".");
  describe_amount(fields, "requestedAmount", sum.resource, sum.requested,
                  "By all pods together, in base units.");
  describe_amount(fields, "allocatableAmount", sum.resource, sum.allocatable,
                  "What pods may request together, in base units.");
}

void describe(Fields& fields, NodeStatus& status) {
  fields.type("Status", "A node, desired and observed.");
  fields.member("cgroups", status.cgroups, "Null: nothing is enforced.");
  fields.member("profile", status.profile, "The profile that decides.");
  fields.member("profileSource", status.profile_source, "What determined the profile.");
  fields.member("sharedPool", status.shared_pool, "The node's shared pool; \"\": any CPU.");
  fields.member("reservedCpus", status.reserved, "Reserved for the system.");
  fields.member("offlineCpus", status.offline, "CPUs of the node that are offline.");
  fields.member("requests", status.requests, "The sums of what pods request, by resource.");
  fields.member("pods", status.pods, "The active pods, in the order of their admission.");
  fields.member("held", status.held, "Containers of pods known only from the kubelet's files.");
  fields.member("foreign", status.foreign, "Groups below the root that are not Pinfold's.");
  fields.member("drift", status.drift, "How the kernel differs from the desired state.");
  fields.member("affected", status.affected, "Effects of the offline CPUs.");
  fields.member("machineChanges", status.machine_changes,
                "How the machine differs from the one that the state is for.");
  fields.member("ok", status.ok, "No drift, no CPU offline, and every pod is as desired.");
}

void describe(Fields& fields, AdmitOutcome& outcome) {
  fields.type("AdmitOutcome", "The answer to one pod.");
  fields.member("rejection", outcome.rejection, "Null: admitted.");
  fields.member("notEnforced", outcome.not_enforced, kNotEnforcedDoc);
  fields.may_lack("notes", outcome.notes, kNotesDoc);
}

void describe(Fields& fields, ChangeOutcome& outcome) {
  fields.type("ChangeOutcome", "A change was made.");
  fields.member("notEnforced", outcome.not_enforced, kNotEnforcedDoc);
}

void describe(Fields& fields, ResizeOutcome& outcome) {
  fields.type("ResizeOutcome", "The answer to a resize.");
  fields.member("refused", outcome.refused,
                "Null: the container has the requested number of CPUs.");
  describe_exclusive(fields, "cpusBefore", outcome.before, "Null: it is in the shared pool.");
  describe_exclusive(fields, "cpusAfter", outcome.after, "The same if it was refused.");
  fields.member("notEnforced", outcome.not_enforced, kNotEnforcedDoc);
  fields.member("trace", outcome.trace, "The reasons; null if they were not requested.");
}

void describe(Fields& fields, ReconcileReport& report) {
  fields.type("ReconcileReport", "What a reconciliation found and did.");
  fields.member("drift", report.drift, "What differed from the desired state.");
  std::vector<std::string> steps;
  for (const enforce::Step& step : report.done) steps.push_back(to_string(step));
  steps.insert(steps.end(), report.moved.begin(), report.moved.end());
  fields.member("steps", steps, "What was done.");
  if (fields.reads()) {
    report.done.clear();
    report.moved = std::move(steps);
  }
  fields.member("remaining", report.remaining, "What still differs, and why.");
  fields.may_lack("notes", report.notes, "As desired, but worth knowing: CPU affinities.");
  fields.may_lack("unquiet", report.unquiet,
                  "What still uses quiet CPUs, such as interrupts, and why: docs/noise.md.");
  fields.computed("ok", report.remaining.empty(), "Nothing remains.");
}

void describe(Fields& fields, Room& room) {
  fields.type("Room", "The pod that a defragmentation makes room for.");
  fields.member("pod", room.pod, "");
  fields.member("active", room.is_active, "It is already active, and nothing moves.");
  fields.computed("admitted", !room.rejection, "The node admits it now, without moves.");
  fields.member("possible", room.is_possible, "The node admits it after the moves.");
  fields.member("rejection", room.rejection, "Why the node rejects it now; null: it admits it.");
  fields.member("limit", room.limit,
                "Why no move can help, if no move can change the obstacle; else null.");
}

void describe(Fields& fields, NamedMeasurement& named) {
  fields.type("MeasuredContainer", "What an applied plan cost a container.");
  describe(fields, named.container);
  MeasuredContainer& measured = named.measured;
  fields.member("parkedSeconds", measured.parked,
                "On temporary CPUs while its CPUs were swapped; null: it was not parked.");
  fields.member("movingPagesSeconds", measured.moving_pages,
                "While the kernel changed its NUMA nodes; null: it did not.");
  fields.member("movedBytes", measured.bytes_moved,
                "Bytes of its processes that moved to another NUMA node.");
}

nlohmann::json to_json(const PodStatus& pod) { return fields::to_json(pod); }
nlohmann::json to_json(const NodeStatus& status) { return fields::to_json(status); }
nlohmann::json to_json(const ReconcileReport& report) { return fields::to_json(report); }

}  // namespace pinfold::agent
