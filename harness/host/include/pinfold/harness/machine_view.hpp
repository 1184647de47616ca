#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// A machine that is asked for, in the shape in which the guest's agent reports the one it is on.
[[nodiscard]] nlohmann::json asked_machine(const VmMachine& machine);

/// A table of what was asked for beside what the guest reports; `guest` null: of the former alone.
/// Either may have any shape: what is not there is left out.
[[nodiscard]] std::string machine_table(const nlohmann::json& asked, const nlohmann::json& guest);

}  // namespace pinfold::harness
