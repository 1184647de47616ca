#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "doctor_parts.hpp"
#include "pinfold/audit/barrier_paths.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::audit {
namespace {

using nlohmann::json;

constexpr std::array kHooksDirectories = {kHooksDirectory, "/etc/containers/oci/hooks.d"};

constexpr const char* kInstalled = "a barrier that is installed as a whole, or not at all";

/// Returns the paths in a file of hooks.d, or in an OCI specification.
std::vector<std::string> programs_of(const json& file) {
  std::vector<std::string> paths;
  const auto add = [&](const json& hook) {
    if (hook.is_object() && hook.contains("path") && hook["path"].is_string())
      paths.push_back(hook["path"]);
  };
  if (!file.is_object()) return paths;
  add(file.value("hook", json()));
  const json hooks = file.value("hooks", json::object());
  if (!hooks.is_object()) return paths;
  for (const json& hook : hooks.value("createRuntime", json::array())) add(hook);
  return paths;
}

/// Returns what keeps a hook in a file from running; "": nothing.
std::string fault_of(const Tree& tree, const std::string& path) {
  const auto text = tree.read(path);
  const auto document = text ? parse_document(*text) : fail(text.error());
  if (!document) return fmt::format("'{}': {}", path, document.error().message);
  const auto programs = programs_of(*document);
  const auto gate = std::find_if(programs.begin(), programs.end(), [](std::string_view program) {
    return program.ends_with("/pinfold-gate");
  });
  if (gate == programs.end()) return fmt::format("'{}' has no hook pinfold-gate", path);
  return tree.has(*gate) ? "" : fmt::format("'{}' names '{}', which does not exist", path, *gate);
}

bool uses_spec(std::string_view config) {
  while (!config.empty()) {
    const std::string_view line = config.substr(0, config.find('\n'));
    const std::string_view setting = line.substr(0, line.find('#'));
    if (setting.find("base_runtime_spec") != setting.npos &&
        setting.find(kGateSpec) != setting.npos)
      return true;
    config.remove_prefix(std::min(line.size() + 1, config.size()));
  }
  return false;
}

bool has_exclusive_pods(const checkpoint::KubeletFiles& files) {
  if (!files.cpu) return false;
  const auto state = checkpoint::inspect_cpu_unchecked(*files.cpu);
  return state && !(state->state.assignments.empty() && state->state.pods.empty());
}

}  // namespace

ObservedBarrier observe_barrier(const Tree& tree, const std::optional<std::string>& containerd) {
  ObservedBarrier barrier;
  const bool has_spec = tree.has(kGateSpec);
  const bool is_used = containerd && uses_spec(*containerd);
  if (has_spec && !is_used) {
    barrier.fault =
        fmt::format("'{}' exists, but '{}' does not use it", kGateSpec, kContainerdConfig);
  } else if (is_used) {
    barrier.places.emplace_back("containerd");
    barrier.fault = fault_of(tree, kGateSpec);
  }
  for (const char* const directory : kHooksDirectories) {
    const std::string path = fmt::format("{}/{}", directory, kGateHookFile);
    if (!tree.has(path)) continue;
    barrier.places.push_back(path);
    if (barrier.fault.empty()) barrier.fault = fault_of(tree, path);
  }
  return barrier;
}

/// Checks the barrier behind NRI: an incomplete one lets containers pass, or lets none start.
void check_barrier(const ObservedSystem& system, Checks& checks) {
  const ObservedBarrier& barrier = system.barrier;
  const ObservedService& service = system.service;
  if (!barrier.fault.empty()) {
    checks.push_back({"barrier", CheckStatus::kProblem, barrier.fault, kInstalled,
                      "run 'pinfold barrier install', or 'pinfold barrier remove', with --runtime; "
                      "then restart containerd"});
  } else if (!barrier.places.empty()) {
    checks.push_back({"barrier", CheckStatus::kOk,
                      fmt::format("installed: {}", fmt::join(barrier.places, ", "))});
  } else if (service.has_nri && has_exclusive_pods(service.files)) {
    checks.push_back(
        {"barrier", CheckStatus::kWarning,
         "no barrier behind NRI: while the service is dead or slow, the runtime starts "
         "containers on CPUs that are exclusive to others",
         "pinfold-gate as an OCI hook of the runtime", "pinfold barrier install --dry-run"});
  }
}

}  // namespace pinfold::audit
