#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/nri/messages.hpp"

/// What a pod asks to be told about its own CPUs and memory nodes.
namespace pinfold::nri {

/// Annotation of a pod whose containers ask for their CPUs: "true", "false", or a mapping of
/// containers to environment variables, as JSON or YAML: {main: {WORKER_CPUS: assigned.cpuset}}.
inline constexpr std::string_view kAssignedAnnotation = "pinfold.io/assigned";

/// The environment variables of a container, each with the name of its value in KEP-6369:
/// "assigned.cpuset" or "assigned.memset".
using AskedVariables = std::map<std::string, std::string>;

/// Returns what a container asks for, perhaps no variable; nullopt if it does not ask.
/// Errors: kInvalidArgument.
[[nodiscard]] Result<std::optional<AskedVariables>> asked_variables(const api::PodSandbox& sandbox,
                                                                    const std::string& container);

}  // namespace pinfold::nri
