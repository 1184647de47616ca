#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "pinfold/harness/scenario.hpp"
#include "scenario/field_reader.hpp"
#include "scenario/scenario_platforms.hpp"

namespace pinfold::harness {

/// Reads the list below `expect`.
[[nodiscard]] ExpectStep read_expect(const nlohmann::json& list, const FieldPath& path,
                                     const PlatformScope& scope,
                                     std::optional<Complaint>& complaint);

}  // namespace pinfold::harness
