#pragma once

#include <nlohmann/json.hpp>

#include "pinfold/decide/decide.hpp"

/// Converts the results of a step to JSON in the conformance format.
namespace pinfold::simulate {

[[nodiscard]] nlohmann::json hint_json(const Machine& machine, const TopologyHint& hint);
[[nodiscard]] nlohmann::json hints_json(const Machine& machine, const HintsByObject& hints);
[[nodiscard]] nlohmann::json blocks_json(const std::vector<MemoryBlock>& blocks);
[[nodiscard]] nlohmann::json container_json(const Node& node, const ContainerResources& resources);
[[nodiscard]] nlohmann::json pod_linux_json(const LinuxResources& resources);

}  // namespace pinfold::simulate
