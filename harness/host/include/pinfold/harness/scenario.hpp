#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/judge.hpp"
#include "pinfold/harness/power_cuts.hpp"
#include "pinfold/harness/verdict.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// A KubeletConfiguration: inline, or in a file.
struct KubeletSource {
  nlohmann::json config = nlohmann::json::object();
  std::filesystem::path file;  ///< relative to the scenario; "": inline
};

/// A text file that the guest gets before the first step.
struct GuestFile {
  std::string guest_path;
  std::filesystem::path file;  ///< relative to the scenario
  std::string text;            ///< load_scenario reads it
};

/// Where a program is killed with signal 9: before one of its system calls that touch a file.
struct KillPoint {
  std::string call;  ///< "rename"; "": any that the guest's agent knows
  std::string file;  ///< the end of the file's path; "": any
  int number = 1;    ///< which one of such calls, from 1
};

/// Offers a pod to the product in the guest.
struct AdmitStep {
  enum class Answer { kAdmitted, kRejected, kError };
  std::filesystem::path file;           ///< relative to the scenario; "": inline
  std::string manifest;                 ///< YAML or JSON; load_scenario reads it from `file`
  std::string pod;                      ///< its metadata.name
  std::string uid;                      ///< its metadata.uid
  std::vector<std::string> containers;  ///< in the order in which they start
  Answer answer = Answer::kAdmitted;
  bool start = true;    ///< its containers count as started
  std::string message;  ///< must be part of the product's output; "": not checked
};
/// Starts one process: in every container of a pod or in one of them, or in a named cgroup.
struct StartStep {
  std::string pod;
  std::string container;  ///< of the pod; "": all
  std::string program;    ///< a name for later steps (without pod)
  std::string cgroup;
  std::vector<std::string> command;  ///< empty: a process that touches `memory`
  std::uint64_t memory = 8U << 20;
  std::uint64_t page_size = 0;  ///< of huge pages; 0: usual ones
  std::string error;  ///< must be part of the reason why it fails to start; "": it must start
};
/// Ends a program that was started by name.
struct StopStep {
  std::string program;
};
/// Removes a pod or a container: its processes end, then the product removes it.
struct RemoveStep {
  std::string pod;
  std::string container;  ///< "": the whole pod
};
/// The product starts again, possibly with another configuration.
struct RestartStep {
  enum class Answer { kOk, kError };
  std::optional<KubeletSource> kubelet;  ///< nothing: the same as before
  Answer answer = Answer::kOk;
  std::string message;  ///< must be part of the product's output; "": not checked
};
/// Takes CPUs offline, or back online.
struct CpusStep {
  CpuSet cpus;
  bool online = false;
};
/// Plugs CPUs or memory in, and brings them online.
struct PlugStep {
  CpuSet cpus;
  std::uint64_t memory = 0;  ///< bytes
  int node = 0;              ///< of the memory
};
/// Runs a command of the guest to its end.
struct ExecStep {
  std::vector<std::string> command;
  std::string cgroup;             ///< entered first; "": the agent's
  std::optional<int> status = 0;  ///< nullopt: any
  std::string output;             ///< must be part of stdout; "": not checked
};
/// Overwrites a value of the kernel.
struct WriteStep {
  std::string file;
  std::string container;  ///< "pod/container": `file` is then relative to its cgroup
  std::string value;
  std::string error;  ///< "EINVAL": the kernel must answer so; "": it must succeed
};
/// Expected values of one subject.
struct Expectation {
  enum class Of { kContainer, kCgroup, kProgram, kProcesses, kFile, kDisjoint };
  Of of = Of::kFile;
  std::string subject;                ///< "pod/container", a folder, a name, a file
  std::vector<std::string> disjoint;  ///< of kDisjoint: containers and folders
  std::vector<std::pair<std::string, ExpectedValue>> values;  ///< by the kernel's name
};
struct ExpectStep {
  std::vector<Expectation> expectations;
};
/// The guest starts to read the effective CPUs of all containers as fast as it can.
struct StartSamplingStep {};
/// Sampling ends; no exclusive CPU was ever observed in another container.
struct StopSamplingStep {
  std::uint64_t at_least = 1;  ///< looks
  std::string exclusive;       ///< a file of the guest, see parse_exclusive; "": none
};
/// The contents of the disk after a power cut, at every point of what the steps so far wrote.
struct PowerCutsStep {
  std::vector<Loss> losses;  ///< of unflushed writes
  std::vector<std::vector<std::string>>
      commands;                    ///< that must succeed on the disk that is left, in order
  std::vector<std::string> files;  ///< below the disk's folder: as after an acknowledged step
  std::uint64_t at_least = 1;      ///< cuts
};
/// Compares all desired values of the product with the kernel: the table of the demo.
struct VerifyStep {};

using Action = std::variant<AdmitStep, StartStep, StopStep, RemoveStep, RestartStep, CpusStep,
                            PlugStep, ExecStep, WriteStep, ExpectStep, VerifyStep,
                            StartSamplingStep, StopSamplingStep, PowerCutsStep>;

struct Step {
  Action action;
  std::string title;  ///< a short description
  int time_limit_s = 30;
  std::optional<KillPoint> kill_at;  ///< the command that the step runs first
};

/// A scenario on one platform; docs/scenario-format.md describes the file.
struct Scenario {
  std::string name;
  std::string description;
  VmMachine machine;  ///< with the platform
  int boot_limit_s = 0;
  KubeletSource kubelet;              ///< for the product
  std::vector<std::string> programs;  ///< of the host, put into the guest at the same place
  std::vector<GuestFile> files;
  std::vector<Step> steps;
  /// The expected verdict. Other than "passed": a test of the harness itself.
  Verdict verdict = Verdict::kPassed;
  /// Must be part of the reason: a test that must fail has to fail for the right reason.
  std::string because;
};

[[nodiscard]] std::string full_name(const Scenario& scenario);

/// Machines by name, each as a scenario would have it in `machine`.
using Machines = std::map<std::string, nlohmann::json, std::less<>>;

/// Reads a machines file: names with machines.
/// Errors: kInvalidArgument, "line 3: two-numa.cores: 'many': expected a number from 1 to 64".
[[nodiscard]] Result<Machines> parse_machines(std::string_view yaml_or_json);

/// Reads a scenario: one for each platform that it runs on, in the order of `on`. Files that it
/// names are not opened.
/// Errors: kInvalidArgument, "line 7: steps[2].write.value: 3: expected a string".
[[nodiscard]] Result<std::vector<Scenario>> parse_scenarios(std::string_view yaml_or_json,
                                                            const Machines& machines);
/// Reads a scenario file and the files that it names. Machines are looked up in the nearest
/// `machines.yaml`: in the file's folder or in one above. Errors name the file.
[[nodiscard]] Result<std::vector<Scenario>> load_scenarios(const std::filesystem::path& file);

/// Does the scenario need the product: does any step call it?
[[nodiscard]] bool needs_product(const Scenario& scenario);

}  // namespace pinfold::harness
