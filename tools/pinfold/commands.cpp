#include "commands.hpp"

namespace pinfold::tools {

cli::Command pinfold_command() {
  return {
      .name = "pinfold",
      .help =
          "Assigns CPUs and NUMA nodes to containers by the kubelet's rules and enforces them with "
          "cgroups.",
      .commands = {checkpoint_command(), admit_command(), start_command(), remove_command(),
                   status_command(), reconcile_command(), metrics_command(), simulate_command(),
                   hook_command(), oci_resources_command(), topology_command(), predict_command(),
                   cli::help_command()},
      .version = PINFOLD_VERSION};
}

}  // namespace pinfold::tools
