#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "pinfold/harness/machines.hpp"
#include "pinfold/harness/vm_machine.hpp"
#include "scenario/field_reader.hpp"

namespace pinfold::harness {

/// Reads the `machine` of a scenario and fills in defaults: one NUMA node with all CPUs, distances
/// 10 and 20.
[[nodiscard]] VmMachine read_machine(const nlohmann::json& value, const FieldPath& path,
                                     const Platform& platform, std::optional<Complaint>& complaint);

/// Returns a machine's fields with references resolved: a machine's name, or `like` with changes.
[[nodiscard]] nlohmann::json spelled_out(nlohmann::json machine, const Machines& machines,
                                         std::optional<Complaint>& complaint);

}  // namespace pinfold::harness
