#include "pinfold/harness/preflight.hpp"

#include <algorithm>
#include <set>

#include "pinfold/harness/host.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/kubelet.hpp"
#include "pinfold/harness/qemu_command.hpp"

namespace pinfold::harness {
namespace {

/// Collects sentences without duplicates.
class PreflightProblems {
 public:
  template <class Value>
  void add_from(const Result<Value>& checked) {
    if (checked || !seen_.insert(checked.error().message).second) return;
    sentences_.push_back(checked.error().message);
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(sentences_); }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> sentences_;
};

Result<void> check_guests(const std::vector<const Scenario*>& scenarios, int jobs) {
  PINFOLD_LET(const auto memory, host_memory("/"));
  std::vector<const VmMachine*> machines;
  machines.reserve(scenarios.size());
  for (const Scenario* scenario : scenarios) machines.push_back(&scenario->machine);
  return check_memory(machines, jobs, memory);
}

/// Everything that must exist before QEMU can start, except a QEMU in the cache.
struct HostNeeds {
  std::set<std::pair<std::string, Arch>> kernels;
  std::set<std::string> runtimes;
  bool newer_qemu = false;
};

/// Collects the needs; checks the QEMUs of the host at once.
HostNeeds host_needs_of(const std::vector<const Scenario*>& scenarios, const RunOptions& options,
                        PreflightProblems& problems) {
  HostNeeds needs;
  for (const Scenario* scenario : scenarios) {
    const VmMachine& machine = scenario->machine;
    problems.add_from(check_kubelets(*scenario));
    // A user's kernel is checked together with the machine that it must run.
    if (machine.platform.kernel != kOwnKernel) {
      needs.kernels.emplace(machine.platform.kernel, machine.platform.arch);
    }
    if (!scenario->runtime.empty()) needs.runtimes.insert(scenario->runtime);
    if (options.qemu.empty() && needs_newer_qemu(machine)) {
      needs.newer_qemu = true;
    } else {
      const auto& named = options.qemu;
      problems.add_from(
          check_qemu(named.empty() ? qemu_program(machine.platform.arch) : named, machine));
    }
  }
  return needs;
}

}  // namespace

std::vector<std::string> preflight(const std::vector<const Scenario*>& scenarios,
                                   const RunOptions& options, int jobs) {
  PreflightProblems problems;
  problems.add_from(check_guests(scenarios, jobs));
  const HostNeeds needs = host_needs_of(scenarios, options, problems);
  // If the host has other problems, nothing is downloaded.
  if (auto found = problems.take(); !found.empty()) return found;
  for (const auto& [kernel, arch] : needs.kernels) {
    problems.add_from(prepare_image(options.image_script, kernel, arch));
  }
  if (needs.newer_qemu) problems.add_from(prepare_qemu(options.image_script));
  for (const std::string& runtime : needs.runtimes) {
    problems.add_from(prepare_runtime_image(options.image_script, runtime));
  }
  return problems.take();
}

}  // namespace pinfold::harness
