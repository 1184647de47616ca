#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"

/// Pods as users write them.
namespace pinfold {

/// A Pod that a user wrote, checked as kubectl does, with the API server's defaults.
/// Errors: kInvalidArgument, for an unknown field too (see check_pod_fields).
[[nodiscard]] Result<PodSpec> read_pod(const nlohmann::json& document);
/// The same for one or several documents, each a Pod or a list of Pods. `name`: what errors call
/// the text. Errors: kInvalidArgument with the document's number.
[[nodiscard]] Result<std::vector<PodSpec>> read_pods(std::string_view yaml_or_json,
                                                     std::string_view name);
/// Errors: kInvalidArgument with the violations of all pods (see pinfold/api/validation.hpp).
[[nodiscard]] Result<void> validate_all(const std::vector<PodSpec>& pods);

}  // namespace pinfold
