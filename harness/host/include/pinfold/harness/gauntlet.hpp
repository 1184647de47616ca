#pragma once

#include <compare>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/machine_set.hpp"
#include "pinfold/harness/platform.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/scenario_result.hpp"

/// A scenario on many machines, kernels, cgroup versions and container runtimes.
namespace pinfold::harness {

/// One of the scenarios of a gauntlet, as a document.
// NOLINTNEXTLINE(bugprone-exception-escape): about json, whose moving asserts
struct GauntletCase {
  nlohmann::json document;
  Platform platform;  ///< the one to run it on
};

/// Returns cases that cover every possible pair of a machine, a platform and a container runtime.
/// `document`: the scenario's file; `scenario`: the same on one of its platforms, with the disk,
/// kubelet and kernel arguments for every machine. A case is called "NAME.MACHINE", or
/// "NAME.MACHINE.RUNTIME" if the scenario has a runtime; its first step takes the machine's
/// `offline` CPUs offline, if any. It keeps the scenario's platforms and adds its own, because
/// steps may name them. Pure.
[[nodiscard]] std::vector<GauntletCase> gauntlet_cases(const nlohmann::json& document,
                                                       const Scenario& scenario,
                                                       const std::vector<SetMachine>& machines,
                                                       const std::vector<Platform>& platforms);

/// Returns the platforms on these kernels with the cgroup versions of the given ones: those that
/// exist, each once.
[[nodiscard]] std::vector<Platform> platforms_on(const std::vector<std::string>& kernels,
                                                 const std::vector<Platform>& like);

/// Loads a case. Errors: as load_scenarios.
[[nodiscard]] Result<Scenario> load_case(const GauntletCase& one,
                                         const std::filesystem::path& file);

/// Returns the file of a scenario with one line for its machine and one for each step.
[[nodiscard]] std::string short_yaml(const nlohmann::json& document, const Platform& platform);

/// What a failure has in common with a reduced one: the verdict, and the step that failed.
struct FailureKind {
  std::string verdict;
  std::string step;  ///< its title; "": none has failed

  friend auto operator<=>(const FailureKind&, const FailureKind&) = default;
};
[[nodiscard]] FailureKind kind_of(const ScenarioResult& result);
/// Returns the kind of failure of a scenario in a result of report_json or parse_report.
[[nodiscard]] FailureKind kind_of(const nlohmann::json& scenario);

}  // namespace pinfold::harness
