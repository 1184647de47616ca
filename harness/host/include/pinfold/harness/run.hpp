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
#include "pinfold/harness/verdict.hpp"

namespace pinfold::harness {

/// What the kernel gives a group of processes.
struct ObservedGroup {
  std::string name;  ///< "pod/container", a program's name, a folder
  std::string cpus;  ///< the effective list
  std::string mems;
};

/// How one step went.
struct StepResult {
  std::string title;
  bool ok = false;
  std::vector<Check> checks;
  std::vector<ContainerRow> rows;     ///< of `verify`
  std::string online;                 ///< CPUs, after `verify` and `expect`
  std::vector<ObservedGroup> groups;  ///< that the scenario knows, after `verify` and `expect`
  nlohmann::json machine;             ///< as the guest has it after `plug`; else null
  std::optional<PowerCuts> power_cuts;
  std::string message;  ///< why it failed, beyond the checks
  Milliseconds elapsed{0};
};

/// How a scenario went.
struct ScenarioResult {
  std::string name;
  std::string description;
  std::filesystem::path file;
  Verdict verdict = Verdict::kHarnessError;
  Verdict expected = Verdict::kPassed;
  std::string because;   ///< must be a part of `message`
  std::string message;   ///< empty if it passed
  std::string console;   ///< its end; empty if it passed
  VmMachine machine;     ///< as requested
  nlohmann::json guest;  ///< as the guest reports it; null: it never did
  std::vector<StepResult> steps;
  std::vector<std::string> notes;  ///< "the first boot never reached its init: hang"
  int boots = 0;
  bool restored = false;  ///< from a snapshot
  std::string kernel;
  std::string accelerator;
  Milliseconds until_ready{0};  ///< until the guest's machine was checked
  Milliseconds elapsed{0};

  /// It ended as the file expects.
  [[nodiscard]] bool ok() const {
    return verdict == expected && message.find(because) != std::string::npos;
  }
};

/// What scenarios are run with.
struct RunOptions {
  std::filesystem::path image_script;  ///< vm-images/build
  std::filesystem::path agent;         ///< the guest agent's program
  std::filesystem::path product;       ///< the pinfold command; "": none
  Accelerator accelerator = Accelerator::kTcg;
  std::string qemu;  ///< "": the host's, or the newer one where the machine needs it
  bool use_snapshots = true;
  std::filesystem::path coverage;  ///< directory for gcov data of the guests; "": none
  int interrupt_fd = -1;
  double time_scale = 1;  ///< all limits are multiplied by this
  std::function<void(const std::string&)> on_progress = [](const std::string&) {};
  std::function<void(const StepResult&)> on_step = [](const StepResult&) {};
};

/// Runs a scenario in a new virtual machine, within its time limits.
[[nodiscard]] ScenarioResult run_scenario(const Scenario& scenario, const RunOptions& options);

}  // namespace pinfold::harness
