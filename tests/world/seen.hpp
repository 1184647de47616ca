#pragma once

#include <string>
#include <vector>

#include "model_kernel.hpp"
#include "pinfold/agent/desired.hpp"

namespace pinfold::world {

/// The group below which Pinfold makes its own.
inline constexpr const char* kRoot = "pinfold";

/// A container as the kernel has it.
struct Seen {
  ContainerId id;  ///< without a pod: nobody's group, by its path
  std::string group;
  CpuSet cpus;
  bool has_processes = false;
  bool has_own = true;  ///< a cpuset: not only the one of the group above
  /// A group that a container has made in its own, which has its CPUs or a part of them.
  bool is_nested = false;
  CpuSet runs_on = {};  ///< where its processes can run, also those in groups below
};

/// The group of a directory of the model, however that is spelt.
[[nodiscard]] std::string group_of_directory(const test::ModelKernel& kernel,
                                             const std::string& directory);

/// The groups of containers and those in them, and those below the runtime's in which processes
/// run.
[[nodiscard]] std::vector<Seen> containers_in(test::ModelKernel& kernel,
                                              const agent::AgentState& state);

/// The CPUs that are exclusive to a container or pod.
[[nodiscard]] CpuSet exclusive_in(const agent::AgentState& state);

}  // namespace pinfold::world
