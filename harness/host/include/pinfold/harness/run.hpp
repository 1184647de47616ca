#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/harness/accelerator.hpp"
#include "pinfold/harness/judge.hpp"
#include "pinfold/harness/power_cuts.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/test_output.hpp"
#include "pinfold/harness/timeline.hpp"
#include "pinfold/harness/verdict.hpp"

namespace pinfold::harness {

/// The CPUs and memory that the kernel gives a group of processes.
struct ObservedGroup {
  std::string name;  ///< "pod/container", a program's name or a directory
  std::string cpus;  ///< the effective list
  std::string mems;
};

/// A test reported by a program of an `exec` step.
struct ProgramTest {
  std::string program;
  TestOutcome outcome;
};

/// The result of one step.
struct StepResult {
  std::string title;
  bool ok = false;
  std::vector<Check> checks;
  std::vector<ContainerRow> rows;     ///< of `verify`
  std::string online;                 ///< CPUs, after `verify` and `expect`
  std::vector<ObservedGroup> groups;  ///< known to the scenario, after `verify` and `expect`
  nlohmann::json machine;             ///< as the guest reports it after `plug`; else null
  std::optional<PowerCuts> power_cuts;
  std::optional<Timeline> timeline;  ///< of `stopSampling`
  std::vector<StepResult> tests;     ///< of an `exec` step with `results`
  std::optional<ProgramTest> test;   ///< set if this "step" is one of those tests
  std::string message;               ///< why it failed, unless the checks show it
  Milliseconds elapsed{0};
};

/// The result of a scenario.
struct ScenarioResult {
  std::string name;
  std::string description;
  std::filesystem::path file;
  Verdict verdict = Verdict::kHarnessError;
  Verdict expected = Verdict::kPassed;
  std::string because;   ///< text that `message` must contain
  std::string message;   ///< empty if it passed
  std::string console;   ///< end of the console output; empty if it passed
  VmMachine machine;     ///< as requested
  nlohmann::json guest;  ///< as the guest reports it; null if it never reported
  std::vector<StepResult> steps;
  std::vector<std::string> notes;  ///< "the first boot never reached its init: hang"
  int boots = 0;
  bool restored = false;  ///< it was restored from a snapshot
  bool reset = false;     ///< its guest is the previous scenario's, reset
  std::string kernel;
  std::string accelerator;
  Milliseconds until_ready{0};  ///< until the guest's hardware was verified
  Milliseconds elapsed{0};

  /// True if the scenario ended as its file expects.
  [[nodiscard]] bool ok() const {
    return verdict == expected && message.find(because) != std::string::npos;
  }
};

/// Pinfold's programs for guests of an architecture.
struct GuestParts {
  std::filesystem::path agent;    ///< the guest agent's program
  std::filesystem::path product;  ///< the pinfold command; "": none
};

/// Options of a run.
struct RunOptions {
  std::filesystem::path image_script;  ///< vm-images/build
  GuestParts amd64;
  GuestParts arm64;
  std::filesystem::path cri_client;  ///< pinfold-cri; "": no scenario has a container runtime
  Accelerator accelerator = Accelerator::kTcg;
  std::string without_kvm;  ///< why KVM is not used; "": it is used, or was not tried
  std::string qemu;         ///< "": the host's QEMU, or the newer one for machines that need it
  bool use_snapshots = true;
  bool keep = false;               ///< keep the guest of a failed step, see keep_guest
  std::filesystem::path coverage;  ///< directory for gcov data of the guests; "": none
  int interrupt_fd = -1;
  double time_scale = 1;  ///< factor for all time limits
  std::function<void(const std::string&)> on_progress = [](const std::string&) {};
  std::function<void(const StepResult&)> on_step = [](const StepResult&) {};

  [[nodiscard]] const GuestParts& parts_for(Arch arch) const {
    return arch == Arch::kArm64 ? arm64 : amd64;
  }
};

struct SharedGuest;

/// Runs a scenario within its time limits: in the shared guest if there is one, else in a new
/// virtual machine. Stores its own guest there if one is wanted and the scenario ended as expected.
[[nodiscard]] ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options,
                                          SharedGuest& shared);

}  // namespace pinfold::harness
