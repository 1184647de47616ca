#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "pinfold/harness/scenario.hpp"
#include "scenario/field_reader.hpp"
#include "scenario/scenario_platforms.hpp"

namespace pinfold::harness {

/// A step and its path in the document.
struct PlacedStep {
  ScenarioStep step;
  FieldPath path;
};

/// Reads `steps`: those for the platform of `scope`, in order, with groups flattened. If absent
/// (nullptr), complains.
[[nodiscard]] std::vector<PlacedStep> read_steps(const nlohmann::json* list,
                                                 const PlatformScope& scope,
                                                 std::optional<Complaint>& complaint);

}  // namespace pinfold::harness
