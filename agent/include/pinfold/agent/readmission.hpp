#pragma once

#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"

/// Checks for an active pod that is admitted again with another spec.
namespace pinfold::agent {

/// Whether the CPU request of a container with exclusive CPUs may change.
enum class Resizes {
  kAreLosses,        ///< no: its CPUs would stay the same, contrary to the answer
  kKeepWhatIsThere,  ///< yes: the kubelet that resizes it knows that its CPUs stay the same
};

/// Something that a container has now and would not have after the admission.
struct Loss {
  ContainerId container;
  std::string what;  ///< "is not in the new spec"
};

/// Returns what the containers of an active pod lose if the state becomes `after`, where the pod
/// has another spec: one loss per container that is gone, whose exclusive CPUs change, or whose pod
/// has another name. Does not check whether they run.
[[nodiscard]] std::vector<Loss> find_losses(const Node& node, const AgentState& before,
                                            const AgentState& after, const PodUid& uid,
                                            Resizes resizes);

/// Returns the text of an error: what is active, what it would lose, and what to do.
[[nodiscard]] std::string describe(const Loss& loss, const PodSpec& active);

}  // namespace pinfold::agent
