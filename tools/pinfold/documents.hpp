#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pinfold/agent/fields.hpp"
#include "pinfold/audit/fields.hpp"
#include "pinfold/audit/memory_binding.hpp"
#include "pinfold/checkpoint/convert.hpp"
#include "pinfold/checkpoint/diff.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/running_container.hpp"
#include "pinfold/explain/explanation.hpp"
#include "pinfold/fields/json.hpp"
#include "pinfold/machine/machine.hpp"
#include "pinfold/noise/noise.hpp"
#include "pinfold/quiet/kept_knobs.hpp"
#include "pinfold/simulate/pods.hpp"
#include "pinfold/verbs/fields.hpp"

/// What the commands print with `-o json`: docs/json.md.
namespace pinfold::tools {

/// What is measured without reading threads: see NoiseMeter. It has no quiet score, which counts
/// threads as well.
struct InterruptedCpu {
  CpuId cpu;
  double per_second = 0;                         ///< interrupts
  double lost_us = 0;                            ///< microseconds that they took, per second
  std::vector<noise::NoiseSource> sources = {};  ///< the most frequent first
};
struct InterruptReport {
  std::chrono::nanoseconds duration{0};   ///< between the two samples
  std::vector<InterruptedCpu> cpus = {};  ///< ascending
};

struct StatusDocument {
  agent::NodeStatus node;
  std::optional<verbs::Comparison> comparison;
  std::optional<verbs::PodResourcesSocket> pod_resources;
  std::map<std::string, double> load;         ///< by CPU, with --watch
  std::optional<InterruptReport> interrupts;  ///< likewise; nullopt: not measured
};

struct AuditedNode {
  audit::AuditDocument audit;
  std::optional<noise::NoiseReport> noise;  ///< nullopt: not measured
};

/// A pod of an admission.
struct AdmittedPod : agent::DecidedPod {
  bool is_enforced = false;
  std::optional<Error> not_enforced;
  std::optional<Trace> trace;  ///< only with --explain
};
struct AdmitDocument {
  std::optional<agent::CgroupsStatus> cgroups;
  Profile profile = Profile::kFixed;
  agent::ProfileSource profile_source = agent::ProfileSource::kDefault;
  bool is_stored = false;
  std::optional<Error> not_settled;
  std::vector<AdmittedPod> pods;
};

struct StartDocument {
  ContainerRef container;
  bool is_enforced = false;
  std::optional<Error> not_enforced;
  std::optional<Error> not_settled;
};

struct RemoveDocument {
  PodRef pod;
  std::string container;  ///< "": the whole pod
  CpuSet shared_pool;
  bool is_stored = false;
  bool is_enforced = false;
  std::optional<Error> not_enforced;
  std::optional<Error> not_settled;
};

struct ResizeDocument {
  ContainerRef container;
  agent::ResizeOutcome outcome;
  bool is_enforced = false;
  bool is_stored = false;
  std::optional<Error> not_settled;
};

/// A value of the system that Pinfold has changed.
struct QuietedKnob {
  quiet::Knob knob;
  quiet::KeptKnob kept;
  std::optional<std::string> now;  ///< nullopt: it does not exist, or could not be read
};
struct QuietDocument {
  bool is_restored = false;
  std::vector<QuietedKnob> knobs;
};

struct ReconcileDocument {
  agent::ReconcileReport report;
  std::optional<Error> not_settled;
};

struct DefragmentDocument {
  verbs::Reconfigured outcome;
  std::optional<std::string> then;  ///< the command that admits the pod
};

struct ExplainDocument {
  Profile profile = Profile::kFixed;
  std::vector<Explanation> pods;
};

/// A group, or a process in it, and the NUMA nodes to which it may bind memory.
struct BoundGroup {
  std::optional<ContainerRef> container;  ///< nullopt: none is known
  pid_t pid = 0;                          ///< 0: no process was named
  std::string cgroup_path;                ///< absolute, in the hierarchy with the cpusets
  audit::MemoryBinding binding;
  bool is_filtered = false;           ///< see audit::BindingFacts
  std::vector<MemoryBlock> assigned;  ///< by the memory manager to the container
};
/// `pinfold explain --memory`.
struct ExplainMemoryDocument {
  std::vector<BoundGroup> groups;
};

/// The owner of a CPU.
struct CpuOwner {
  std::int32_t id = 0;
  std::string use;                    ///< as of CpuUse, or "none"
  std::string label;                  ///< for people
  std::optional<ContainerRef> owner;  ///< of an exclusive CPU
};
/// A thread on a CPU.
struct CpuThread {
  pid_t pid = 0;
  pid_t tid = 0;
  std::string command;
  std::string state;
  bool is_kernel = false;
  std::optional<ContainerRef> owner;
  std::string cgroup_path;
};
/// Something that may run on a CPU: a container, a foreign group, or kernel threads.
struct CpuCandidate {
  std::optional<ContainerRef> owner;
  std::string cgroup_path;
  bool is_kernel = false;
  std::string isolation;  ///< of a container that the state permits there; else ""
  std::size_t processes = 0;
  std::size_t threads = 0;
  std::string note;  ///< see enforce::limit_of
};
struct CpuDocument {
  Cpu cpu;
  CpuOwner owner;
  std::vector<CpuOwner> siblings;
  std::vector<CpuThread> threads;
  std::vector<CpuCandidate> may_run;
  std::optional<noise::CpuNoise> measured;  ///< nullopt: not of this machine
};
struct WhoDocument {
  std::vector<CpuDocument> cpus;
};

/// The simulation of one node.
struct SimulatedPod {
  PodRef pod;
  std::optional<Rejection> rejection;
  bool is_removed = false;
  std::vector<ContainerResources> containers;
  std::vector<std::string> notes;
};
struct SimulatedNuma {
  std::int32_t id = 0;
  std::size_t cpus = 0;
  std::size_t exclusive = 0;
  std::size_t free = 0;
};
struct SimulatedRun {
  std::string label;
  std::size_t events = 0;
  std::size_t removed = 0;
  std::map<std::string, std::size_t> rejections;  ///< by reason
  std::size_t allocatable_cpus = 0;
  std::size_t exclusive_cpus = 0;
  double mean_exclusive_cpus = 0;
  std::size_t peak_exclusive_cpus = 0;
  std::size_t free_cpus = 0;
  std::size_t free_whole_cores = 0;
  std::size_t free_split_core_cpus = 0;
  std::size_t most_free_on_one_numa = 0;
  std::vector<SimulatedNuma> numa_nodes;
  std::vector<SimulatedPod> pods;
};
/// A pod that two simulations treat differently.
struct ChangedPod {
  PodRef pod;
  simulate::PodChange change = simulate::PodChange::kSame;
};
struct RunComparison {
  std::map<simulate::PodChange, std::size_t> counts;
  std::vector<ChangedPod> pods;
};
struct SimulateDocument {
  std::string machine_name;
  bool is_complete = false;
  std::vector<SimulatedRun> runs;
  std::optional<RunComparison> compared;
};
/// A scheduler in front of many nodes, by one rule: `pinfold simulate --cluster`.
struct ScheduledRun {
  std::string rule;
  std::size_t placed = 0;
  std::size_t bounced = 0;
  std::vector<std::size_t> bounced_by_time;
  std::size_t waited = 0;
  std::size_t unplaced = 0;
  std::size_t peak = 0;
  std::chrono::nanoseconds p50{0};
  std::chrono::nanoseconds p99{0};
  std::size_t fleet_bytes = 0;
};
struct ClusterDocument {
  std::size_t nodes = 0;
  std::size_t pods = 0;
  std::uint64_t seed = 0;
  std::chrono::nanoseconds delay{0};
  std::vector<ScheduledRun> runs;
};
/// A line of `pinfold simulate --bench`.
struct BenchLine {
  std::string name;
  std::size_t admissions = 0;
  std::optional<std::chrono::nanoseconds> p50;
  std::optional<std::chrono::nanoseconds> p99;
};

/// A state in the kubelet's own format.
// NOLINTNEXTLINE(bugprone-exception-escape): about json, whose moving asserts
struct KubeletState {
  nlohmann::json value;
};
/// How one kubelet treats a state file.
struct KubeletVerdict {
  std::string kubelet;  ///< "1.36"
  bool has_pod_level_gate = false;
  bool writes = false;
  std::string read_error;
  bool is_crash = false;
  std::string start_error;
  std::vector<checkpoint::Difference> lost;
};
struct ShowDocument {
  std::string file;
  std::string kind;  ///< "cpu" or "memory"
  int version = 0;
  std::vector<std::string> warnings;
  std::vector<KubeletVerdict> kubelets;
  KubeletState state;
};
/// An element of the list that `pinfold checkpoint verify` prints.
struct VerifiedFile {
  std::string file;
  KubeletVerdict verdict;
  std::vector<checkpoint::WrongSum> wrong_sums;
  std::optional<KubeletState> state;
};
/// An element of the list that `pinfold checkpoint diff` prints.
struct DiffLine {
  std::string kind;
  checkpoint::Difference difference;
};
struct ConvertDocument {
  std::vector<checkpoint::Note> kept;
  std::vector<checkpoint::Note> lost;
  std::vector<checkpoint::Note> rejected;
  bool is_written = false;
  std::optional<bool> starts;
  std::string start_error;
};
struct RepairDocument {
  std::vector<checkpoint::Note> done;
  std::vector<checkpoint::ReadBack> read_back;
  std::vector<checkpoint::Note> lost;
  std::vector<checkpoint::Note> kept;
  std::string kernel;
  bool is_written = false;
  bool starts = false;
  std::string validation;
};

/// A warning of a command.
struct WarningText {
  std::string code;
  std::string message;
};
/// A line on standard error.
struct MessageLine {
  std::optional<Error> error;
  std::optional<WarningText> warning;
};

void describe(fields::Fields& fields, StatusDocument& document);
void describe(fields::Fields& fields, AuditedNode& document);
void describe(fields::Fields& fields, AdmittedPod& pod);
void describe(fields::Fields& fields, AdmitDocument& document);
void describe(fields::Fields& fields, StartDocument& document);
void describe(fields::Fields& fields, RemoveDocument& document);
void describe(fields::Fields& fields, QuietedKnob& knob);
void describe(fields::Fields& fields, QuietDocument& document);
void describe(fields::Fields& fields, ReconcileDocument& document);
void describe(fields::Fields& fields, DefragmentDocument& document);
void describe(fields::Fields& fields, ResizeDocument& document);
void describe(fields::Fields& fields, ExplainDocument& document);
void describe(fields::Fields& fields, BoundGroup& group);
void describe(fields::Fields& fields, ExplainMemoryDocument& document);
void describe(fields::Fields& fields, CpuOwner& owner);
void describe(fields::Fields& fields, CpuThread& thread);
void describe(fields::Fields& fields, CpuCandidate& candidate);
void describe(fields::Fields& fields, CpuDocument& document);
void describe(fields::Fields& fields, WhoDocument& document);
void describe(fields::Fields& fields, SimulatedPod& pod);
void describe(fields::Fields& fields, SimulatedNuma& node);
void describe(fields::Fields& fields, SimulatedRun& run);
void describe(fields::Fields& fields, ChangedPod& pod);
void describe(fields::Fields& fields, RunComparison& comparison);
void describe(fields::Fields& fields, SimulateDocument& document);
void describe(fields::Fields& fields, BenchLine& line);
void describe(fields::Fields& fields, ScheduledRun& run);
void describe(fields::Fields& fields, ClusterDocument& document);
void describe_value(fields::Fields& fields, KubeletState& state);
void describe(fields::Fields& fields, KubeletVerdict& verdict);
void describe(fields::Fields& fields, ShowDocument& document);
void describe(fields::Fields& fields, VerifiedFile& file);
void describe(fields::Fields& fields, DiffLine& line);
void describe(fields::Fields& fields, ConvertDocument& document);
void describe(fields::Fields& fields, RepairDocument& document);
void describe(fields::Fields& fields, WarningText& warning);
void describe(fields::Fields& fields, MessageLine& line);

/// Returns the text of a document for standard output, with a line break at the end. `indent`: -1
/// for one line. Bytes that are not UTF-8 are replaced.
template <class Document>
[[nodiscard]] std::string json_text(const Document& document, int indent = 2) {
  return fields::to_json(document).dump(indent, ' ', false,
                                        nlohmann::json::error_handler_t::replace) +
         "\n";
}

/// A kind of document with its schema and reader.
struct DocumentKind {
  std::string_view name;  ///< of the schema's file, without ".schema.json": "status"
  std::string_view title;
  nlohmann::json (*schema)(std::string_view title);
  /// Errors: kInvalidArgument for a value that is not such a document.
  Result<void> (*check)(const nlohmann::json& value);
};
/// Returns all documents of the commands, the C interface and the service's protocol.
[[nodiscard]] std::span<const DocumentKind> document_kinds();
/// Returns the document that a command prints, by its words: "checkpoint show"; nullptr if none.
[[nodiscard]] const DocumentKind* document_of_command(std::string_view words);

}  // namespace pinfold::tools
