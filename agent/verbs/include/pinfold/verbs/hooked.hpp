#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "pinfold/agent/assigned_files.hpp"
#include "pinfold/verbs/action.hpp"

/// The requests of runtimes that made the group of their container: the OCI hook, and
/// pinfold_container_create.
namespace pinfold::verbs {

/// Why a request of the hook fails. The author of a container sees the hook's output, but may not
/// be permitted to read the pod's file; then only the summary may be printed.
struct Refusal {
  std::string summary;                      ///< quotes nothing of the pod
  Error error;                              ///< with the details
  std::optional<Rejection> rejection = {};  ///< if the pod is rejected

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// Admits and starts a container in the group that its runtime made, after
/// agent::remove_abandoned. If the start fails, or `has_ended` says that the container's process
/// has exited, kills the processes of the group and removes the container again. Returns nullopt on
/// success. Codes of the refusal: kBusy if a container of this name runs already, or another pod
/// has this UID; kUnsupported for a rejection; kNotFound if the process has exited; those of
/// NodeAgent::admit_adopted and start.
[[nodiscard]] std::optional<Refusal> admit_hooked(agent::NodeAgent& agent,
                                                  const AdmitHooked& request,
                                                  const std::function<bool()>& has_ended);
/// The resources to announce to a container before it is created.
struct OwnResources {
  std::string directory;  ///< of its files, for a read-only bind mount: see agent::AssignedFiles
  agent::AssignedValues values;

  friend bool operator==(const OwnResources&, const OwnResources&) = default;
};
using PreparedContainer = std::variant<OwnResources, Refusal>;
/// Admits the pod of a container that `creator` is about to make, unless it is active, after
/// agent::remove_abandoned. The pod is removed if the creator ends before admit_hooked. Codes of
/// the refusal: those of admit_hooked and NodeAgent::publish_assigned.
[[nodiscard]] PreparedContainer prepare_hooked(agent::NodeAgent& agent,
                                               const PrepareHooked& request);
/// Removes a container with an adopted group, or a pod that was only prepared; ignores any other.
/// Returns nullopt unless it fails. Codes of the refusal: those of agent::remove_adopted.
[[nodiscard]] std::optional<Refusal> remove_hooked(agent::NodeAgent& agent,
                                                   const ContainerId& container);

}  // namespace pinfold::verbs
