#include <fmt/format.h>

#include "command.hpp"
#include "pinfold/harness/read_scenarios.hpp"

namespace pinfold::harness {
namespace {

void print_line(const Scenario& scenario) {
  const VmMachine& machine = scenario.machine;
  fmt::print("{:<28} {:<15} {:>3} CPUs {:>2} nodes  {:<14} {}\n", scenario.name,
             to_string(machine.platform), machine.cpu_count(), machine.nodes.size(),
             to_string(scenario.verdict), scenario.description);
}

}  // namespace

int list_scenarios(const Selection& selection) {
  if (const auto known = check_platforms(selection); !known) return report(known.error());
  const auto files = find_files(selection);
  if (!files) return report(files.error());
  int status = kOk;
  for (const auto& file : *files) {
    const auto scenarios = load_scenarios(file, selection.arch);
    if (!scenarios) {
      status = report(scenarios.error());  // continue: check the other files too
      continue;
    }
    for (const Scenario& scenario : *scenarios) {
      if (is_selected(scenario.machine.platform, selection)) print_line(scenario);
    }
  }
  return status;
}

}  // namespace pinfold::harness
