#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pinfold/base/result.hpp"
#include "pinfold/machine/description.hpp"

namespace pinfold {

/// Returns whether a JSON object has the form of cadvisor's MachineInfo.
[[nodiscard]] bool is_machine_info(const nlohmann::json& object);
/// Reads a MachineInfo.
/// Source: kubernetes v1.36.2 pkg/kubelet/cm/cpumanager/topology/cpu_topology.go Discover: a core
/// is its lowest CPU, its cache is the first of uncore_caches, else its socket.
[[nodiscard]] Result<MachineDescription> describe_machine_info(const nlohmann::json& info);

}  // namespace pinfold
