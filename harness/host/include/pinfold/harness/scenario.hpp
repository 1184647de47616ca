#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/harness/judge.hpp"
#include "pinfold/harness/kill_point.hpp"
#include "pinfold/harness/power_cuts.hpp"
#include "pinfold/harness/test_output.hpp"
#include "pinfold/harness/verdict.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// The container runtimes that vm-images/build prepares.
inline constexpr std::string_view kRuntimes[] = {"containerd-1.7", "containerd-2.1"};

/// The runtime's log in the guest, written by runtime.sh.
inline constexpr const char* kRuntimeLog = "/run/containerd.log";

/// The least memory of a machine with a runtime, in bytes: the initramfs with it takes up to 150
/// MiB, and twice that while it is unpacked.
inline constexpr std::uint64_t kRuntimeMemory = 1024 * kMiB;

/// The default time limit of each step with the runtime.
inline constexpr int kRuntimeLimitS = 120;

/// The log of the kubelet's last start in the guest, written by kubelet.sh.
inline constexpr const char* kKubeletLog = "/run/kubelet.log";

/// The default time limit of each step with a kubelet: without KVM its first pod takes two minutes.
inline constexpr int kKubeletLimitS = 300;

/// A KubeletConfiguration: inline, or in a file.
struct KubeletSource {
  nlohmann::json config = nlohmann::json::object();
  std::filesystem::path file;  ///< relative to the scenario; "": inline
};

/// A text file that is copied into the guest before the first step.
struct GuestFile {
  std::string guest_path;
  std::filesystem::path file;  ///< relative to the scenario
  std::string text;            ///< filled in by load_scenario
};

/// Asks the product in the guest to admit a pod.
struct AdmitStep {
  enum class Answer { kAdmitted, kRejected, kError };
  std::filesystem::path file;           ///< relative to the scenario; "": inline
  std::string manifest;                 ///< YAML or JSON; load_scenario reads it from `file`
  std::string pod;                      ///< its metadata.name
  std::string uid;                      ///< its metadata.uid
  std::vector<std::string> containers;  ///< in start order
  Answer answer = Answer::kAdmitted;
  bool start = true;    ///< admit with --start: Pinfold counts its containers as started
  std::string message;  ///< must be part of the product's output; "": not checked
};
/// Starts one process: in every container of a pod or in one of them, or in a named cgroup.
struct StartStep {
  std::string pod;
  std::string container;  ///< of the pod; "": all
  std::string program;    ///< a name for later steps (without pod)
  std::string cgroup;
  std::vector<std::string> command;  ///< empty: run a process that touches `memory`
  std::uint64_t memory = 8U << 20;
  std::uint64_t page_size = 0;  ///< of huge pages; 0: base pages
  std::string error;            ///< must be part of the start's error; "": the start must succeed
};
/// Stops a program that was started by name.
struct StopStep {
  std::string program;
};
/// Removes a pod or a container: first its processes end, then the product removes it.
struct RemoveStep {
  std::string pod;
  std::string container;  ///< "": the whole pod
};
/// Restarts the product, optionally with a new configuration.
struct RestartStep {
  enum class Answer { kOk, kError };
  std::optional<KubeletSource> kubelet;  ///< nullopt: the previous configuration
  Answer answer = Answer::kOk;
  std::string message;  ///< must be part of the product's output; "": not checked
};
/// Takes CPUs offline or online.
struct CpusStep {
  CpuSet cpus;
  bool online = false;
};
/// Hot-plugs CPUs or memory and brings them online.
struct PlugStep {
  CpuSet cpus;
  std::uint64_t memory = 0;  ///< bytes
  int node = 0;              ///< NUMA node of the memory
};
/// Runs a command in the guest to its end.
struct ExecStep {
  std::vector<std::string> command;
  std::string cgroup;                 ///< the command's cgroup; "": that of the agent
  std::optional<int> status = 0;      ///< nullopt: any
  std::string output;                 ///< must be part of stdout; "": not checked
  std::optional<TestFormat> results;  ///< how it reports tests; nullopt: it is not a test
};
/// Overwrites a kernel value.
struct WriteStep {
  std::string file;
  std::string container;  ///< "pod/container": `file` is relative to its cgroup
  std::string value;
  std::string error;  ///< "EINVAL": the write must fail with it; "": the write must succeed
};
/// Expected values of one subject.
struct Expectation {
  enum class Of { kContainer, kCgroup, kProgram, kProcesses, kFile, kStateFile, kDisjoint };
  Of of = Of::kFile;
  std::string subject;                ///< "pod/container", a directory, a program's name, a file
  std::vector<std::string> disjoint;  ///< for kDisjoint: containers and directories
  std::vector<std::pair<std::string, ExpectedValue>> values;  ///< by kernel file name
};
struct ExpectStep {
  std::vector<Expectation> expectations;
};
/// Starts the sampler, which reads the effective CPUs of all containers as often as it can.
struct StartSamplingStep {};
/// Stops the sampler; no exclusive CPU may ever have been observed in another container.
struct StopSamplingStep {
  std::uint64_t at_least = 1;  ///< samples
  std::string exclusive;       ///< a file of the guest, see parse_exclusive; "": none
  NeverPinned never_pinned = NeverPinned::kCount;  ///< only with a runtime
};
/// Starts the witness, which records from the kernel's scheduler where tasks of containers run.
struct StartWitnessStep {};
/// Stops the witness; no task may have run on exclusive CPUs of another container, and no container
/// with exclusive CPUs anywhere else.
struct StopWitnessStep {
  std::size_t at_least = 1;  ///< containers and pods with exclusive CPUs that have run
  std::string exclusive;     ///< as in StopSamplingStep, of groups that keep their CPUs
};
/// Examines the disk after a power cut at every point of what the steps so far wrote.
struct PowerCutsStep {
  std::vector<WriteLoss> losses;                   ///< of unflushed writes
  std::vector<std::vector<std::string>> commands;  ///< must succeed on the resulting disk, in order
  std::vector<std::string> files;  ///< paths on the disk: contents as after an acknowledged step
  std::uint64_t at_least = 1;      ///< cuts
};
/// Compares all desired values of the product, or of the machine's kubelet, with the kernel, as a
/// table.
struct VerifyStep {};

