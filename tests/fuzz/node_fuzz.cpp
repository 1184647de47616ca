#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "pinfold/machine/machine.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto node = nlohmann::json::parse(data, data + size, nullptr, false);
  if (node.is_discarded()) return 0;
  const auto machine = pinfold::Machine::from_json(node);
  if (!machine) return 0;
  const auto again = pinfold::Machine::from_json(machine->to_json());
  if (!again || *again != *machine) std::abort();
  return 0;
}
