#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/nri/messages.hpp"

namespace pinfold::nri {

/// Reads the value of an annotation as JSON or YAML; null if the pod does not have it.
/// Errors: kInvalidArgument if it is not a document or too large.
[[nodiscard]] Result<nlohmann::json> read_annotation(const api::PodSandbox& sandbox,
                                                     std::string_view name);

}  // namespace pinfold::nri
