#pragma once

#include <optional>
#include <vector>

#include "pinfold/agent/node_view.hpp"

namespace pinfold::agent {

/// What determines an admission besides the state.
struct AdmissionFacts {
  const Node& node;
  const CpuSet& offline;                   ///< CPUs of the node that are offline
  const std::optional<Machine>& observed;  ///< see KnownMachine
};

/// Decides pods in order on a copy of the state. Adds one trace per pod to `traces`, and to
/// `counts`, if they are given. Rejects a pod that would need memory that the machine no longer
/// has. Does not check which containers run: see NodeAgent::preview. Errors: kUnsupported if a pod
/// would get exclusive CPUs while CPUs are offline.
[[nodiscard]] Result<Preview> preview_admission(
    const AdmissionFacts& facts, const AgentState& state, const std::vector<PodSpec>& pods,
    std::vector<Trace>* traces = nullptr, const FromRuntime& shown = {}, Counts* counts = nullptr);

}  // namespace pinfold::agent
