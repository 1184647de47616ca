#pragma once

#include <string>
#include <vector>

#include "model_kernel.hpp"
#include "pinfold/agent/desired.hpp"

namespace pinfold::world {

/// The group below which Pinfold makes its own.
inline constexpr const char* kRoot = "pinfold";

/// A container as seen in the kernel.
struct Seen {
  ContainerId id;  ///< without a pod: a foreign group, by its path
  std::string group;
  CpuSet cpus;
  bool has_processes = false;
  bool has_own = true;  ///< it has its own cpuset, not only that of the group above
  /// True for a group that a container made inside its own; it has its CPUs or some of them.
  bool is_nested = false;
  CpuSet runs_on = {};  ///< where its processes can run, including groups below
};

/// Returns the group of a directory in the model, however it is spelled.
[[nodiscard]] std::string group_of_directory(const test::ModelKernel& kernel,
                                             const std::string& directory);

/// Returns the groups of containers and those inside them, and the runtime's groups with processes.
[[nodiscard]] std::vector<Seen> containers_in(test::ModelKernel& kernel,
                                              const agent::AgentState& state);

/// Returns the CPUs that are exclusive to a container or pod.
[[nodiscard]] CpuSet exclusive_in(const agent::AgentState& state);

}  // namespace pinfold::world
