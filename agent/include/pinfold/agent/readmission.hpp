#pragma once

#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"

/// An active pod that is admitted again with another spec.
namespace pinfold::agent {

/// Whether a container with exclusive CPUs may get a request for another number of CPUs.
enum class Resizes {
  kAreLosses,        ///< no: it would keep the CPUs that it has, and the answer would not be true
  kKeepWhatIsThere,  ///< yes: the kubelet that resizes it knows that its CPUs stay
};

/// What a container has until now and would not have after the admission.
struct Loss {
  ContainerId container;
  std::string what;  ///< "is not in the new spec"
};

/// What the containers of an active pod lose if the state becomes `after`, where it has another
/// spec: those that are gone, whose exclusive CPUs change, or that belong to a pod of another name.
/// Whether they run is another question.
[[nodiscard]] std::vector<Loss> find_losses(const Node& node, const AgentState& before,
                                            const AgentState& after, const PodUid& uid,
                                            Resizes resizes);

/// For an error: what is active, what it would lose, and what to do.
[[nodiscard]] std::string describe(const Loss& loss, const PodSpec& active);

}  // namespace pinfold::agent
