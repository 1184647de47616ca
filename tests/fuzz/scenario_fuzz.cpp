#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/harness/qemu_command.hpp"
#include "pinfold/harness/scenario.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::harness;
  const auto scenario = parse_scenario({reinterpret_cast<const char*>(data), size});
  if (!scenario) {
    if (scenario.error().message.empty()) std::abort();
    return 0;
  }
  if (!check_machine(scenario->machine) || scenario->steps.empty()) std::abort();
  (void)qemu_command(scenario->machine, {}, Accelerator::kTcg);
  return 0;
}
