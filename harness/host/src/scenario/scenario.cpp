#include "pinfold/harness/scenario.hpp"

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
  for (const ScenarioStep& step : scenario.steps) {
    if (std::holds_alternative<AdmitStep>(step.action) ||
        std::holds_alternative<RemoveStep>(step.action) ||
        std::holds_alternative<RestartStep>(step.action) ||
        std::holds_alternative<VerifyStep>(step.action)) {
      return true;
    }
    // Without a configuration the cpusets belong to other programs.
    if (std::holds_alternative<StartSamplingStep>(step.action) && has_kubelet(scenario.kubelet)) {
      return true;
    }
  }
  return false;
}

}  // namespace pinfold::harness
