#pragma once

#include <map>
#include <string>

#include "enforcer_others.hpp"
#include "enforcer_part.hpp"
#include "enforcer_sandboxes.hpp"

namespace pinfold::nri {

/// Decides whether a container may be created and started. Strict only where exclusive CPUs are at
/// stake.
class Gate : private EnforcerPart {
 public:
  Gate(const FollowerOptions& options, const KnownPods& known, OtherGroups& others,
       const Sandboxes& sandboxes, verbs::Events& events)
      : EnforcerPart(options, known, events), others_(others), sandboxes_(sandboxes) {}

  /// Makes sure that nothing else can run on the CPUs that become exclusive to a container, before
  /// it is created. Its own group does not exist yet.
  [[nodiscard]] Result<void> make_room(Agent& agent, const api::PodSandbox& pod,
                                       const ContainerId& id);
  [[nodiscard]] Result<void> start_exclusive(Agent& agent, const api::StateChangeEvent& event,
                                             const ContainerId& id);
  /// Checks the start of a container in the shared pool. It may have fewer CPUs than it should, or
  /// no group, because that harms no other container.
  [[nodiscard]] Result<void> start_shared(Agent& agent, const api::StateChangeEvent& event,
                                          const ContainerId& id);
  /// Reduces the CPUs of an answer to those that the container can have.
  void fit(const Agent& agent, const ContainerId& id, const api::Container& container,
           api::LinuxCPU& cpu) const;
  void fit(const Agent& agent, api::ContainerUpdate& update) const;

 private:
  [[nodiscard]] Result<void> check_off_exclusive(const Agent& agent,
                                                 const std::string& directory) const;
  void note_narrowed(const Agent& agent, const ContainerId& id);
  [[nodiscard]] CpuSet attainable(const Agent& agent, const ContainerId& id,
                                  const api::Container& container, const std::string& cpus) const;

  OtherGroups& others_;
  const Sandboxes& sandboxes_;
  std::map<ContainerId, std::string> narrowed_;  ///< the last line logged per container
};

}  // namespace pinfold::nri
