#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pinfold/simulate/pods.hpp"
#include "topology_picture.hpp"

/// Simulations as text and JSON.
namespace pinfold::tools {

/// What one node did.
struct SimulatedNode {
  std::string label;  ///< the file of its configuration, or "now"
  Node node;
  simulate::Simulation result;
};

/// The node after the last event.
[[nodiscard]] Picture picture_of(const SimulatedNode& simulated);

/// Who has what, the rejections, totals, free CPUs and memory.
[[nodiscard]] std::string simulation_text(const SimulatedNode& simulated, bool draws);
/// Two nodes side by side. `all`: pods that fare the same on both are listed too.
[[nodiscard]] std::string comparison_text(const SimulatedNode& a, const SimulatedNode& b, bool all);
/// An element of "runs" in docs/simulate.md.
[[nodiscard]] nlohmann::json simulation_json(const SimulatedNode& simulated);
/// "compared" in docs/simulate.md.
[[nodiscard]] nlohmann::json comparison_json(const SimulatedNode& a, const SimulatedNode& b);

}  // namespace pinfold::tools
