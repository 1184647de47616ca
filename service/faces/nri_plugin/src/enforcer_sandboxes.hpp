#pragma once

#include <string>

#include "enforcer_part.hpp"

namespace pinfold::nri {

/// Containers without their own group, which run in the group of their pod's sandbox.
class Sandboxes : private EnforcerPart {
 public:
  Sandboxes(const FollowerOptions& options, const KnownPods& known, verbs::Events& events)
      : EnforcerPart(options, known, events) {}

  /// Returns whether the settings say that the pod's runtime class makes no group per container.
  [[nodiscard]] bool is_declared(const api::PodSandbox& pod) const;
  /// Returns whether a container has no process of its own on this node. A group without processes
  /// may also be that of a container that has just ended. `directory` is the container's group.
  [[nodiscard]] bool is_run_by_sandbox(const Agent& agent, const api::PodSandbox& pod,
                                       const api::Container& container,
                                       const std::string& directory) const;
  /// Returns the group of a sandbox, whose processes run its containers.
  [[nodiscard]] Result<std::string> sandbox_group(const Agent& agent,
                                                  const api::PodSandbox& pod) const;
  /// Returns whether the agent has adopted the sandbox's group for a container.
  [[nodiscard]] bool is_in_sandbox(const Agent& agent, const ContainerId& id) const;
  /// Gives the sandbox's group the exclusive CPUs of all containers of the pod, and no shared ones,
  /// because all of them run in it.
  [[nodiscard]] Result<void> enter_sandbox(Agent& agent, const api::PodSandbox& pod,
                                           const ContainerId& id) const;
  /// Disowns the sandbox's group, which keeps running, for a container that is in it.
  void leave_sandbox(Agent& agent, const ContainerId& id) const;
  /// Does the same for containers that have ended without an event.
  void leave_sandboxes(Agent& agent) const;
};

}  // namespace pinfold::nri
