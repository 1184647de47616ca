#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pinfold/worker/snapshot.hpp"

namespace pinfold::socket {

/// Returns {"compared": 14, "differences": [{"uid": ..., "container": ..., "cpus": "2-3", ...}]},
/// as `pinfold status -o json` prints it and as the service answers a command.
[[nodiscard]] nlohmann::json to_json(const verbs::Comparison& comparison);
/// Errors: kInvalidArgument, "comparison.differences[0].cpus: ...: expected ...".
[[nodiscard]] Result<verbs::Comparison> comparison_from_json(const nlohmann::json& value);

}  // namespace pinfold::socket
