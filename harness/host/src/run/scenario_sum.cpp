#include "pinfold/harness/scenario_sum.hpp"

#include <filesystem>
#include <vector>

#include "pinfold/base/read_file.hpp"
#include "pinfold/harness/guest_programs.hpp"

namespace pinfold::harness {

void add_step_to(Fingerprint& fingerprint, const ScenarioStep& step) {
  fingerprint.add(step.definition);
  if (const auto* admit = std::get_if<AdmitStep>(&step.action)) fingerprint.add(admit->manifest);
  if (const auto* pod = std::get_if<RunPodStep>(&step.action)) fingerprint.add(pod->manifest);
  if (const auto* pod = std::get_if<RunStaticPodStep>(&step.action)) fingerprint.add(pod->manifest);
  if (const auto* kubelet = std::get_if<KubeletStep>(&step.action)) {
    fingerprint.add(kubelet->binary).add(kubelet->config.config.dump());
  }
  if (const auto* restart = std::get_if<RestartStep>(&step.action);
      restart != nullptr && restart->kubelet) {
    fingerprint.add(restart->kubelet->config.dump());
  }
}

void add_files_to(Fingerprint& fingerprint, const Scenario& scenario) {
  fingerprint.add(scenario.kubelet.config.dump());
  for (const GuestFile& file : scenario.files) fingerprint.add(file.guest_path).add(file.text);
}

std::string sum_of_inputs(const Scenario& scenario, const RunOptions& options) {
  Fingerprint fingerprint;
  add_files_to(fingerprint, scenario);
  for (const ScenarioStep& step : scenario.steps) add_step_to(fingerprint, step);
  const GuestParts& parts = options.parts_for(scenario.machine.platform.arch);
  std::vector<std::filesystem::path> programs = {"/proc/self/exe", parts.agent, parts.product};
  if (!scenario.runtime.empty()) programs.push_back(options.cri_client);
  programs.insert(programs.end(), scenario.programs.begin(), scenario.programs.end());
  programs.insert(programs.end(), scenario.kubelets.begin(), scenario.kubelets.end());
  programs.push_back(scenario.kernel);
  for (const std::filesystem::path& program : programs) {
    fingerprint.add(read_file(program.string(), kMaxProgram).value_or(""));
  }
  return fingerprint.to_string();
}

}  // namespace pinfold::harness
