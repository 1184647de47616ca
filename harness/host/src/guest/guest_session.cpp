#include "pinfold/harness/guest_session.hpp"

#include <algorithm>

namespace pinfold::harness {

bool have_same_guest(const Scenario& one, const Scenario& other) {
  return one.machine == other.machine && one.kernel == other.kernel &&
         one.runtime == other.runtime && one.programs == other.programs &&
         one.modules == other.modules;
}

bool can_share_guest(const Scenario& scenario) {
  const bool ends_alive =
      scenario.verdict == Verdict::kPassed || scenario.verdict == Verdict::kFailed;
  return ends_alive && scenario.runtime.empty() && !scenario.machine.disk &&
         !plugs_hardware(scenario, scenario.steps.size());
}

bool plugs_hardware(const Scenario& scenario, std::size_t count) {
  const auto end = scenario.steps.begin() + static_cast<std::ptrdiff_t>(count);
  return std::any_of(scenario.steps.begin(), end, [](const ScenarioStep& step) {
    return std::holds_alternative<PlugStep>(step.action);
  });
}

}  // namespace pinfold::harness
