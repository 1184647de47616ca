#include "pinfold/harness/gauntlet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "judge/json_at.hpp"
#include "pinfold/harness/covering_array.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/machine_copy.hpp"
#include "pinfold/harness/read_scenarios.hpp"
#include "pinfold/harness/verdict.hpp"

namespace pinfold::harness {
namespace {

/// The factors of the covering array, in this order.
enum Factor : std::size_t { kMachine, kPlatform, kRuntime };

/// Returns the runtimes to try; one "" for a scenario without one.
std::vector<std::string> runtimes_of(const Scenario& scenario) {
  if (scenario.runtime.empty()) return {""};
  return {std::begin(kRuntimes), std::end(kRuntimes)};
}

/// Returns a machine of the set with the settings of the scenario's own that are not hardware.
VmMachine machine_for(const SetMachine& one, const Scenario& scenario) {
  VmMachine machine = one.machine;
  machine.disk = scenario.machine.disk;
  machine.network_cards = scenario.machine.network_cards;
  machine.kubelet = scenario.machine.kubelet;
  machine.kernel_arguments = scenario.machine.kernel_arguments;
  return machine;
}

bool has_platform(const std::vector<Platform>& platforms, const Platform& one) {
  return std::find(platforms.begin(), platforms.end(), one) != platforms.end();
}

/// Returns the document's platforms, with this one added unless it is one of them.
Json platforms_with(const Json& document, const Platform& platform) {
  const std::string name = to_string(platform);
  Json on = document.value("on", Json::array({to_string(Platform{})}));
  if (std::find(on.begin(), on.end(), Json(name)) == on.end()) on.push_back(name);
  return on;
}

Json case_document(const Json& document, const SetMachine& one, const VmMachine& machine,
                   const Platform& platform, const std::string& runtime) {
  Json changed = document;
  std::string name = document.value("name", "") + "." + one.name;
  if (!runtime.empty()) name += "." + runtime;
  changed["name"] = std::move(name);
  changed["on"] = platforms_with(document, platform);
  changed["machine"] = machine_json(machine);
  if (!runtime.empty()) changed["runtime"] = runtime;
  Json& steps = changed["steps"];
  if (!one.offline.empty()) {
    steps.insert(steps.begin(), Json{{"offline", {{"cpus", one.offline.to_string()}}}});
  }
  return changed;
}

/// Returns a text member of an object; "" if there is none.
std::string member_text(const Json& object, const char* key) {
  const Json& value = json_at(object, {key});
  return value.is_string() ? value.get<std::string>() : "";
}

/// Returns the fields of a document except the long ones, one line each.
std::string head_yaml(const Json& document) {
  std::string yaml;
  for (const auto& [field, value] : document.items()) {
    const bool is_long = field == "steps" || field == "machine" || field == "on";
    if (!is_long) yaml += fmt::format("{}: {}\n", field, value.dump());
  }
  return yaml;
}

}  // namespace

std::vector<GauntletCase> gauntlet_cases(const Json& document, const Scenario& scenario,
                                         const std::vector<SetMachine>& machines,
                                         const std::vector<Platform>& platforms) {
  const auto runtimes = runtimes_of(scenario);
  const auto allowed = [&](const FactorRow& row) {
    if (row[kPlatform] == kNoChoice) return true;
    const Platform& platform = platforms[static_cast<std::size_t>(row[kPlatform])];
    if (!runtimes.front().empty() && platform.cgroup != CgroupMode::kV2) return false;
    if (row[kMachine] == kNoChoice) return true;
    VmMachine machine = machines[static_cast<std::size_t>(row[kMachine])].machine;
    machine.platform = platform;
    return check_machine(machine).has_value();
  };
  std::vector<GauntletCase> cases;
  for (const FactorRow& row :
       covering_array({static_cast<int>(machines.size()), static_cast<int>(platforms.size()),
                       static_cast<int>(runtimes.size())},
                      allowed)) {
    const SetMachine& one = machines[static_cast<std::size_t>(row[kMachine])];
    const Platform& platform = platforms[static_cast<std::size_t>(row[kPlatform])];
    const std::string& runtime = runtimes[static_cast<std::size_t>(row[kRuntime])];
    cases.push_back(
        {case_document(document, one, machine_for(one, scenario), platform, runtime), platform});
  }
  return cases;
}

std::vector<Platform> platforms_on(const std::vector<std::string>& kernels,
                                   const std::vector<Platform>& like) {
  std::vector<Platform> platforms;
  for (const std::string& kernel : kernels) {
    for (Platform platform : like) {
      platform.kernel = kernel;
      if (check_platform(platform) && !has_platform(platforms, platform)) {
        platforms.push_back(std::move(platform));
      }
    }
  }
  return platforms;
}

Result<Scenario> load_case(const GauntletCase& one, const std::filesystem::path& file) {
  PINFOLD_LET(auto scenarios, load_scenarios_of(one.document.dump(), file));
  const auto found = std::find_if(
      scenarios.begin(), scenarios.end(),
      [&](const Scenario& scenario) { return scenario.machine.platform == one.platform; });
  if (found == scenarios.end()) {
    return fail(ErrorCode::kInternal,
                fmt::format("'{}' has no platform {}", file.string(), to_string(one.platform)));
  }
  return std::move(*found);
}

FailureKind kind_of(const ScenarioResult& result) {
  const bool has_failed = !result.steps.empty() && !result.steps.back().ok;
  return {std::string(to_string(result.verdict)), has_failed ? result.steps.back().title : ""};
}

FailureKind kind_of(const Json& scenario) {
  const Json& steps = json_at(scenario, {"steps"});
  const Json& last = steps.is_array() && !steps.empty() ? steps.back() : steps;
  const bool has_failed = json_at(last, {"ok"}) == false;
  return {scenario.value("verdict", ""), has_failed ? member_text(last, "title") : ""};
}

std::string short_yaml(const Json& document, const Platform& platform) {
  std::string yaml = head_yaml(document);
  yaml += fmt::format("on: [{}]\n", to_string(platform));
  yaml += fmt::format("machine: {}\nsteps:\n", document.at("machine").dump());
  for (const Json& step : document.at("steps")) yaml += fmt::format("  - {}\n", step.dump());
  return yaml;
}

}  // namespace pinfold::harness
