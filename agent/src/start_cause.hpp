#pragma once

#include <string>

#include "pinfold/checkpoint/files.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/types/pod_ref.hpp"

namespace pinfold::agent {

/// Why a stored state does not fit a node.
struct StartCause {
  /// Sentences without a period: the values that differ, who holds them, and what helps without
  /// changing the state; "" if none of the known causes applies.
  std::string text;
  /// The node reserves or does not have CPUs that containers of the state have, so no state file
  /// for it lets these containers keep them.
  bool takes_from_containers = false;
};

/// Compares a state that does not start with the node. `names`: of the pods of the state.
[[nodiscard]] StartCause find_start_cause(const Node& node, const StartError& error,
                                          const checkpoint::Files& files, const PodNames& names);

/// Returns whether the kubelet's files have no assignments and no other file knows pods, so that it
/// costs nothing to delete them.
[[nodiscard]] bool holds_nothing(const checkpoint::Files& files);

/// Reads the names of the pods in the files: those of the agent's own file, else those in the
/// kubelet's directory of logs.
[[nodiscard]] PodNames names_in_files(const checkpoint::Files& files, const std::string& pod_logs);

}  // namespace pinfold::agent
