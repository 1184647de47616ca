#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/verdict.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// Offers a pod to the product in the guest.
struct AdmitStep {
  enum class Answer { kAdmitted, kRejected, kError };
  std::filesystem::path file;  ///< relative to the scenario; "": inline
  std::string manifest;        ///< YAML or JSON; load_scenario reads it from `file`
  std::string pod;             ///< its metadata.name
  std::string uid;             ///< its metadata.uid
  Answer answer = Answer::kAdmitted;
  std::string message;  ///< must be a part of what the product says; "": not looked at
};
/// Starts one process: in every container of a pod, or in a named cgroup.
struct StartStep {
  std::string pod;
  std::string program;  ///< a name to speak of it later (without pod)
  std::string cgroup;
  std::vector<std::string> command;  ///< empty: a process that touches `memory`
  std::uint64_t memory = 8U << 20;
};
/// Ends a program that was started by name.
struct StopStep {
  std::string program;
};
/// Removes a pod: its processes end, then the product takes it off.
struct RemoveStep {
  std::string pod;
};
/// Runs a command of the guest to its end.
struct ExecStep {
  std::vector<std::string> command;
  std::string cgroup;             ///< entered first; "": the agent's
  std::optional<int> status = 0;  ///< nullopt: any
  std::string output;             ///< must be a part of stdout; "": not looked at
};
/// Overwrites a value of the kernel.
struct WriteStep {
  std::string file;
  std::string container;  ///< "pod/container": `file` is then relative to its cgroup
  std::string value;
  std::string error;  ///< "EINVAL": the kernel must refuse it so; "": must take it
};
/// Values that the kernel must have.
struct Expectation {
  enum class Of { kContainer, kCgroup, kProgram, kFile };
  Of of = Of::kFile;
  std::string subject;  ///< "pod/container", a folder, a name, a file
  std::vector<std::pair<std::string, std::string>> values;  ///< kernel's name to value
};
struct ExpectStep {
  std::vector<Expectation> expectations;
};
/// Everything that the product has decided, against the kernel: the table of the demo.
struct VerifyStep {};

using Action = std::variant<AdmitStep, StartStep, StopStep, RemoveStep, ExecStep, WriteStep,
                            ExpectStep, VerifyStep>;

struct Step {
  Action action;
  std::string title;  ///< what it does, in a few words
  int time_limit_s = 30;
};

/// A scenario file; docs/scenario-format.md describes it.
struct Scenario {
  std::string name;
  std::string description;
  VmMachine machine;
  int boot_limit_s = 90;
  nlohmann::json kubelet = nlohmann::json::object();  ///< KubeletConfiguration for the product
  std::filesystem::path kubelet_file;  ///< where it is to be read from, relative to the scenario
  std::vector<std::string> programs;   ///< of the host, put into the guest at the same place
  std::vector<Step> steps;
  /// How it must end. Other than "passed": a test of the harness itself.
  Verdict verdict = Verdict::kPassed;
  /// Must be a part of the reason: a test that must fail has to fail for the right one.
  std::string because;
};

/// Reads a scenario. Files that it names are not opened.
/// Errors: kInvalidArgument, "line 7: steps[2].write.value: 3: expected a string".
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view yaml_or_json);
/// Reads a scenario file and the manifests that it names. Errors name the file.
[[nodiscard]] Result<Scenario> load_scenario(const std::filesystem::path& file);

/// Does the machine need the product: has it steps that speak to it?
[[nodiscard]] bool needs_product(const Scenario& scenario);

}  // namespace pinfold::harness
