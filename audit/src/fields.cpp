#include "pinfold/audit/fields.hpp"

#include <array>
#include <utility>

#include "pinfold/fields/json.hpp"

namespace pinfold::audit {
namespace {

using fields::Fields;

/// Describes a set of CPUs or NUMA nodes; nullopt is written as "", which means any.
void describe_or_any(Fields& fields, const char* name, std::optional<CpuSet>& set,
                     const char* doc) {
  CpuSet written = set.value_or(CpuSet());
  fields.member(name, written, doc);
  if (!fields.reads()) return;
  set.reset();
  if (!written.empty()) set = std::move(written);
}

void describe_kubelet(Fields& fields, ObservedKubelet& kubelet) {
  fields.type("Kubelet", "The kubelet of the node.");
  fields.member("pid", kubelet.pid, "Null: none runs.");
  fields.member("inside", kubelet.host, "The program it is part of: \"k3s server\"; \"\": none.");
  fields.member("rootDir", kubelet.root_dir, "");
  fields.member("configPath", kubelet.config_path, "\"\": no file.");
  std::string driver = kubelet.driver ? std::string(to_string(*kubelet.driver)) : std::string();
  fields.member("cgroupDriver", driver, "\"cgroupfs\", \"systemd\" or, if unknown, \"\".");
  const Config config = kubelet.config.value_or(Config());
  const auto policy = [&](const char* name, const std::string& value) {
    fields.computed(name, kubelet.config ? value : std::string(), "\"\": unknown.");
  };
  policy("cpuManagerPolicy", config.cpu_manager_policy);
  policy("memoryManagerPolicy", config.memory_manager_policy);
  policy("topologyManagerPolicy", config.topology_manager_policy);
}

void describe_cgroups(Fields& fields, ObservedGroups& cgroups) {
  fields.type("KubeletCgroups", "The control groups of the node.");
  std::string mode = !cgroups.version                                 ? ""
                     : cgroups.version == enforce::CgroupVersion::kV2 ? "v2"
                                                                      : "v1";
  fields.member("mode", mode, "\"v2\" or \"v1\", of the cpusets; \"\": not mounted.");
  if (fields.reads()) {
    cgroups.version.reset();
    if (mode == "v2") cgroups.version = enforce::CgroupVersion::kV2;
    if (mode == "v1") cgroups.version = enforce::CgroupVersion::kV1;
  }
  fields.member("mount", cgroups.mount, "");
  fields.member("roots", cgroups.roots, "Groups with all pods of a kubelet, below the mount.");
}

/// A part of AuditDocument that is described by a function of another name.
template <class T, void (*Describe)(Fields&, T&)>
struct PartAs {
  T& part;
};
template <class T, void (*Describe)(Fields&, T&)>
void describe(Fields& fields, PartAs<T, Describe>& as) {
  Describe(fields, as.part);
}

}  // namespace

std::span<const Severity> enumerators(Severity /*type*/) {
  static constexpr std::array kAll = {Severity::kError, Severity::kWarning, Severity::kNote};
  return kAll;
}

std::span<const CheckStatus> enumerators(CheckStatus /*type*/) {
  static constexpr std::array kAll = {CheckStatus::kProblem, CheckStatus::kWarning,
                                      CheckStatus::kUnknown, CheckStatus::kOk};
  return kAll;
}

std::span<const WatchEvent::Kind> enumerators(WatchEvent::Kind /*type*/) {
  using Kind = WatchEvent::Kind;
  static constexpr std::array kAll = {Kind::kStarted, Kind::kEnded, Kind::kOverlaps,
                                      Kind::kCleared};
  return kAll;
}

std::span<const BindingReason> enumerators(BindingReason /*type*/) {
  static constexpr std::array kAll = {BindingReason::kOffline, BindingReason::kWithoutMemory,
                                      BindingReason::kCgroup, BindingReason::kProcess};
  return kAll;
}

void describe(Fields& fields, Subject& subject) {
  fields.type("Subject", "The object of a finding.");
  fields.member("kind", subject.kind,
                "\"node\", \"kubelet\", \"file\", \"container\", \"process\", \"group\", \"irq\".");
  fields.member("label", subject.name, "For people; for a file its path.");
  fields.member("pod", subject.pod, "Null: it belongs to no pod.");
  fields.member("container", subject.container, "Its name; \"\": none, or unknown.");
  fields.member("containerId", subject.container_id, "The runtime's; \"\": none.");
  fields.member("pid", subject.pid, "Null: not a process.");
}

void describe(Fields& fields, Finding& finding) {
  fields.type("Finding", "A finding for the operator.");
  fields.member("kind", finding.kind, "A word of docs/audit.md: \"cpuset-differs\".");
  fields.member("severity", finding.severity, "");
  fields.member("subject", finding.subject, "");
  fields.member("observed", finding.observed, "");
  fields.member("expected", finding.expected, "");
  fields.member("message", finding.text, "One sentence without the subject.");
  fields.member("command", finding.command, "The command that shows it; \"\": none.");
  fields.member("remedy", finding.remedy, "The command that fixes it; \"\": none is known.");
}

void describe(Fields& fields, AuditedContainer& container) {
  fields.type("AuditedContainer", "A container or sandbox, desired and observed.");
  ContainerRef names{container.pod, container.id.name};
  describe(fields, names);
  if (fields.reads()) {
    container.pod = names.pod;
    container.id = id_of(names);
  }
  fields.member("containerId", container.runtime_id,
                "The runtime's; \"\": only the kubelet's files name it.");
  fields.member("sandbox", container.is_sandbox, "");
  fields.member("running", container.is_running, "");
  fields.member("exclusive", container.is_exclusive, "Its CPUs are exclusive.");
  describe_or_any(fields, "cpus", container.expected, "The kubelet's decision; \"\": any.");
  describe_or_any(fields, "mems", container.expected_mems, "The kubelet's decision; \"\": any.");
  fields.member("cpusetCpusEffective", container.observed, "");
  fields.member("cpusetMemsEffective", container.observed_mems, "");
}

void describe(Fields& fields, AuditDocument& document) {
  fields.type("Audit", "What a kubelet decided for a node and what is in effect there.");
  Report& report = document.report;
  const std::size_t errors = report.count(Severity::kError);
  const std::size_t warnings = report.count(Severity::kWarning);
  fields.member("root", document.root, "Root of the node's file system.");
  fields.computed("ok", errors + warnings == 0, "No errors and no warnings.");
  fields.computed("errorCount", errors, "Findings.");
  fields.computed("warningCount", warnings, "Findings.");
  fields.computed("noteCount", report.count(Severity::kNote), "Findings.");
  fields.member("kubelet", PartAs<ObservedKubelet, describe_kubelet>{document.kubelet}, "");
  fields.member("cgroups", PartAs<ObservedGroups, describe_cgroups>{document.cgroups}, "");
  fields.member("exclusiveCpus", report.exclusive, "Of all containers.");
  fields.member("containers", report.containers, "");
  fields.member("findings", report.findings, "The worst first.");
}

void describe(Fields& fields, WatchLine& line) {
  fields.type("WatchLine", "A change between two checks of a node.");
  fields.member("event", line.kind, "");
  describe(fields, line.container);
  fields.member("other", line.other,
                "The container that can run on its exclusive CPUs; null: it started or ended.");
  fields.member("cpus", line.cpus, "Those CPUs.");
  fields.member("after", line.after,
                "Which of the two started last; null: both ran before the watch.");
  fields.member("lastedSeconds", line.lasted, "How long the overlap lasted; null: it continues.");
  fields.member("atSeconds", line.at, "Since the watch began.");
}

void describe(Fields& fields, Check& check) {
  fields.type("Check", "What Pinfold or a kubelet needs, and what the machine has.");
  fields.member("name", check.name, "A word of docs/doctor.md: \"cgroup-mode\".");
  fields.member("verdict", check.verdict, "");
  fields.member("observed", check.observed, "");
  fields.member("expected", check.expected, "\"\": it is ok.");
  fields.member("remedy", check.remedy,
                "The command or setting that fixes it; \"\": none is known.");
  fields.member("caution", check.caution, "Side effects of 'remedy'; \"\": none.");
}

void describe(Fields& fields, DoctorDocument& document) {
  fields.type("Doctor", "What Pinfold and a kubelet need of a machine.");
  const Checks& checks = document.checks;
  fields.member("root", document.root, "Root of the machine's file system.");
  fields.computed("ok", count(checks, CheckStatus::kProblem) == 0, "No problems.");
  fields.computed("problemCount", count(checks, CheckStatus::kProblem), "");
  fields.computed("warningCount", count(checks, CheckStatus::kWarning), "");
  fields.computed("unknownCount", count(checks, CheckStatus::kUnknown), "");
  fields.member("checks", document.checks, "The worst first.");
}

void describe(Fields& fields, BindingLimit& limit) {
  fields.type("BindingLimit", "NUMA nodes to which memory cannot be bound, and why.");
  fields.member("mems", limit.numa_nodes, "The NUMA nodes that it excludes.");
  fields.member("reason", limit.reason, "");
  fields.member("cgroupPath", limit.directory,
                "With \"cgroup\": the topmost group without them; else \"\".");
  fields.member("text", limit.text, "One clause.");
}

void describe(Fields& fields, MemoryBinding& binding) {
  fields.type("MemoryBinding", "The NUMA nodes to which memory can be bound.");
  fields.member("mems", binding.numa_nodes, "The NUMA nodes that set_mempolicy and mbind accept.");
  fields.member("limits", binding.limits, "Every other NUMA node once.");
}

AuditDocument audit_document(const Report& report, const Observed& observed) {
  return {observed.root.empty() ? "/" : observed.root, report, observed.kubelet, observed.cgroups};
}

void add_labels(const Report& report, LabelledContainers& containers) {
  for (const AuditedContainer& one : report.containers) {
    containers.insert_or_assign(one.label, ContainerRef{one.pod, one.id.name});
  }
}

WatchLine watch_line(const WatchEvent& event, const LabelledContainers& containers,
                     std::chrono::milliseconds at) {
  const auto find = [&](const std::string& label) -> std::optional<ContainerRef> {
    const auto found = containers.find(label);
    if (found == containers.end()) return std::nullopt;
    return found->second;
  };
  WatchLine line;
  line.kind = event.kind;
  line.container = find(event.container).value_or(ContainerRef());
  line.other = find(event.other);
  line.cpus = event.cpus;
  line.after = find(event.after);
  if (event.kind == WatchEvent::Kind::kCleared) line.lasted = event.lasted;
  line.at = at;
  return line;
}

nlohmann::json to_json(const Report& report, const Observed& observed) {
  return fields::to_json(audit_document(report, observed));
}

nlohmann::json to_json(const Checks& checks, const ObservedSystem& system) {
  return fields::to_json(DoctorDocument{system.root.empty() ? "/" : system.root, checks});
}

}  // namespace pinfold::audit
