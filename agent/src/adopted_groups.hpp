#pragma once

#include <map>
#include <string>
#include <utility>

#include "pinfold/agent/kept_state.hpp"
#include "pinfold/enforce/cgroups.hpp"

/// Determines which container owns a group that a container runtime made.
namespace pinfold::agent {

/// A set of directories, none inside another, each with its container.
class TakenDirectories {
 public:
  /// Adds a directory for a container. Returns nullptr, or the existing entry with which it
  /// overlaps; then nothing is added.
  const std::pair<const std::string, ContainerId>* take(const std::string& directory,
                                                        const ContainerId& container);

 private:
  std::map<std::string, ContainerId> taken_;  ///< by "DIRECTORY/": directories inside sort after it
};

/// Checks that a pod has a container of this name. Errors: kNotFound.
[[nodiscard]] Result<void> check_container(const PodSpec& pod, const std::string& name);

/// Checks, by its path, that a group does not belong to another container of `pod`, or to another
/// active pod whose group the kubelet or Pinfold made.
/// `directory`: canonical. Errors: kInvalidArgument.
[[nodiscard]] Result<void> check_pod_of_group(const NodeState& state, const std::string& root,
                                              const PodSpec& pod, const std::string& container,
                                              const std::string& directory);

/// Returns the adopted groups of a state by canonical name, which earlier versions did not store.
/// If the groups of two containers then overlap, the one with exclusive CPUs keeps its group, else
/// the first; the other loses its group, which is logged. Containers of one pod may share the group
/// of their sandbox. A group that no longer exists keeps its name.
[[nodiscard]] ContainerMap<std::string> canonical_adopted(const AgentState& state,
                                                          const enforce::Cgroups& cgroups,
                                                          const LogSink& log);

}  // namespace pinfold::agent
