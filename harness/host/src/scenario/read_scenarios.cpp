#include "pinfold/harness/read_scenarios.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/text/document.hpp"
#include "scenario/field_reader.hpp"
#include "scenario/scenario_fields.hpp"
#include "scenario/scenario_kubelet.hpp"
#include "scenario/scenario_machine.hpp"
#include "scenario/scenario_platforms.hpp"
#include "scenario/scenario_runtime.hpp"
#include "scenario/scenario_steps.hpp"

namespace pinfold::harness {
namespace {

/// Checks what a step requires of the machine and of the steps before it.
class StepNeeds {
 public:
  explicit StepNeeds(const VmMachine& machine)
      : machine_(machine), absent_(machine.absent), pluggable_(machine.pluggable_memory) {}

  [[nodiscard]] std::optional<Complaint> check(const ScenarioStep& step, FieldPath path) {
    killed_ = killed_ || step.kill_at;
    if (std::holds_alternative<PowerCutsStep>(step.action)) {
      path.emplace_back("powerCuts");
      if (!machine_.disk) return Complaint{path, "expected a machine with a disk"};
      if (killed_) return Complaint{path, "expected no killAt before it"};
    }
    if (const auto* plug = std::get_if<PlugStep>(&step.action)) {
      path.emplace_back("plug");
      return check(*plug, std::move(path));
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<Complaint> check(const PlugStep& plug, FieldPath path) {
    const auto complaint = [&path](const char* key, std::string text) {
      path.emplace_back(key);
      return Complaint{std::move(path), std::move(text)};
    };
    if (!(plug.cpus - absent_).empty()) {
      return complaint("cpus",
                       fmt::format("'{}': expected CPUs that are absent: {}", plug.cpus.to_string(),
                                   absent_.empty() ? "none is" : absent_.to_string()));
    }
    if (static_cast<std::size_t>(plug.node) >= machine_.nodes.size()) {
      return complaint("node", fmt::format("'{}': expected one of the {} nodes of the machine",
                                           plug.node, machine_.nodes.size()));
    }
    if (plug.memory > pluggable_) {
      return complaint("memory", fmt::format("'{}': expected at most what is left of "
                                             "machine.pluggableMemory: {} bytes",
                                             plug.memory, pluggable_));
    }
    absent_ = absent_ - plug.cpus;
    pluggable_ -= plug.memory;
    return std::nullopt;
  }

  const VmMachine& machine_;
  CpuSet absent_;
  std::uint64_t pluggable_;  ///< bytes
  bool killed_ = false;
};

std::vector<std::string> full_paths(FieldReader& fields, const char* name) {
  std::vector<std::string> paths = fields.texts(name);
  for (const std::string& path : paths) {
    if (!path.starts_with('/')) fields.complain(name, path + ": expected a full path");
  }
  return paths;
}

std::vector<GuestFile> read_guest_files(FieldReader& fields) {
  std::vector<GuestFile> files;
  const Json* map = fields.find("files");
  if (map == nullptr) return files;
  if (!map->is_object()) {
    fields.complain("files", show_value(*map) + ": expected paths of the guest with files");
    return files;
  }
  for (const auto& [path, file] : map->items()) {
    if (!path.starts_with('/') || !file.is_string()) {
      fields.complain("files", fmt::format("'{}: {}': expected a full path with a file of the host",
                                           path.substr(0, 60), show_value(file)));
    }
    files.push_back({path, scalar_text(file).value_or(""), ""});
  }
  return files;
}

void add_steps(const Json* list, const PlatformScope& scope, Scenario& scenario,
               std::optional<Complaint>& complaint) {
  StepNeeds needs(scenario.machine);
  for (PlacedStep& placed : read_steps(list, scope, complaint)) {
    if (!complaint) complaint = needs.check(placed.step, std::move(placed.path));
    scenario.steps.push_back(std::move(placed.step));
  }
}

/// Reads the platforms. `kernel` must be given if, and only if, one of them uses it.
std::vector<Platform> read_platforms_and_kernel(FieldReader& fields, std::optional<Arch> arch) {
  const bool has_kernel = !fields.text("kernel", "").empty();
  Platform usual;
  if (has_kernel) usual.kernel = kOwnKernel;
  std::vector<Platform> platforms = read_platforms(fields, std::move(usual), arch);
  const bool is_used = std::any_of(platforms.begin(), platforms.end(),
                                   [](const Platform& one) { return one.kernel == kOwnKernel; });
  if (has_kernel && !is_used) {
    fields.complain(
        "on", fmt::format("expected a platform with the `kernel`, such as {}/v2", kOwnKernel));
  } else if (is_used && !has_kernel) {
    fields.complain("on", fmt::format("'{}': expected `kernel` at the top level as well, such as "
                                      "kernel: /boot/vmlinuz-6.1.0",
                                      kOwnKernel));
  }
  return platforms;
}

/// Reads a document that document_for returned.
Scenario read_scenario(const Json& document, const PlatformScope& scope,
                       std::optional<Complaint>& complaint) {
  Scenario scenario;
  FieldReader fields(document, {}, complaint);
  scenario.name = fields.required_text("name");
  if (!is_safe_name(scenario.name)) {
    fields.complain("name", fmt::format("'{}': expected letters, digits, '.', '-' and '_'",
                                        scenario.name.substr(0, 60)));
  }
  scenario.description = fields.text("description", "");
  const std::string verdict = fields.text("verdict", "passed");
  if (const auto known = parse_verdict(verdict)) {
    scenario.verdict = *known;
  } else {
    fields.complain("verdict", fmt::format("'{}': {}", verdict.substr(0, 60),
                                           expected_one_of(verdict_names(), verdict)));
  }
  scenario.because = fields.text("because", "");
  if (scenario.verdict == Verdict::kPassed && !scenario.because.empty()) {
    fields.complain("because", "expected a verdict other than passed with it");
  }
  scenario.kernel = fields.text("kernel", "");
  scenario.programs = full_paths(fields, "programs");
  scenario.modules = fields.texts("modules");
  for (const std::string& module : scenario.modules) {
    if (!is_safe_name(module)) {
      fields.complain("modules", fmt::format("'{}': expected the name of a module, such as nbd",
                                             module.substr(0, 60)));
    }
  }
  scenario.files = read_guest_files(fields);
  scenario.logs = full_paths(fields, "logs");
  scenario.kubelet = read_kubelet(fields, "kubelet");
  const Json* machine = fields.find("machine");
  if (machine == nullptr) {
    fields.complain("machine", "missing");
  } else {
    scenario.machine = read_machine(*machine, {"machine"}, scope.current, complaint);
  }
  scenario.runtime = read_runtime(fields, scenario.machine);
  if (!scenario.runtime.empty()) scenario.logs.emplace_back(kRuntimeLog);
  if (!scenario.machine.kubelet.empty()) scenario.logs.emplace_back(kKubeletLog);
  scenario.boot_limit_s = fields.integer("bootLimit", boot_limit_s(scenario.machine), 1, 3600);
  add_steps(fields.find("steps"), scope, scenario, complaint);
  fields.finish();
  return scenario;
}

Result<void> load_kubelet(KubeletSource& source, const std::filesystem::path& folder) {
  if (source.file.empty()) return {};
  PINFOLD_LET_WRAP(auto text, read_file(folder / source.file), "kubelet");
  PINFOLD_LET_WRAP(source.config, parse_document(text), source.file.string());
  return {};
}

/// Reads a step's manifest from its file, and puts the file's name into the default title.
Result<void> load_manifest(ScenarioStep& step, const std::filesystem::path& file,
                           std::string& manifest, const std::filesystem::path& folder) {
  if (file.empty()) return {};
  PINFOLD_LET(manifest, read_file(folder / file));
  if (!step.has_own_title) step.title = step.path.back() + " " + file.filename().string();
  return {};
}

/// Loads the pod of a step that must have a valid one.
template <class Run>
Result<void> load_run(ScenarioStep& step, Run& run, const std::filesystem::path& folder) {
  PINFOLD_TRY(load_manifest(step, run.file, run.manifest, folder));
  PINFOLD_LET(const auto pod, parse_pod(run.manifest));
  run.pod = pod.name;
  for (const Container& container : pod.containers) run.containers.push_back(container.name);
  return {};
}

Result<void> load_pod(ScenarioStep& step, AdmitStep& admit, const std::filesystem::path& folder) {
  PINFOLD_TRY(load_manifest(step, admit.file, admit.manifest, folder));
  const auto pod = parse_pod(admit.manifest);
  if (pod) {
    admit.pod = pod->name;
    admit.uid = pod->uid.value;
    for (const Container& container : pod->containers) admit.containers.push_back(container.name);
  } else if (admit.answer != AdmitStep::Answer::kError) {
    return fail(Error(pod.error()));
  }
  return {};
}

/// Reads the files that a scenario names.
Result<void> load_files(Scenario& scenario, const std::filesystem::path& folder) {
  PINFOLD_TRY(load_kubelet(scenario.kubelet, folder));
  if (!scenario.kernel.empty()) scenario.kernel = folder / scenario.kernel;
  for (GuestFile& file : scenario.files) {
    PINFOLD_LET_WRAP(file.text, read_file(folder / file.file), "files");
  }
  for (std::size_t i = 0; i < scenario.steps.size(); ++i) {
    ScenarioStep& step = scenario.steps[i];
    Result<void> loaded;
    if (auto* admit = std::get_if<AdmitStep>(&step.action)) loaded = load_pod(step, *admit, folder);
    if (auto* run = std::get_if<RunPodStep>(&step.action)) loaded = load_run(step, *run, folder);
    if (auto* run = std::get_if<RunStaticPodStep>(&step.action)) {
      loaded = load_run(step, *run, folder);
    }
    auto* restart = std::get_if<RestartStep>(&step.action);
    if (restart != nullptr && restart->kubelet) loaded = load_kubelet(*restart->kubelet, folder);
    auto* kubelet = std::get_if<KubeletStep>(&step.action);
    if (kubelet != nullptr) loaded = load_kubelet(kubelet->config, folder);
    PINFOLD_TRY_WRAP(std::move(loaded), fmt::format("steps[{}].{}", i, step.title));
  }
  return {};
}

/// Returns the machines of the nearest machines.yaml, in the file's directory or a parent; empty if
/// there is none.
Result<Machines> machines_near(const std::filesystem::path& file) {
  std::error_code failed;
  std::filesystem::path folder = std::filesystem::absolute(file, failed).parent_path();
  for (; !folder.empty(); folder = folder.parent_path()) {
    const std::filesystem::path candidate = folder / "machines.yaml";
    if (std::filesystem::exists(candidate, failed)) {
      PINFOLD_LET(const auto text, read_file(candidate));
      PINFOLD_LET_WRAP(auto machines, parse_machines(text),
                       fmt::format("'{}'", candidate.string()));
      return machines;
    }
    if (folder == folder.parent_path()) break;
  }
  return Machines{};
}

}  // namespace

Result<std::vector<Scenario>> parse_scenarios(std::string_view yaml_or_json,
                                              const Machines& machines, std::optional<Arch> arch) {
  PINFOLD_LET(const auto document, parse_document(yaml_or_json));
  std::optional<Complaint> complaint;
  FieldReader fields(document, {}, complaint);
  const std::vector<Platform> platforms = read_platforms_and_kernel(fields, arch);
  const std::vector<Override> overrides = read_overrides(fields, platforms, complaint);
  std::vector<Scenario> scenarios;
  for (const Platform& platform : platforms) {
    if (complaint) break;
    const Json one = document_for(platform, document, overrides, machines, complaint);
    scenarios.push_back(read_scenario(one, {platforms, platform}, complaint));
    if (complaint) {
      complaint->path = place_in_file(std::move(complaint->path), platform, one, overrides);
    }
  }
  if (complaint) return fail(error_of(yaml_or_json, *complaint));
  return scenarios;
}

Result<std::vector<Scenario>> load_scenarios(const std::filesystem::path& file,
                                             std::optional<Arch> arch) {
  PINFOLD_LET(const auto text, read_file(file));
  return load_scenarios_of(text, file, arch);
}

Result<std::vector<Scenario>> load_scenarios_of(std::string_view text,
                                                const std::filesystem::path& file,
                                                std::optional<Arch> arch) {
  const auto machines = machines_near(file);
  const std::string intent = fmt::format("'{}'", file.string());
  auto parsed = parse_scenarios(text, machines.value_or(Machines{}), arch);
  // An invalid machines file matters only to scenarios that use it.
  if (!parsed && !machines) return fail(Error(machines.error()));
  PINFOLD_LET_WRAP(auto scenarios, std::move(parsed), intent);
  for (Scenario& scenario : scenarios) {
    PINFOLD_TRY_WRAP(load_files(scenario, file.parent_path()), intent);
    for (const auto& complaint : {check_runtime_steps(scenario), check_kubelet_steps(scenario)}) {
      if (complaint) return fail(error_of(text, *complaint).wrap(intent));
    }
    PINFOLD_TRY_WRAP(find_kubelets(scenario), intent);
  }
  return scenarios;
}

}  // namespace pinfold::harness
