#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pinfold/api/assigned_variables.hpp"
#include "pinfold/nri/messages.hpp"

/// A pod's request to learn its CPUs and memory nodes.
namespace pinfold::nri {

/// Annotation of a pod whose containers ask for their CPUs: "true", "false", or a mapping of
/// containers to environment variables, as JSON or YAML: {main: {WORKER_CPUS: assigned.cpuset}}.
inline constexpr std::string_view kAssignedAnnotation = "pinfold.io/assigned";

/// Returns what a container asks for, perhaps no variable; nullopt if it does not ask.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<std::optional<AssignedVariables>> asked_variables(
    const api::PodSandbox& sandbox, const std::string& container);

}  // namespace pinfold::nri
