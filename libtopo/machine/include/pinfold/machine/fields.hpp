#pragma once

#include <optional>

#include "pinfold/fields/types.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold {

void describe(fields::Fields& fields, Cpu& cpu);
void describe(fields::Fields& fields, NumaNode& node);
void describe(fields::Fields& fields, Device& device);
void describe(fields::Fields& fields, MachineDescription& machine);
/// A machine, or null. A reader also takes the other forms of Machine::from_json.
void describe_value(fields::Fields& fields, std::optional<Machine>& machine);

}  // namespace pinfold
