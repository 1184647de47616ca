#pragma once

#include <string>

#include "pinfold/machine/machine.hpp"

namespace pinfold::tools {

/// What a machine does not tell of a node: its configuration and its state.
struct NodeSource {
  std::string config;     ///< "": config.yaml in state_dir, else the kubelet's defaults
  std::string state_dir;  ///< "": nothing is in use
};

/// Prints the NodeResourceTopology of a machine; returns an exit status.
int print_node_topology(Machine machine, const NodeSource& source);

}  // namespace pinfold::tools
