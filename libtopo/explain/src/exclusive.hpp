#pragma once

#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/explain/remedy.hpp"

namespace pinfold::explain_detail {

/// Returns changes of an admitted pod's requests and limits with which more of its containers get
/// exclusive CPUs: equal requests and limits everywhere, and whole CPUs. Empty if nothing is
/// missing or the pod would be rejected. `state`: without the pod.
[[nodiscard]] std::vector<Remedy> ways_to_exclusive_cpus(const Node& node, const NodeState& state,
                                                         const PodSpec& pod);

}  // namespace pinfold::explain_detail
