#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/checkpoint/running_container.hpp"
#include "pinfold/types/container_id.hpp"
#include "pinfold/types/container_map.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::checkpoint {

/// Returns the known baseline of a container, or nullptr if it is not among its CPUs.
[[nodiscard]] inline const CpuSet* baseline_among(const ContainerMap<CpuSet>& known,
                                                  const ContainerId& id, const CpuSet& cpus) {
  const CpuSet* const baseline = known.find(id);
  return baseline != nullptr && cpus.contains_all(*baseline) ? baseline : nullptr;
}

/// Facts from the other files in the directory, and from the kernel.
struct OtherFiles {
  /// Contents by name: temporary files and copies in journals; any of them may be a state file.
  std::map<std::string, std::string> copies = {};
  std::vector<PodSpec> pods = {};              ///< the active pods, from .pinfold_pods
  std::set<ContainerId> removed = {};          ///< those of their containers that were removed
  ContainerMap<CpuSet> baselines = {};         ///< the CPUs that resizes must not take
  std::vector<RunningContainer> running = {};  ///< all of the node, without sandboxes
};

}  // namespace pinfold::checkpoint
