#pragma once

#include <string>
#include <vector>

#include "outcome.hpp"
#include "pinfold/explain/explanation.hpp"

namespace pinfold::explain_detail {

/// Returns what the failed step needed, and who holds what is not free.
[[nodiscard]] std::vector<OccupiedResource> occupied(const Failure& failure);

/// Returns the part of a place that a pod holds, by container where that is known.
[[nodiscard]] std::vector<Holder> holders_of(const Failure& failure, const std::string& resource,
                                             const PlaceAmounts& place, const PodUid& uid);

/// Returns " (held by a/x 8 CPUs and a/y 3 CPUs with 1Gi of memory)" for the resources that a
/// failure lacks; "" if no pod holds any.
[[nodiscard]] std::string holders_of_all(const Failure& failure);

}  // namespace pinfold::explain_detail
