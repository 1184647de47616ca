#include "reducer.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "pinfold/harness/machine_copy.hpp"
#include "pinfold/harness/read_scenarios.hpp"
#include "pinfold/harness/reduce.hpp"
#include "pinfold/harness/run.hpp"

namespace pinfold::harness {
namespace {

using Json = nlohmann::json;

/// Reducing a failure ends after this many runs.
constexpr int kMostRuns = 200;

std::string_view word_of(Trial trial) {
  switch (trial) {
    case Trial::kFails:
      return "fails";
    case Trial::kPasses:
      return "passes";
    case Trial::kDiffers:
      return "differs";
  }
  return "";
}

}  // namespace

GauntletCase Reducer::reduce() {
  for (const bool again : {false, true}) {
    reduce_machine();
    if (!again) reduce_steps();
  }
  return case_;
}

Trial Reducer::attempt(const GauntletCase& variation) {
  const auto scenario = load_case(variation, file_);
  if (!scenario || is_interrupted_) return Trial::kDiffers;
  SharedGuest nobody;
  const ScenarioResult result = run_scenario(*scenario, options_, nobody);
  is_interrupted_ = result.verdict == Verdict::kInterrupted;
  Trial trial = result.ok() ? Trial::kPasses : Trial::kDiffers;
  if (kind_of(result) == kind_) trial = Trial::kFails;
  fmt::print("    {:3} {:7} on {}, {} CPUs, {} NUMA nodes, {} steps\n", ++runs_, word_of(trial),
             to_string(variation.platform), scenario->machine.cpu_count(),
             scenario->machine.nodes.size(), scenario->steps.size());
  (void)std::fflush(stdout);
  return trial;
}

bool Reducer::fails(const GauntletCase& variation) {
  return runs_ < kMostRuns && attempt(variation) == Trial::kFails;
}

void Reducer::reduce_machine() {
  auto machine = read_machine_json(case_.document.at("machine"));
  if (!machine) return;
  machine->platform = case_.platform;
  const auto still_fails = [this](const VmMachine& smaller) {
    return fails(with("machine", machine_json(smaller)));
  };
  case_ = with("machine", machine_json(smallest_machine(std::move(*machine), still_fails)));
}

void Reducer::reduce_steps() {
  const auto still_fails = [this](const Json& fewer) { return fails(with("steps", fewer)); };
  case_ = with("steps", fewest_steps(case_.document.at("steps"), still_fails));
}

GauntletCase Reducer::with(const char* field, Json value) const {
  GauntletCase changed = case_;
  changed.document[field] = std::move(value);
  return changed;
}

}  // namespace pinfold::harness
