#include "documents.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "pinfold/api/fields.hpp"
#include "pinfold/checkpoint/fields.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/explain/fields.hpp"
#include "pinfold/machine/fields.hpp"
#include "pinfold/memory/fields.hpp"
#include "pinfold/noise/fields.hpp"
#include "pinfold/predict/fields.hpp"
#include "pinfold/socket/messages.hpp"

namespace pinfold::tools {
namespace {

using fields::Fields;
using fields::up_to;

constexpr pid_t kMaxPid = std::numeric_limits<pid_t>::max();
constexpr const char* kNotEnforcedDoc =
    "Set if the change is stored but not yet applied to the kernel; reconciliations retry it.";
constexpr const char* kNotSettledDoc =
    "Set if the change is in the journal only, because the state files cannot be written.";

}  // namespace

void describe(Fields& fields, StatusDocument& document) {
  fields.type("NodeStatus", "A node, desired and observed, and what its service says.");
  describe(fields, document.node);
  fields.may_lack("comparison", document.comparison, "Null: no service in mode observe runs here.");
  fields.may_lack("podResources", document.pod_resources, "Null: no service serves it.");
  fields.may_lack("load", document.load, "Share of time that each CPU was busy; with --watch.");
  fields.may_lack("interrupts", document.interrupts,
                  "Interrupts of exclusive CPUs since the line before; null: not measured.");
}

void describe(Fields& fields, InterruptedCpu& interrupted) {
  fields.type("InterruptedCpu", "The interrupts of a CPU; without threads, so without a score.");
  fields.member("cpu", interrupted.cpu, "");
  fields.member("interruptsPerSecond", interrupted.per_second, "");
  fields.member("lostMicrosecondsPerSecond", interrupted.lost_us,
                "As far as the kernel counts them.");
  fields.member("sources", interrupted.sources, "The most frequent first.");
}

void describe(Fields& fields, InterruptReport& report) {
  fields.type("Interrupts", "The interrupts of CPUs.");
  fields.member("durationSeconds", report.duration, "How long the CPUs were measured.");
  fields.member("cpus", report.cpus, "Ascending.");
}

void describe(Fields& fields, AuditedNode& document) {
  describe(fields, document.audit);
  fields.may_lack("noise", document.noise,
                  "What interrupts exclusive CPUs; null: there are none, or it was not measured.");
}

void describe(Fields& fields, AdmittedPod& pod) {
  fields.type("AdmittedPod", "A pod of an admission.");
  describe(fields, static_cast<agent::DecidedPod&>(pod));
  fields.member("enforced", pod.is_enforced, "Its control groups are as desired.");
  fields.member("notEnforced", pod.not_enforced, kNotEnforcedDoc);
  fields.member("trace", pod.trace, "Null without --explain.");
}

void describe(Fields& fields, AdmitDocument& document) {
  fields.type("Admission", "Answers to pods.");
  fields.member("cgroups", document.cgroups, "Null: nothing is enforced.");
  fields.member("profile", document.profile, "The profile that decides.");
  fields.member("profileSource", document.profile_source, "What determined the profile.");
  fields.member("stored", document.is_stored, "False after a dry run.");
  fields.member("notSettled", document.not_settled, kNotSettledDoc);
  fields.member("pods", document.pods, "In the order of the manifests.");
}

void describe(Fields& fields, StartDocument& document) {
  fields.type("StartedContainer", "A container that is about to start.");
  describe(fields, document.container);
  fields.computed("started", true, "");
  fields.member("enforced", document.is_enforced, "Its control group is as desired.");
  fields.member("notEnforced", document.not_enforced, kNotEnforcedDoc);
  fields.member("notSettled", document.not_settled, kNotSettledDoc);
}

void describe(Fields& fields, RemoveDocument& document) {
  fields.type("Removal", "A pod or container that was removed.");
  fields.member("pod", document.pod, "");
  fields.member("container", document.container, "\"\": the whole pod.");
  fields.computed("removed", true, "");
  fields.member("sharedPool", document.shared_pool, "Afterwards; \"\": any CPU.");
  fields.member("stored", document.is_stored, "False after a dry run.");
  fields.member("enforced", document.is_enforced, "The control groups are as desired.");
  fields.member("notEnforced", document.not_enforced, kNotEnforcedDoc);
  fields.member("notSettled", document.not_settled, kNotSettledDoc);
}

void describe(Fields& fields, ResizeDocument& document) {
  fields.type("Resize", "Changes the number of a container's exclusive CPUs.");
  describe(fields, document.container);
  describe(fields, document.outcome);
  fields.member("enforced", document.is_enforced, "Its control groups are as desired.");
  fields.member("stored", document.is_stored, "False after a dry run or a refusal.");
  fields.member("notSettled", document.not_settled, kNotSettledDoc);
}

void describe(Fields& fields, QuietedKnob& knob) {
  fields.type("QuietedKnob", "A value of the system that Pinfold has changed.");
  fields.member("kind", knob.knob.kind, "");
  fields.member("name", knob.knob.name, "\"\": there is only one of its kind.");
  fields.member("before", knob.kept.before, "What is restored.");
  fields.member("ours", knob.kept.ours, "Any other value is that of another program.");
  fields.member("now", knob.now, "Null: it does not exist, or could not be read.");
}

void describe(Fields& fields, QuietDocument& document) {
  fields.type("Quiet", "What was changed to make CPUs quiet.");
  fields.member("restored", document.is_restored, "By this command, except for what is listed.");
  fields.member("knobs", document.knobs, "Values that are still changed.");
}

void describe(Fields& fields, ReconcileDocument& document) {
  fields.type("Reconciliation", "What a reconciliation found and did, and what is not on disk.");
  describe(fields, document.report);
  fields.may_lack("notSettled", document.not_settled, kNotSettledDoc);
}

void describe(Fields& fields, DefragmentDocument& document) {
  fields.type("Defragmentation", "Moves that make room for a pod.");
  describe(fields, document.outcome);
  fields.may_lack("then", document.then, "The command that admits the pod; null: none does.");
}

void describe(Fields& fields, ExplainDocument& document) {
  fields.type("Explanations", "Decisions and their reasons.");
  fields.member("profile", document.profile, "The profile that decides.");
  fields.member("pods", document.pods, "");
}

void describe(Fields& fields, BoundGroup& group) {
  fields.type("BoundGroup", "A control group, and to which NUMA nodes it may bind memory.");
  fields.member("container", group.container, "Null: it is of no known container.");
  fields.member("pid", up_to(group.pid, kMaxPid), "The process that was named; 0: none.");
  fields.member("cgroupPath", group.cgroup_path, "Absolute, in the hierarchy with the cpusets.");
  describe(fields, group.binding);
  fields.member(
      "filtered", group.is_filtered,
      "The process has a seccomp filter and lacks CAP_SYS_NICE, so that EPERM is likely.");
  fields.member("assigned", group.assigned, "What the memory manager assigned to the container.");
}

void describe(Fields& fields, ExplainMemoryDocument& document) {
  fields.type("MemoryBindings", "To which NUMA nodes groups and processes may bind memory.");
  fields.member("groups", document.groups, "");
}

void describe(Fields& fields, CpuOwner& owner) {
  fields.type("CpuOwner", "The owner of a CPU.");
  fields.member("id", up_to(owner.id, std::numeric_limits<std::int32_t>::max()),
                "The kernel's number.");
  fields.member("use", owner.use,
                "\"exclusive\", \"shared\", \"reserved\", \"offline\" or \"none\".");
  fields.member("label", owner.label, "For people.");
  fields.member("owner", owner.owner,
                "The container that has it exclusively, without a name for a pod shared pool; "
                "null: none.");
}

void describe(Fields& fields, CpuThread& thread) {
  fields.type("CpuThread", "A thread that runs on a CPU, or ran there last.");
  fields.member("pid", up_to(thread.pid, kMaxPid), "");
  fields.member("tid", up_to(thread.tid, kMaxPid), "");
  fields.member("command", thread.command, "");
  fields.member("state", thread.state, "As in /proc: \"R\", \"S\" ...");
  fields.member("kernel", thread.is_kernel, "It is a thread of the kernel.");
  fields.member("owner", thread.owner, "The container that it is in; null: none.");
  fields.member("cgroupPath", thread.cgroup_path, "Absolute; \"\": unknown.");
}

void describe(Fields& fields, CpuCandidate& candidate) {
  fields.type("CpuCandidate", "Something that may run on a CPU.");
  fields.member("owner", candidate.owner, "The container; null: a foreign group or the kernel.");
  fields.member("cgroupPath", candidate.cgroup_path, "Absolute; \"\": unknown.");
  fields.member("kernel", candidate.is_kernel, "Threads of the kernel.");
  fields.member("isolation", candidate.isolation,
                "Of a container that the state permits there; else \"\".");
  fields.member("processCount", candidate.processes, "That may run there.");
  fields.member("threadCount", candidate.threads, "That may run there.");
  fields.member("note", candidate.note, "About its CPU affinity; \"\": nothing.");
}

void describe(Fields& fields, CpuDocument& document) {
  fields.type("CpuUsers", "A CPU and its users.");
  describe(fields, document.cpu);
  CpuOwner& owner = document.owner;
  if (fields.reads()) owner.id = document.cpu.id.value;
  fields.member("use", owner.use, "As of a CpuOwner.");
  fields.member("label", owner.label, "As of a CpuOwner.");
  fields.member("owner", owner.owner, "As of a CpuOwner.");
  fields.member("siblings", document.siblings, "The other CPUs of its core.");
  fields.member("threads", document.threads, "Those that run there or ran there last.");
  fields.member("mayRun", document.may_run, "Who may run there.");
  fields.may_lack("noise", document.measured, "Measured for 0.2 s; null: not on this machine.");
}

void describe(Fields& fields, WhoDocument& document) {
  fields.type("Who", "CPUs and their users.");
  fields.member("cpus", document.cpus, "");
}

void describe(Fields& fields, WarningText& warning) {
  fields.type("Warning", "A warning.");
  fields.member("code", warning.code, "\"not settled\", or \"\".");
  fields.member("message", warning.message, "");
}

void describe(Fields& fields, MessageLine& line) {
  fields.type("Message", "A line on standard error: an error or a warning.");
  fields.if_set("error", line.error, "");
  fields.if_set("warning", line.warning, "");
}

namespace {

template <class T>
Result<void> check_as(const nlohmann::json& value) {
  PINFOLD_TRY(fields::read<T>(value));
  return {};
}

template <class T>
constexpr DocumentKind kind(std::string_view name, std::string_view title) {
  return {name, title, &fields::schema<T>, &check_as<T>};
}

constexpr std::array kKinds = {
    kind<AdmitDocument>("admit", "pinfold admit -o json"),
    kind<AuditedNode>("audit", "pinfold audit -o json"),
    kind<audit::WatchLine>("audit-watch", "A line of pinfold audit --watch -o json"),
    kind<ConvertDocument>("checkpoint-convert", "pinfold checkpoint convert -o json"),
    kind<std::vector<DiffLine>>("checkpoint-diff", "pinfold checkpoint diff -o json"),
    kind<RepairDocument>("checkpoint-repair", "pinfold checkpoint repair -o json"),
    kind<ShowDocument>("checkpoint-show", "A line of pinfold checkpoint show -o json"),
    kind<std::vector<VerifiedFile>>("checkpoint-verify", "pinfold checkpoint verify -o json"),
    kind<DefragmentDocument>("defragment", "pinfold defragment -o json"),
    kind<audit::DoctorDocument>("doctor", "pinfold doctor -o json"),
    kind<ExplainDocument>("explain", "pinfold explain -o json"),
    kind<ExplainMemoryDocument>("explain-memory", "pinfold explain --memory -o json"),
    kind<MachineDescription>("machine", "pinfold topology -o json, and a machine in any input"),
    kind<MessageLine>("message", "A line on standard error with -o json"),
    kind<noise::NoiseReport>("noise", "pinfold noise -o json"),
    kind<agent::DecidedPod>("pod", "pinfold_pod_json"),
    kind<PodPredictions>("pod-predictions", "pinfold_fleet_predict"),
    kind<std::vector<PodPredictions>>("predict", "pinfold predict -o json"),
    kind<std::vector<PlacedPod>>("predict-cycle", "pinfold predict --cycle -o json"),
    kind<QuietDocument>("quiet", "pinfold quiet -o json"),
    kind<ReconcileDocument>("reconcile", "pinfold reconcile -o json, pinfold_node_reconcile"),
    kind<verbs::Reconfigured>("reconfigure",
                              "pinfold reconfigure -o json, pinfold_node_reconfigure"),
    kind<RemoveDocument>("remove", "pinfold remove -o json"),
    kind<ResizeDocument>("resize", "pinfold resize -o json"),
    kind<SimulateDocument>("simulate", "pinfold simulate of pods -o json"),
    kind<BenchLine>("simulate-bench", "A line of pinfold simulate --bench"),
    kind<ClusterDocument>("simulate-cluster", "pinfold simulate --cluster -o json"),
    kind<socket::AnswerMessage>("socket-answer", "An answer of the service to a command"),
    kind<socket::RequestMessage>("socket-request", "A request of a command to the service"),
    kind<socket::HelloAnswerMessage>("socket-hello-answer", "The first line of the service"),
    kind<socket::HelloRequestMessage>("socket-hello-request", "The first line of a client"),
    kind<StartDocument>("start", "pinfold start -o json"),
    kind<StatusDocument>("status", "pinfold status -o json, pinfold_node_get_status"),
    kind<Trace>("trace", "pinfold_pod_trace"),
    kind<WhoDocument>("who", "pinfold who -o json"),
};

}  // namespace

std::span<const DocumentKind> document_kinds() { return kKinds; }

const DocumentKind* document_of_command(std::string_view words) {
  std::string name(words == "topology" ? "machine" : words);
  std::replace(name.begin(), name.end(), ' ', '-');
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(),
                                         [&](const DocumentKind& one) { return one.name == name; });
  return found == kKinds.end() ? nullptr : &*found;
}

}  // namespace pinfold::tools
