#pragma once

#include <map>
#include <string>
#include <utility>

#include "pinfold/agent/kept_state.hpp"
#include "pinfold/enforce/cgroups.hpp"

/// To whom the group of a container runtime belongs.
namespace pinfold::agent {

/// Directories, none inside another, each with its container.
class TakenDirectories {
 public:
  /// Takes a directory for a container. Returns: nullptr, or the one with which it overlaps and
  /// that keeps it.
  const std::pair<const std::string, ContainerId>* take(const std::string& directory,
                                                        const ContainerId& container);

 private:
  std::map<std::string, ContainerId> taken_;  ///< "DIRECTORY/": what is in one is right after it
};

/// Checks by its name that a group is not one of another pod or container: of an active pod whose
/// group the kubelet or Pinfold made, or of another container of `pod`.
/// `directory`: canonical. Errors: kInvalidArgument.
[[nodiscard]] Result<void> check_pod_of_group(const NodeState& state, const std::string& root,
                                              const PodSpec& pod, const std::string& container,
                                              const std::string& directory);

/// The adopted groups of a state under their canonical names, which earlier versions did not store.
/// Of two containers that have one group so, the one with exclusive CPUs keeps it, else the first;
/// the other is logged and has none; containers of one pod can have the group of their sandbox
/// together. A group that no longer exists keeps its name.
[[nodiscard]] ContainerMap<std::string> canonical_adopted(const AgentState& state,
                                                          const enforce::Cgroups& cgroups,
                                                          const LogSink& log);

}  // namespace pinfold::agent
