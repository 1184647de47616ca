#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pinfold/agent/node_agent.hpp"

/// What the OCI hook does to the state of a node.
namespace pinfold::agent {

/// Why a request of the hook fails. The author of a container reads what the hook prints, but may
/// not be allowed to read the file that the pod comes from: then only the summary is for him.
struct Refusal {
  std::string summary;  ///< quotes nothing of the pod
  Error error;          ///< with the details

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// Admits and starts a container in the group that its runtime made. If that fails after the
/// admission, or the container's process `has_ended` by then, kills the processes of the group and
/// removes the container again. Returns: nothing if it is admitted and started. Codes of the
/// refusal: kBusy if a container of this name runs already, or another pod has this UID;
/// kUnsupported for a rejection; those of NodeAgent::admit_adopted and start.
[[nodiscard]] std::optional<Refusal> admit_hooked(NodeAgent& agent, const PodSpec& pod,
                                                  const Adoption& adoption,
                                                  const std::function<bool()>& has_ended);
/// Removes a container that the hook has admitted; any other one stays. Returns: nothing if it is
/// removed. Codes of the refusal: those of NodeAgent::remove_adopted.
[[nodiscard]] std::optional<Refusal> remove_hooked(NodeAgent& agent, const ContainerId& container);

}  // namespace pinfold::agent
