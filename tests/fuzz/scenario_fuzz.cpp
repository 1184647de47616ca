#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/harness/qemu_command.hpp"
#include "pinfold/harness/read_scenarios.hpp"
#include "pinfold/harness/scenario.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::harness;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto machines = parse_machines(text); !machines && machines.error().message.empty()) {
    std::abort();
  }
  static const auto kMachines =
      parse_machines("two-numa: {sockets: 2, nodes: [{cpus: 0}, {cpus: 1}]}");
  const auto scenarios = parse_scenarios(text, *kMachines);
  if (!scenarios) {
    if (scenarios.error().message.empty()) std::abort();
    return 0;
  }
  if (scenarios->empty()) std::abort();
  for (const Scenario& scenario : *scenarios) {
    if (!check_machine(scenario.machine) || scenario.steps.empty()) std::abort();
    (void)qemu_command(scenario.machine, {}, Accelerator::kTcg);
  }
  return 0;
}
