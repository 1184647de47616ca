#pragma once

#include <string>
#include <vector>

#include "output.hpp"
#include "pinfold/machine/machine.hpp"

namespace pinfold::tools {

/// Where the configuration and the state of a node come from.
struct NrtSource {
  std::string config;  ///< "": config.yaml in state_dir, else the kubelet's defaults
  std::vector<std::string> kubelet_flags;
  std::string state_dir;  ///< "": all resources are available
};

/// Prints the NodeResourceTopology of a machine.
[[nodiscard]] Result<ExitStatus> print_node_topology(const Machine& machine,
                                                     const NrtSource& source);

}  // namespace pinfold::tools
