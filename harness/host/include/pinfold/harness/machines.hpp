#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// Machines by name, each in the form of a scenario's `machine`.
using Machines = std::map<std::string, nlohmann::json, std::less<>>;

/// Parses a machines file: an object with a machine for each name.
/// Errors: kInvalidArgument, "line 3: two-numa.cores: 'many': expected a number from 1 to 64".
[[nodiscard]] Result<Machines> parse_machines(std::string_view yaml_or_json);

/// Reads one machine in the form of a scenario's `machine`. Errors: kInvalidArgument, "cores:
/// 'many': expected a number from 1 to 64".
[[nodiscard]] Result<VmMachine> read_machine_json(const nlohmann::json& machine);

}  // namespace pinfold::harness
