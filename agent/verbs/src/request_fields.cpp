#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>

#include "pinfold/api/fields.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/api/quiet_note.hpp"
#include "pinfold/api/validation.hpp"
#include "pinfold/enforce/fields.hpp"
#include "pinfold/machine/fields.hpp"
#include "pinfold/verbs/fields.hpp"

namespace pinfold::verbs {
namespace {

using agent::RunningProcesses;
using fields::Fields;

void describe_container(Fields& fields, ContainerId& container) {
  fields.member("podUid", container.pod, "");
  fields.member("container", container.name, "");
}

void describe_kill(Fields& fields, RunningProcesses& running) {
  bool kill = running == RunningProcesses::kKill;
  fields.may_lack("kill", kill, "Kill processes that still run; otherwise they are an error.");
  if (fields.reads()) running = kill ? RunningProcesses::kKill : RunningProcesses::kRefuse;
}

/// The manifests of a request. Writes the pods' manifests; reads documents and skips finished pods.
class Manifests final : public fields::ListAccess {
 public:
  explicit Manifests(std::vector<PodSpec>& pods) : pods_(pods) {}

  [[nodiscard]] std::size_t size() const override { return pods_.size(); }
  void clear() override {}
  void append() override {}
  void visit(std::size_t index, Fields& fields) override {
    fields.foreign({"Pod", kPodDoc, [&] { return to_json(pods_[index]); },
                    [&](const nlohmann::json& value) {
                      for (std::string& note : quiet_notes(value))
                        quiet_.push_back(std::move(note));
                      return collector_.add(value, "");
                    }});
  }
  void visit_sample(Fields& fields) override {
    PodSpec sample;
    fields::visit(fields, sample);
  }
  /// Returns the pods, with notes about all that was read.
  [[nodiscard]] Result<PodDocuments> finish() {
    auto read = std::move(collector_).finish();
    if (read) read->notes.insert(read->notes.end(), quiet_.begin(), quiet_.end());
    return read;
  }

