#include <array>
#include <utility>

#include "pinfold/agent/fields.hpp"
#include "pinfold/api/fields.hpp"
#include "pinfold/fields/json.hpp"
#include "pinfold/machine/fields.hpp"
#include "pinfold/verbs/fields.hpp"

namespace pinfold::verbs {
namespace {

using fields::Fields;

constexpr std::array<fields::Alternative, 2> kPrepared = {
    {{"resources", "It is admitted."}, {"refusal", "It is not."}}};

/// NodeParts that may have no machine yet.
struct ReadParts {
  std::optional<Machine> machine;
  Config config;
};

void describe(Fields& fields, ReadParts& parts) {
  fields.type("NodeParts", "A node after a change of its configuration or machine.");
  fields.member("machine", parts.machine, "");
  if (!parts.machine) fields.refuse("machine", "missing");
  fields.member("config", parts.config, "");
}

/// Describes a set that is kept as text, because files and environment variables get it.
void describe_set(Fields& fields, const char* name, std::string& text, const char* doc) {
  CpuSet set = CpuSet::parse(text).value_or(CpuSet());
  fields.member(name, set, doc);
  if (fields.reads()) text = set.to_string();
}

std::vector<agent::NamedMeasurement> measurements_of(const Reconfigured& outcome) {
  std::vector<agent::NamedMeasurement> out;
  for (const agent::MeasuredContainer& measured : outcome.change.measured) {
    out.push_back({{ref_of(outcome.planned.pods, measured.id.pod), measured.id.name}, measured});
  }
  return out;
}

void take(std::vector<agent::NamedMeasurement> measurements, Reconfigured& outcome) {
  outcome.change.measured.clear();
  for (agent::NamedMeasurement& one : measurements) {
    const PodRef& pod = one.container.pod;
    if (!pod.name.empty()) outcome.planned.pods.insert_or_assign(pod.uid, pod);
    one.measured.id = id_of(one.container);
    outcome.change.measured.push_back(std::move(one.measured));
  }
}

}  // namespace

std::optional<PodResourcesSocket> pod_resources_of(const ServiceReport& report) {
  if (report.pod_resources_socket.empty() && report.pod_resources_reason.empty()) {
    return std::nullopt;
  }
  return PodResourcesSocket{report.pod_resources_socket, report.pod_resources_reason};
}

void describe(Fields& fields, Done& /*done*/) {
  fields.type("Done", "Success, without further data.");
}

void describe(Fields& fields, PodList& list) {
  fields.type("PodList", "The active pods in the order of their admission, then the held ones.");
  fields.member("pods", list.pods, "As desired.");
}

void describe(Fields& fields, Admissions& admissions) {
  fields.type("Admissions", "Answers to several pods, in their order.");
  fields.member("outcomes", admissions.outcomes, "");
  fields.may_lack("traces", admissions.traces, "One per pod, if asked for.");
  fields.may_lack("pods", admissions.pods,
                  "The pods with their resources; a rejected one has none.");
  fields.may_lack(
      "warnings", admissions.warnings,
      "Warnings from reading the request, for example about finished pods, which get no answer.");
}

void describe(Fields& fields, Refusal& refusal) {
  fields.type("Refusal", "Why a container is not admitted or removed.");
  fields.member("summary", refusal.summary, "It quotes nothing of the pod.");
  fields.member("error", refusal.error, "With the details.");
  fields.if_set("rejection", refusal.rejection, "The pod was decided, and is rejected.");
}

void describe(Fields& fields, OwnResources& resources) {
  fields.type("OwnResources", "The resources to announce to a container.");
  fields.member("directory", resources.directory, "Of its files, for a read-only bind mount.");
  agent::AssignedValues& values = resources.values;
  describe_set(fields, "cpus", values.cpus, "On which it may run.");
  describe_set(fields, "mems", values.mems, "From which it may get memory.");
  describe_set(fields, "assignedCpuset", values.exclusive_cpus, "\"\": none is exclusive.");
  describe_set(fields, "assignedMemset", values.exclusive_mems, "\"\": none is assigned.");
}

void describe(Fields& fields, PreparedContainer& prepared) {
  fields.type("PreparedContainer", "The answer to 'prepareHooked'.");
  fields.alternatives(prepared, kPrepared, "resources or a refusal");
}

void describe(Fields& fields, CpusetDifference& difference) {
  fields.type("Difference", "A container whose CPUs or memory nodes differ from the desired ones.");
  describe(fields, difference.container);
  fields.member("cpus", difference.desired_cpus, "\"\": any.");
  fields.member("mems", difference.desired_mems, "\"\": any.");
  fields.member("cpusetCpusEffective", difference.observed_cpus, "");
  fields.member("cpusetMemsEffective", difference.observed_mems, "");
  fields.member("whyShared", difference.why_shared,
                "Why it would get no exclusive CPUs; \"\": it would.");
}

void describe(Fields& fields, Comparison& comparison) {
  fields.type("Comparison", "What a service in mode observe would do differently.");
  fields.member("comparedCount", comparison.compared, "Running containers.");
  fields.member("differences", comparison.differences, "");
}

void describe(Fields& fields, PodResourcesSocket& place) {
  fields.type("PodResourcesSocket", "Where exporters read PodResources.");
  fields.member("socket", place.socket, "\"\": it is not served.");
  fields.member("reason", place.reason, "Why it is not served, or not where a kubelet serves it.");
}

void describe(Fields& fields, ServiceReport& report) {
  fields.type("ServiceReport", "The state of the service.");
  fields.member("busySeconds", report.busy, "Since the current request began.");
  fields.member("following", report.is_following,
                "True if no runtime is followed, or if one is connected or was until recently.");
  auto place = pod_resources_of(report);
  fields.member("podResources", place, "Null: the service does not serve it.");
  if (!fields.reads()) return;
  report.pod_resources_socket = place ? std::move(place->socket) : "";
  report.pod_resources_reason = place ? std::move(place->reason) : "";
}

void describe(Fields& fields, Reconfigured& outcome) {
  fields.type("Reconfiguration", "A planned or applied change of the node.");
  fields.member("plan", outcome.planned, "");
  fields.member("room", outcome.planned.room, "Null: not a defragmentation.");
  fields.member("applied", outcome.is_applied, "False after a dry run, or if nothing is possible.");
  auto measured = measurements_of(outcome);
  fields.member("measured", measured,
                "Of an applied plan: containers that were parked or got other NUMA nodes.");
  if (fields.reads()) take(std::move(measured), outcome);
  fields.member("notEnforced", outcome.change.not_enforced,
                "Set if the change is stored, but not yet applied to the kernel.");
  fields.may_lack("warnings", outcome.warnings,
                  "Of the new configuration: misspelt fields, settings without effect.");
  std::optional<ReadParts> parts;
  if (outcome.other_node) parts = {outcome.other_node->machine, outcome.other_node->config};
  fields.if_set("otherNode", parts, "In the protocol: the node after the change, if it differs.");
  if (!fields.reads()) return;
  outcome.other_node.reset();
  if (parts && parts->machine) {
    outcome.other_node = NodeParts{*std::move(parts->machine), std::move(parts->config)};
  }
}

nlohmann::json to_json(Reconfigured done) {
  done.other_node.reset();
  return fields::to_json(done);
}

}  // namespace pinfold::verbs
