#pragma once

#include <string>

#include "outcome.hpp"

namespace pinfold::explain_detail {

/// What the pod needs, what is missing, and where: one sentence.
[[nodiscard]] std::string summarize(const Failure& failure);

/// The limit of the machine or configuration that a pod exceeds. `alone`: on the node without other
/// pods.
[[nodiscard]] std::string summarize_limit(const Failure& alone);

/// The containers that share what the exclusive ones of their pod leave, if nothing is left; else
/// empty. Only of a pod with pod-level resources.
[[nodiscard]] std::vector<std::string> starved_containers(const Failure& failure,
                                                          const std::string& resource);

}  // namespace pinfold::explain_detail
