#include "pinfold/harness/preflight.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "pinfold/harness/host.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/kubelet.hpp"
#include "pinfold/harness/qemu_command.hpp"

namespace pinfold::harness {
namespace {

template <class Value>
std::string problem_of(const Result<Value>& checked) {
  return checked ? "" : checked.error().message;
}

Result<void> check_guests(const std::vector<const Scenario*>& scenarios, int jobs) {
  PINFOLD_LET(const auto memory, host_memory("/"));
  std::vector<const VmMachine*> machines;
  machines.reserve(scenarios.size());
  for (const Scenario* scenario : scenarios) machines.push_back(&scenario->machine);
  return check_memory(machines, jobs, memory);
}

/// Returns true if the scenario uses the QEMU in the cache.
bool uses_cached_qemu(const Scenario& scenario, const RunOptions& options) {
  return options.qemu.empty() && needs_newer_qemu(scenario.machine);
}

/// Checks what is not downloaded: a kubelet's program and the QEMU of the host.
std::string problem_with_host(const Scenario& scenario, const RunOptions& options) {
  std::string problem = problem_of(check_kubelets(scenario));
  if (!problem.empty() || uses_cached_qemu(scenario, options)) return problem;
  const VmMachine& machine = scenario.machine;
  return problem_of(check_qemu(
      options.qemu.empty() ? qemu_program(machine.platform.arch) : options.qemu, machine));
}

/// Downloads what is missing, each thing once.
class Downloader {
 public:
  explicit Downloader(const RunOptions& options) : options_(options) {}

  /// Returns the first problem with what a scenario needs from the cache; "" if there is none.
  [[nodiscard]] std::string problem_with(const Scenario& scenario) {
    const Platform& platform = scenario.machine.platform;
    std::string problem;
    // A user's kernel is checked together with the machine that it must run.
    if (platform.kernel != kOwnKernel) {
      problem = once(to_string(Platform{platform.kernel, CgroupMode::kV2, platform.arch}), [&] {
        return problem_of(prepare_image(options_.image_script, platform.kernel, platform.arch));
      });
    }
    if (problem.empty() && uses_cached_qemu(scenario, options_)) {
      problem = once("QEMU", [&] { return problem_of(prepare_qemu(options_.image_script)); });
    }
    if (problem.empty() && !scenario.runtime.empty()) {
      problem = once(scenario.runtime, [&] {
        return problem_of(prepare_runtime_image(options_.image_script, scenario.runtime));
      });
    }
    return problem;
  }

 private:
  template <class Prepare>
  const std::string& once(const std::string& what, const Prepare& prepare) {
    const auto known = problems_.find(what);
    return known != problems_.end() ? known->second
                                    : problems_.emplace(what, prepare()).first->second;
  }

  const RunOptions& options_;
  std::map<std::string, std::string> problems_;  ///< by what was prepared
};

/// Fills in the problems of all scenarios if none of them can start.
void conclude(Preflight& found) {
  const auto& ones = found.of_scenarios;
  if (std::find(ones.begin(), ones.end(), "") != ones.end()) return;
  std::set<std::string> seen;
  for (const std::string& one : ones) {
    if (seen.insert(one).second) found.problems.push_back(one);
  }
}

}  // namespace

Preflight preflight(const std::vector<const Scenario*>& scenarios, const RunOptions& options,
                    int jobs) {
  Preflight found;
  for (const Scenario* scenario : scenarios) {
    found.of_scenarios.push_back(problem_with_host(*scenario, options));
  }
  conclude(found);
  const auto guests = check_guests(scenarios, jobs);
  if (!guests) found.problems.push_back(guests.error().message);
  // If the host has problems that stop everything, nothing is downloaded.
  if (!found.problems.empty()) return found;
  Downloader downloader(options);
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    std::string& problem = found.of_scenarios[i];
    if (problem.empty()) problem = downloader.problem_with(*scenarios[i]);
  }
  conclude(found);
  return found;
}

}  // namespace pinfold::harness
