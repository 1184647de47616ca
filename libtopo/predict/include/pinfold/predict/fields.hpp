#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pinfold/fields/types.hpp"
#include "pinfold/predict/bound_pods.hpp"
#include "pinfold/predict/pod_query.hpp"

namespace pinfold {

void describe(fields::Fields& fields, ZoneAmount& amount);
void describe(fields::Fields& fields, PlacedPod& placed);
void describe(fields::Fields& fields, NodePrediction& prediction);
void describe(fields::Fields& fields, PodPredictions& predictions);

/// Writes a placement as JSON, for example for an annotation:
/// [{"zone": "node-0", "resource": "cpu", "amount": 2000}].
[[nodiscard]] nlohmann::json to_json(const Fleet& fleet, std::size_t node,
                                     const Placement& placement);
/// Reads a placement back. Errors: those of placement_of; kInvalidArgument for a malformed amount.
[[nodiscard]] Result<Placement> placement_from_json(const Fleet& fleet, std::size_t node,
                                                    const nlohmann::json& document);

/// Reads a PlacedPod with a node; other members are ignored.
/// Errors: kInvalidArgument for a node that is not in the fleet; else as for placement_from_json.
[[nodiscard]] Result<BoundPod> bound_pod_from_json(const Fleet& fleet,
                                                   const nlohmann::json& document);

}  // namespace pinfold
