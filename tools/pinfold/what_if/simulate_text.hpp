#pragma once

#include <string>
#include <vector>

#include "documents.hpp"
#include "pinfold/picture/picture.hpp"
#include "pinfold/simulate/pods.hpp"

/// Formats simulations as text and JSON.
namespace pinfold::tools {

/// The simulation of one node.
struct SimulatedNode {
  std::string label;  ///< the file of its configuration, or "now"
  Node node;
  simulate::Simulation result;
};

/// Returns the picture of the node after the last event.
[[nodiscard]] Picture picture_of(const SimulatedNode& simulated);

/// Lists the resources of each pod, the rejections, totals, free CPUs and memory.
[[nodiscard]] std::string simulation_text(const SimulatedNode& simulated, bool draws);
/// Compares two nodes side by side. `all`: also lists pods with the same result on both.
[[nodiscard]] std::string comparison_text(const SimulatedNode& a, const SimulatedNode& b, bool all);
[[nodiscard]] SimulatedRun simulation_document(const SimulatedNode& simulated);
[[nodiscard]] RunComparison comparison_document(const SimulatedNode& a, const SimulatedNode& b);

}  // namespace pinfold::tools
