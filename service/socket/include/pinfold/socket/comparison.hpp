#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pinfold/service/snapshot.hpp"

namespace pinfold::service {

/// Returns {"compared": 14, "differences": [{"uid": ..., "container": ..., "cpus": "2-3", ...}]},
/// as `pinfold status -o json` prints it and as the service answers a command.
[[nodiscard]] nlohmann::json to_json(const Comparison& comparison);
/// Errors: kInvalidArgument, "comparison.differences[0].cpus: ...: expected ...".
[[nodiscard]] Result<Comparison> comparison_from_json(const nlohmann::json& value);

}  // namespace pinfold::service
