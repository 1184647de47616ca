#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold {

/// The values of KEP-6369's downward API: the CPUs and the memory nodes that a container has
/// exclusively.
inline constexpr const char* kAssignedCpuset = "assigned.cpuset";
inline constexpr const char* kAssignedMemset = "assigned.memset";

/// Environment variables of a container, each with the name of one of these values.
using AssignedVariables = std::map<std::string, std::string>;

/// Reads an object such as {WORKER_CPUS: assigned.cpuset}, or `true` for no variables; nullopt for
/// `false` and null. Errors: kInvalidArgument, "path.WORKER_CPUS: 'x': expected ...".
[[nodiscard]] Result<std::optional<AssignedVariables>> read_assigned_variables(
    std::string_view path, const nlohmann::json& value);

}  // namespace pinfold
