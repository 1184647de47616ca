#pragma once

#include "enforcer_others.hpp"
#include "enforcer_part.hpp"
#include "enforcer_sandboxes.hpp"
#include "pinfold/nri_pods/plan.hpp"

namespace pinfold::nri {

/// Has the agent carry out plans.
class Execution : private EnforcerPart {
 public:
  Execution(const FollowerOptions& options, const KnownPods& known, OtherGroups& others,
            const Sandboxes& sandboxes, verbs::Events& events)
      : EnforcerPart(options, known, events), others_(others), sandboxes_(sandboxes) {}

  using EnforcerPart::run;
  /// Returns the error of the first rejected pod; the other pods are still decided.
  Result<void> execute(Agent& agent, const AgentRequests& requests);
  /// Changes the number of a container's exclusive CPUs. Errors: the reason of a rejected resize;
  /// kBusy if the change is stored, but not yet applied.
  Result<void> resize(Agent& agent, const ResizeRequest& request);
  /// Carries out only the removals. A failed one is tried again with the next event.
  void remove(Agent& agent, const AgentRequests& requests);
  /// Releases what was decided for a container that was not created or has not started. A pod
  /// without any other container is removed; it is decided again when one is created.
  void take_back(Agent& agent, const api::PodSandbox& pod, const ContainerId& id);

 private:
  Result<void> execute_each(Agent& agent, const AgentRequests& requests);
  void note(Agent& agent, const agent::PodNotes& notes) const;

  OtherGroups& others_;
  const Sandboxes& sandboxes_;
};

}  // namespace pinfold::nri
