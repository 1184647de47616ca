#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "field_reader.hpp"
#include "pinfold/harness/scenario.hpp"

namespace pinfold::harness {

/// Reads one entry of `steps`: a verb with its fields.
[[nodiscard]] Step read_step(const nlohmann::json& value, const FieldPath& path,
                             std::optional<Complaint>& complaint);

/// Reads the list below `expect`.
[[nodiscard]] ExpectStep read_expect(const nlohmann::json& list, const FieldPath& path,
                                     std::optional<Complaint>& complaint);

/// Reads a KubeletConfiguration, which is there as an object or as the name of a file.
[[nodiscard]] KubeletSource read_kubelet(FieldReader& fields, const char* key);

}  // namespace pinfold::harness
