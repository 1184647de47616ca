#include "pinfold/grpc/messages.hpp"

#include <string>
#include <vector>

#include "valid_text.hpp"

namespace pinfold::grpc {
namespace {

v1::Isolation to_message(Isolation isolation) {
  switch (isolation) {
    case Isolation::kContainer:
      return v1::ISOLATION_CONTAINER;
    case Isolation::kPod:
      return v1::ISOLATION_POD;
    case Isolation::kHost:
      break;
  }
  return v1::ISOLATION_HOST;
}

v1::ChangeKind to_message(verbs::EventKind kind) {
  switch (kind) {
    case verbs::EventKind::kAdmitted:
      return v1::CHANGE_KIND_ADMITTED;
    case verbs::EventKind::kRejected:
      return v1::CHANGE_KIND_REJECTED;
    case verbs::EventKind::kStarted:
      return v1::CHANGE_KIND_STARTED;
    case verbs::EventKind::kRemoved:
      return v1::CHANGE_KIND_REMOVED;
    case verbs::EventKind::kReleased:
      return v1::CHANGE_KIND_RELEASED;
    case verbs::EventKind::kReconciled:
      return v1::CHANGE_KIND_RECONCILED;
    case verbs::EventKind::kAdopted:
      return v1::CHANGE_KIND_ADOPTED;
    case verbs::EventKind::kMoved:
      return v1::CHANGE_KIND_MOVED;
    case verbs::EventKind::kFoundUnpinned:
      break;
  }
  return v1::CHANGE_KIND_FOUND_UNPINNED;
}

void fill_container(const ContainerResources& resources, bool is_started, v1::Container& out) {
  out.set_name(resources.name);
  out.set_cpus(resources.cpuset_cpus.to_string());
  out.set_mems(CpuSet::parse(resources.cpuset_mems).value_or(CpuSet()).to_string());
  out.set_exclusive_cpus(resources.exclusive_cpus.to_string());
  if (resources.baseline) out.set_baseline_cpus(resources.baseline->to_string());
  out.set_isolation(to_message(resources.isolation));
  for (const MemoryBlock& block : resources.memory) fill(block, *out.add_memory());
  for (const auto& [resource, ids] : resources.devices) {
    v1::Devices& devices = *out.add_devices();
    devices.set_resource(resource);
    for (const std::string& id : ids) devices.add_ids(id);
  }
  out.set_started(is_started);
}

void fill_comparison(const verbs::Comparison& comparison, v1::Comparison& out) {
  out.set_compared_count(comparison.compared);
  for (const verbs::CpusetDifference& difference : comparison.differences) {
    v1::Difference& entry = *out.add_differences();
    fill(difference.container.pod, *entry.mutable_pod());
    entry.set_container(valid_text(difference.container.container));
    entry.set_cpuset_cpus_effective(difference.observed_cpus.to_string());
    entry.set_cpus(difference.desired_cpus.to_string());
    entry.set_cpuset_mems_effective(difference.observed_mems.to_string());
    entry.set_mems(difference.desired_mems.to_string());
    entry.set_why_shared(valid_text(difference.why_shared));
  }
}

/// Fills in all of an admission except the containers.
void fill_decision(const PodSpec& pod, const std::optional<Rejection>& rejection,
                   const std::vector<std::string>& notes, v1::Admission& out) {
  out.set_uid(pod.uid.value);
  out.set_name(pod.name);
  out.set_namespace_(pod.namespace_name);
  out.set_admitted(!rejection);
  if (rejection) fill(*rejection, *out.mutable_rejection());
  for (const std::string& note : notes) out.add_notes(valid_text(note));
}

void fill_trace(const Trace& trace, v1::Admission& out) {
  for (const TraceFact& fact : trace.facts) {
    v1::TraceFact& entry = *out.add_trace();
    entry.set_source(fact.source);
    entry.set_object(valid_text(fact.object));
    entry.set_text(valid_text(fact.text));
  }
}

/// Adds all containers except removed ones.
void add_containers(const Node& node, const agent::AgentState& state, const ActivePod& pod,
                    google::protobuf::RepeatedPtrField<v1::Container>& out) {
  for (const ContainerResources& resources : all_container_resources(node, state.node, pod)) {
    if (state.removed.contains({pod.spec.uid, resources.name})) continue;
    fill_container(resources, pod.started.contains(resources.name), *out.Add());
  }
}

}  // namespace

void fill(const Error& error, v1::Error& out) {
  static_assert(static_cast<int>(ErrorCode::kBusy) == static_cast<int>(v1::ERROR_CODE_BUSY));
  out.set_code(static_cast<v1::ErrorCode>(error.code));
  out.set_sys_errno(error.sys_errno);
  out.set_message(valid_text(error.message));
}

void fill(const PodRef& pod, v1::PodRef& out) {
  out.set_uid(valid_text(pod.uid.value));
  out.set_namespace_(valid_text(pod.namespace_name));
  out.set_name(valid_text(pod.name));
}

void fill(const Rejection& rejection, v1::Rejection& out) {
  out.set_reason(rejection.reason);
  out.set_message(valid_text(rejection.message));
  out.set_cause(valid_text(rejection.cause));
}

void fill(const Node& node, const agent::AgentState& state, const PodSpec& pod,
          const agent::AdmitOutcome& outcome, const Trace* trace, v1::Admission& out) {
  fill_decision(pod, outcome.rejection, outcome.notes, out);
  const ActivePod* const active = outcome.rejection ? nullptr : state.node.find(pod.uid);
  if (active != nullptr) add_containers(node, state, *active, *out.mutable_containers());
  if (outcome.not_enforced) fill(*outcome.not_enforced, *out.mutable_not_enforced());
  if (trace != nullptr) fill_trace(*trace, out);
}

void fill(const agent::DecidedPod& pod, const Trace& trace, v1::Admission& out) {
  fill_decision(pod.spec, pod.rejection, pod.notes, out);
  for (const agent::ContainerStatus& container : pod.containers) {
    fill_container(container.resources, container.is_started, *out.add_containers());
  }
  fill_trace(trace, out);
}

void fill(const MemoryBlock& block, v1::MemoryBlock& out) {
  out.set_type(block.type);
  out.set_size_bytes(block.size);
  for (const std::int32_t node : block.numa_affinity) out.add_numa_nodes(node);
}

void fill(const agent::ResizeOutcome& outcome, v1::ResizeResponse& out) {
  if (outcome.refused) {
    v1::NotResized& refused = *out.mutable_refused();
    refused.set_reason(std::string(to_string(outcome.refused->reason)));
    fill(outcome.refused->why, *refused.mutable_rejection());
    refused.set_advice(valid_text(outcome.refused->advice));
  }
  if (!outcome.before.empty()) out.set_cpus_before(outcome.before.to_string());
  if (!outcome.after.empty()) out.set_cpus_after(outcome.after.to_string());
  if (outcome.not_enforced) fill(*outcome.not_enforced, *out.mutable_not_enforced());
}

void fill(const agent::ReconcileReport& report, v1::ReconcileResponse& out) {
  for (const std::string& line : report.drift) out.add_drift(valid_text(line));
  for (const enforce::Step& step : report.done) out.add_steps(valid_text(to_string(step)));
  for (const std::string& line : report.moved) out.add_steps(valid_text(line));
  for (const std::string& line : report.remaining) out.add_remaining(valid_text(line));
  for (const std::string& line : report.notes) out.add_notes(valid_text(line));
}

void fill(const Node& node, const CpuSet& offline, const worker::Snapshot& snapshot,
          v1::StatusResponse& out) {
  const NodeState& state = snapshot.state.node;
  out.set_round(snapshot.round);
  out.set_shared_pool((agent::shared_pool(node, state) - offline).to_string());
  out.set_reserved_cpus(node.cpu().reserved().to_string());
  out.set_offline_cpus(offline.to_string());
  for (const ActivePod& pod : state.pods) {
    v1::PodStatus& status = *out.add_pods();
    status.set_uid(pod.spec.uid.value);
    status.set_name(pod.spec.name);
    status.set_namespace_(pod.spec.namespace_name);
    const auto note = snapshot.state.notes.find(pod.spec.uid);
    const bool has_class = note != snapshot.state.notes.end() && note->second.qos;
    status.set_qos_class(
        std::string(to_string(has_class ? *note->second.qos : qos_class(pod.spec, node.gates()))));
    if (note != snapshot.state.notes.end()) status.set_why_shared(note->second.why_shared);
    add_containers(node, snapshot.state, pod, *status.mutable_containers());
  }
  for (const PodUid& uid : state.held) out.add_held_pod_uids(uid.value);
  if (snapshot.not_settled) fill(*snapshot.not_settled, *out.mutable_not_settled());
  if (snapshot.comparison != nullptr) {
    fill_comparison(*snapshot.comparison, *out.mutable_comparison());
  }
  if (!snapshot.reconciled) return;
  if (*snapshot.reconciled) {
    fill(**snapshot.reconciled, *out.mutable_report());
  } else {
    fill(snapshot.reconciled->error(), *out.mutable_failure());
  }
}

void fill(const worker::Subscription::Taken& taken, v1::WatchResponse& out) {
  out.set_lagged(taken.has_lagged);
  for (const verbs::Event& change : taken.changes) {
    v1::Change& entry = *out.add_changes();
    entry.set_kind(to_message(change.kind));
    entry.set_pod_uid(change.pod.value);
    entry.set_container(change.container);
  }
}

}  // namespace pinfold::grpc
