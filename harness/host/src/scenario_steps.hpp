#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "field_reader.hpp"
#include "pinfold/harness/scenario.hpp"
#include "scenario_platforms.hpp"

namespace pinfold::harness {

/// A step and its path in the document.
struct PlacedStep {
  Step step;
  FieldPath path;
};

/// Reads `steps`: those for the platform of `scope`, in order, with groups flattened. Absent
/// (nullptr) is a complaint.
[[nodiscard]] std::vector<PlacedStep> read_steps(const nlohmann::json* list,
                                                 const PlatformScope& scope,
                                                 std::optional<Complaint>& complaint);

/// Reads the list below `expect`.
[[nodiscard]] ExpectStep read_expect(const nlohmann::json& list, const FieldPath& path,
                                     const PlatformScope& scope,
                                     std::optional<Complaint>& complaint);

/// Reads a KubeletConfiguration: an object or the name of a file.
[[nodiscard]] KubeletSource read_kubelet(FieldReader& fields, const char* key);

}  // namespace pinfold::harness
