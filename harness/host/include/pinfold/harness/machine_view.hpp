#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// A requested machine in the form in which the guest's agent reports its machine.
[[nodiscard]] nlohmann::json requested_machine(const VmMachine& machine);

/// A table of the requested and the reported machine; `guest` null: of the requested one alone.
/// Either may have any form: what is missing is left out.
[[nodiscard]] std::string machine_table(const nlohmann::json& requested,
                                        const nlohmann::json& guest);

}  // namespace pinfold::harness