 private:
  static constexpr const char* kPodDoc = "A v1 Pod of Kubernetes.";
  std::vector<PodSpec>& pods_;
  PodCollector collector_{UnknownFields::kIgnore};
  std::vector<std::string> quiet_;
};

void describe_value(Fields& fields, Manifests& manifests) { fields.list(manifests); }

/// Describes the manifests of Admit or PreviewAdmit. Finished pods are skipped, with a warning.
template <class Request>
void describe_manifests(Fields& fields, Request& request) {
  Manifests manifests(request.pods);
  fields.member("manifests", manifests, "At least one pod that has not finished.");
  if (!fields.reads()) return;
  auto read = manifests.finish();
  if (!read) return fields.refuse("manifests", read.error().message);
  request.pods = std::move(read->pods);
  request.warnings = std::move(read->notes);
  if (!request.pods.empty()) return;
  request.warnings.insert(request.warnings.begin(), "expected at least one pod");
  fields.refuse("manifests", fmt::format("{}", fmt::join(request.warnings, "; ")));
}

/// Treats a pod that another program sends as an API server does. The commands and the C library
/// validate pods themselves, unless their user does not want that.
void describe_validated(Fields& fields, const char* member, std::span<PodSpec> pods) {
  bool is_validated = fields.writes();
  fields.may_lack("validated", is_validated,
                  "The sender has validated the pods; otherwise the service does.");
  if (!fields.reads()) return;
  for (PodSpec& pod : pods) {
    apply_defaults(pod);
    if (is_validated) continue;
    if (const auto valid = validate(pod); !valid) fields.refuse(member, valid.error().message);
  }
}

constexpr const char* kGroupDoc = "The group that the runtime created; absolute.";

}  // namespace

std::span<const Evict> enumerators(Evict /*type*/) {
  static constexpr std::array kAll = {Evict::kNone, Evict::kLost, Evict::kRejected};
  return kAll;
}

void describe(Fields& fields, Admit& request) {
  fields.type("AdmitRequest", "Admits pods in one transaction.");
  describe_manifests(fields, request);
  fields.may_lack("trace", request.wants_trace, "The answer has the reasons.");
  describe_validated(fields, "manifests", request.pods);
  if (fields.reads()) request.wants_pods = true;
}

void describe(Fields& fields, PreviewAdmit& request) {
  fields.type("PreviewRequest", "Decides pods as 'admit' would now, and changes nothing.");
  describe_manifests(fields, request);
  fields.may_lack("trace", request.wants_trace, "The answer has the reasons.");
  fields.may_lack("starts", request.starts,
                  "The containers of each admitted pod start before the next pod is decided.");
  describe_validated(fields, "manifests", request.pods);
}

void describe(Fields& fields, Start& request) {
  fields.type("StartRequest", "A container is about to start.");
  describe_container(fields, request.container);
}

void describe(Fields& fields, Attach& request) {
  fields.type("AttachRequest", "Moves a process into the group of a container.");
  describe_container(fields, request.container);
  fields.member("process", request.process, "");
}

void describe(Fields& fields, Remove& request) {
  fields.type("RemoveRequest", "Removes a pod, or one of its containers, for good.");
  fields.member("podUid", request.pod, "");
  fields.may_lack("container", request.container, "\"\": the whole pod.");
  describe_kill(fields, request.running);
}

void describe(Fields& fields, ReleaseUnknown& /*request*/) {
  fields.type("ReleaseUnknownRequest", "Releases the resources of held pods.");
}

void describe(Fields& fields, AdmitHooked& request) {
  fields.type("AdmitHookedRequest",
              "Admits the pod of a container and adopts the group that its runtime made.");
  fields.member("manifest", request.pod, "");
  fields.member("container", request.adoption.container, "");
  fields.member("cgroupPath", request.adoption.directory, kGroupDoc);
  fields.if_set("process", request.process,
                "The container's first process; absent if the runtime has not started one yet.");
  describe_validated(fields, "manifest", {&request.pod, 1});
}

void describe(Fields& fields, PrepareHooked& request) {
  fields.type(
      "PrepareHookedRequest",
      "Admits the pod of a container that a process is about to make, and writes files from "
      "which it reads its CPUs.");
  fields.member("manifest", request.pod, "");
  fields.member("container", request.container, "");
  fields.member("creator", request.creator,
                "The process that makes the container: without one, the pod ends with it.");
  describe_validated(fields, "manifest", {&request.pod, 1});
}

void describe(Fields& fields, RemoveHooked& request) {
  fields.type("RemoveHookedRequest", "A container that AdmitHooked admitted has ended.");
  describe_container(fields, request.container);
}

void describe(Fields& fields, Reconcile& request) {
  fields.type("ReconcileRequest", "Brings the control groups to the desired state.");
  bool moves = request.pages == agent::PageMoves::kOn;
  fields.may_lack("movePages", moves, "Also move pages to the desired NUMA nodes.");
  if (fields.reads()) request.pages = moves ? agent::PageMoves::kOn : agent::PageMoves::kOff;
}

void describe(Fields& fields, CheckpointJournal& /*request*/) {
  fields.type("SettleRequest", "Brings the state files up to date.");
}

void describe(Fields& fields, Adopt& request) {
  fields.type("AdoptRequest", "Adopts the group that a container runtime created.");
  fields.member("podUid", request.pod, "");
  fields.member("container", request.adoption.container, "");
  fields.member("cgroupPath", request.adoption.directory, kGroupDoc);
}

void describe(Fields& fields, ReadComparison& /*request*/) {
  fields.type("ReadComparisonRequest", "Asks what a service in mode observe would do differently.");
}

void describe(Fields& fields, ReadStatus& /*request*/) {
  fields.type("ReadStatusRequest", "Asks for the node, desired and observed.");
}

void describe(Fields& fields, ListPods& /*request*/) {
  fields.type("ListPodsRequest",
              "Asks for the pods and their resources, without reading the kernel.");
}

void describe(Fields& fields, ReadService& /*request*/) {
  fields.type("ReadServiceRequest", "Asks for the state of the service.");
}

void describe(Fields& fields, Reconfigure& request) {
  fields.type("ReconfigureRequest", "Changes the configuration or machine.");
  fields.if_set("config", request.config, "A KubeletConfiguration, YAML or JSON.");
  fields.if_set("machine", request.machine, "");
  fields.may_lack("evict", request.evict, "Which pods may be removed.");
  describe_kill(fields, request.running);
  fields.may_lack("undo", request.undo, "Undo the last change.");
  fields.may_lack("dryRun", request.dry_run, "Plan only.");
}

void describe(Fields& fields, Resize& request) {
  fields.type("ResizeRequest", "Changes the number of a container's exclusive CPUs.");
  describe_container(fields, request.request.container);
  std::int64_t milli = request.request.cpu.milli_value();
  fields.member("cpuAmount", milli, "Its new request and limit, in thousandths of a CPU.");
  if (fields.reads()) request.request.cpu = Quantity::milli(milli);
  fields.may_lack("trace", request.wants_trace, "The answer has the reasons.");
}

void describe(Fields& fields, Defragment& request) {
  fields.type("DefragmentRequest", "Makes room for a pod that the node rejects now.");
  fields.member("manifest", request.pod, "");
  fields.may_lack("dryRun", request.dry_run, "Plan only.");
  fields.may_lack("stepCount", fields::up_to(request.steps, kMostSteps),
                  "Limit of the search, in placements tried.");
  describe_validated(fields, "manifest", {&request.pod, 1});
}

}  // namespace pinfold::verbs
