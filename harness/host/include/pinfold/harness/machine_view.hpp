#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// A requested machine in the form in which the guest agent reports its machine.
[[nodiscard]] nlohmann::json requested_machine(const VmMachine& machine);

/// A table of the requested and the reported machine; if `guest` is null, of the requested machine
/// only. Accepts any JSON: missing fields are left out.
[[nodiscard]] std::string machine_table(const nlohmann::json& requested,
                                        const nlohmann::json& guest);

}  // namespace pinfold::harness