/// Asks the container runtime for a pod, as a kubelet does.
struct RunPodStep {
  std::filesystem::path file;           ///< relative to the scenario; "": inline
  std::string manifest;                 ///< YAML or JSON; load_scenario reads it from `file`
  std::string pod;                      ///< its metadata.name
  std::vector<std::string> containers;  ///< by name
  std::string error;                    ///< must be part of the runtime's error; "": none
};
/// Stops or removes a pod of the runtime.
struct PodStep {
  enum class Do { kStop, kRemove };
  Do what = Do::kStop;
  std::string pod;
  std::string error;  ///< as in RunPodStep
};
/// Changes a container of the runtime.
struct ContainerStep {
  enum class Do { kCreate, kStart, kStop, kRemove };
  Do what = Do::kCreate;
  std::string container;  ///< "pod/container"
  int grace_s = 0;        ///< time for a container to end before it is killed
  std::string error;      ///< as in RunPodStep
};
/// Runs a command in a container of the runtime to its end.
struct ExecContainerStep {
  std::string container;  ///< "pod/container"
  std::vector<std::string> command;
  std::optional<int> status = 0;  ///< nullopt: any
  std::string output;             ///< must be part of stdout; "": not checked
};
/// Kills the runtime or starts it again.
struct RuntimeStep {
  enum class Do { kKill, kRestart };
  Do what = Do::kKill;
};

/// Starts the kubelet, stops it, or both.
struct KubeletStep {
  enum class Do { kStart, kStop, kRestart };
  enum class Answer { kStarted, kRefused };
  Do what = Do::kStart;
  std::string signal = "TERM";  ///< ends a running kubelet
  std::string binary;           ///< as VmMachine::kubelet; "": the previous program
  KubeletSource config;         ///< a merge patch of the previous configuration
  Answer answer = Answer::kStarted;
  std::string message;  ///< must be part of the log of this start; "": not checked
};
/// Waits until a kubelet whose start has a `kill_at` has been killed there.
struct WaitKubeletStep {};
/// Gives the kubelet a manifest of a static pod.
struct RunStaticPodStep {
  std::filesystem::path file;           ///< relative to the scenario; "": inline
  std::string manifest;                 ///< YAML or JSON; load_scenario reads it from `file`
  std::string pod;                      ///< its metadata.name
  std::vector<std::string> containers;  ///< by name
};
/// Removes the manifest of a static pod.
struct RemoveStaticPodStep {
  std::string pod;
};
/// Waits until the kubelet reports that a static pod is in the state `until`.
struct WaitPodStep {
  enum class Until { kRunning, kRejected, kRemoved };
  std::string pod;
  Until until = Until::kRunning;
  std::string reason;   ///< must be part of status.reason; "": not checked
  std::string message;  ///< must be part of status.message; "": not checked
};

using StepAction =
    std::variant<AdmitStep, StartStep, StopStep, RemoveStep, RestartStep, CpusStep, PlugStep,
                 ExecStep, WriteStep, ExpectStep, VerifyStep, StartSamplingStep, StopSamplingStep,
                 StartWitnessStep, StopWitnessStep, PowerCutsStep, RunPodStep, PodStep,
                 ContainerStep, ExecContainerStep, RuntimeStep, KubeletStep, WaitKubeletStep,
                 RunStaticPodStep, RemoveStaticPodStep, WaitPodStep>;

struct ScenarioStep {
  StepAction action;
  std::string title;           ///< a short description
  bool has_own_title = false;  ///< its author chose the title
  int time_limit_s = 30;
  /// Where to kill the first command of the step, or the kubelet that it starts.
  std::optional<KillPoint> kill_at;
  std::vector<std::string> path;  ///< of its verb in the document: steps, 2, exec
  std::string definition;         ///< the document of the step, as JSON
};

/// A scenario on one platform; docs/scenario-format.md describes the file.
struct Scenario {
  std::string name;
  std::string description;
  VmMachine machine;  ///< including the platform
  int boot_limit_s = 0;
  std::filesystem::path kernel;  ///< of the platforms "own/..."; "": none
  std::string runtime;           ///< "containerd-2.1"; "": none
  KubeletSource kubelet;         ///< for the product, and for the kubelet of the machine
  /// The programs of kubelets on the host, without duplicates, that of the machine first;
  /// load_scenarios replaces environment variables.
  std::vector<std::filesystem::path> kubelets;
  /// Why the scenario cannot run here; "": it can.
  std::string skipped;
  std::vector<std::string> programs;  ///< host programs to copy into the guest at the same path
  std::vector<std::string> modules;   ///< of the kernel, to load before the first step
  std::vector<GuestFile> files;
  std::vector<std::string> logs;  ///< guest files whose last lines a failed step shows
  std::vector<ScenarioStep> steps;
  /// The expected verdict. Any other than "passed" means a test of the harness itself.
  Verdict verdict = Verdict::kPassed;
  /// Must be part of the failure's message, so that a test cannot fail for the wrong reason.
  std::string because;
};

[[nodiscard]] std::string full_name(const Scenario& scenario);

/// Returns true if the guest needs Pinfold: a step calls it, or there is a configuration for it.
[[nodiscard]] bool needs_product(const Scenario& scenario);

}  // namespace pinfold::harness
