#pragma once

#include <string>

#include "outcome.hpp"

namespace pinfold::explain_detail {

/// What the pod needs, what is missing, and where: one sentence.
[[nodiscard]] std::string summarize(const Failure& failure);

/// The same without the pod's name at the front, for a second sentence about it.
[[nodiscard]] std::string need(const Failure& failure);

/// The containers that share what the exclusive ones of their pod leave, if nothing is left; else
/// empty. Only of a pod with pod-level resources.
[[nodiscard]] std::vector<std::string> starved_containers(const Failure& failure,
                                                          const std::string& resource);

}  // namespace pinfold::explain_detail
