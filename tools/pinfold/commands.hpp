#pragma once

#include "pinfold/cli/command.hpp"

/// The command `pinfold`. Each subcommand has its own file.
namespace pinfold::tools {

[[nodiscard]] cli::Command admit_command();
[[nodiscard]] cli::Command checkpoint_command();
[[nodiscard]] cli::Command hook_command();
[[nodiscard]] cli::Command metrics_command();
[[nodiscard]] cli::Command oci_resources_command();
[[nodiscard]] cli::Command predict_command();
[[nodiscard]] cli::Command reconcile_command();
[[nodiscard]] cli::Command remove_command();
[[nodiscard]] cli::Command simulate_command();
[[nodiscard]] cli::Command start_command();
[[nodiscard]] cli::Command status_command();
[[nodiscard]] cli::Command topology_command();

/// The whole program.
[[nodiscard]] cli::Command pinfold_command();

}  // namespace pinfold::tools
