#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// Returns a requested machine in the form in which the guest agent reports its own.
[[nodiscard]] nlohmann::json requested_machine(const VmMachine& machine);

/// Returns a table of the requested and the reported machine; only of the requested one if `guest`
/// is null. Accepts any JSON: missing fields are omitted.
[[nodiscard]] std::string machine_table(const nlohmann::json& requested,
                                        const nlohmann::json& guest);

}  // namespace pinfold::harness
