#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "field_reader.hpp"
#include "pinfold/harness/vm_machine.hpp"

namespace pinfold::harness {

/// Reads the `machine` of a scenario and fills in what it leaves out: nodes that share the CPUs
/// evenly, distances of 10 and 20.
[[nodiscard]] VmMachine read_machine(const nlohmann::json& value, const FieldPath& path,
                                     std::optional<Complaint>& complaint);

}  // namespace pinfold::harness
