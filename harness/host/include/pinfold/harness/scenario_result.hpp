#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/harness/judge.hpp"
#include "pinfold/harness/power_cuts.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/test_output.hpp"
#include "pinfold/harness/timeline.hpp"
#include "pinfold/harness/verdict.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// The CPUs and memory that the kernel gives a group of processes.
struct GroupCpuset {
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
  std::vector<CheckedValue> checks;
  std::vector<ContainerRow> rows;   ///< of `verify`
  std::string online;               ///< CPUs, after `verify` and `expect`
  std::vector<GroupCpuset> groups;  ///< known to the scenario, after `verify` and `expect`
  nlohmann::json machine;           ///< as the guest reports it after `plug`; else null
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

  /// True if the scenario ended as its file expects, or was skipped.
  [[nodiscard]] bool ok() const {
    if (verdict == Verdict::kSkipped) return true;
    return verdict == expected && message.find(because) != std::string::npos;
  }
};

}  // namespace pinfold::harness
