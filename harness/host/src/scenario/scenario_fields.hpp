#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pinfold/harness/scenario.hpp"
#include "scenario/field_reader.hpp"

/// Fields that several parts of a scenario have.
namespace pinfold::harness {

/// Read `status`, the expected exit status of a command, and `command`.
[[nodiscard]] std::optional<int> read_status(FieldReader& fields);
[[nodiscard]] std::vector<std::string> read_command(FieldReader& fields);

/// Reads a KubeletConfiguration: an object or the name of a file.
[[nodiscard]] KubeletSource read_kubelet(FieldReader& fields, const char* key);

}  // namespace pinfold::harness
