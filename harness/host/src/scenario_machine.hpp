#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "field_reader.hpp"
#include "pinfold/harness/scenario.hpp"

namespace pinfold::harness {

/// Reads the `machine` of a scenario and fills in what it leaves out: one node with all CPUs,
/// distances of 10 and 20.
[[nodiscard]] VmMachine read_machine(const nlohmann::json& value, const FieldPath& path,
                                     const Platform& platform, std::optional<Complaint>& complaint);

/// A machine's fields: those of the named machine, or of the one that it is `like`, with changes.
[[nodiscard]] nlohmann::json spelled_out(nlohmann::json machine, const Machines& machines,
                                         std::optional<Complaint>& complaint);

}  // namespace pinfold::harness
