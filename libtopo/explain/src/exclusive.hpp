#pragma once

#include <string>
#include <vector>

#include "pinfold/decide/decide.hpp"
#include "pinfold/explain/remedy.hpp"

namespace pinfold::explain_detail {

/// How containers of a pod can get exclusive CPUs.
struct ExclusiveAdvice {
  std::vector<Remedy> remedies;    ///< at most two
  std::vector<std::string> notes;  ///< why equal requests and limits alone do not suffice
};

/// Returns a change of an admitted pod's requests and limits with which more of its containers get
/// exclusive CPUs: equal requests and limits everywhere, with examples for those that are not set,
/// and whole CPUs; if it is rejected then, a smaller request as well, or the pods that have to be
/// removed; the policy static, if it is none; and for pod-level resources the feature gates, if
/// they are off. Nothing if no container would gain any. `state`: without the pod.
[[nodiscard]] ExclusiveAdvice ways_to_exclusive_cpus(const Node& node, const NodeState& state,
                                                     const PodSpec& pod);

}  // namespace pinfold::explain_detail
