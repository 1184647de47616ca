#include "pinfold/harness/scenario.hpp"

#include <algorithm>

namespace pinfold::harness {
namespace {

bool has_kubelet(const KubeletSource& kubelet) {
  return !kubelet.file.empty() || !kubelet.config.empty();
}

}  // namespace

std::string full_name(const Scenario& scenario) {
  return full_name(scenario.name, to_string(scenario.machine.platform));
}

bool needs_product(const Scenario& scenario) {
  // Without a configuration the cpusets belong to other programs. If the machine has a kubelet,
  // configuration and cpusets are the kubelet's.
  const bool decides = scenario.machine.kubelet.empty();
  if (decides && has_kubelet(scenario.kubelet)) return true;
  return std::any_of(scenario.steps.begin(), scenario.steps.end(), [&](const ScenarioStep& step) {
    return std::holds_alternative<AdmitStep>(step.action) ||
           std::holds_alternative<RemoveStep>(step.action) ||
           std::holds_alternative<RestartStep>(step.action) ||
           (decides && std::holds_alternative<VerifyStep>(step.action));
  });
}

}  // namespace pinfold::harness
