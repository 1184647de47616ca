#pragma once

#include <optional>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace pinfold::explain_detail {

/// Returns one sentence: what the pod needs, what is missing, and where.
[[nodiscard]] std::string summarize(const Failure& failure);

/// Returns the limit of the machine or configuration that a pod exceeds. `alone` is the failure on
/// a node without other pods, `failure` the one on the present node.
[[nodiscard]] std::string summarize_limit(const Failure& failure, const Failure& alone);

/// Returns the containers that share what the exclusive ones of their pod leave, if nothing is
/// left; else none. Only for a pod with pod-level resources.
[[nodiscard]] std::vector<std::string> starved_containers(const Failure& failure,
                                                          const std::string& resource);

/// An exclusive init container that needs more of its pod's resources than the sidecars before it
/// leave. Only in a pod with pod-level resources.
struct InitShortage {
  std::string container;
  Quantity needed;
  Quantity left;
};
[[nodiscard]] std::optional<InitShortage> find_init_shortage(const Failure& failure,
                                                             const std::string& resource);

}  // namespace pinfold::explain_detail
