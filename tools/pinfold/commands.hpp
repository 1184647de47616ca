#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pinfold/cli/command.hpp"

/// The commands of `pinfold`. Each has its own file.
namespace pinfold::tools {

[[nodiscard]] cli::Command admit_command();
[[nodiscard]] cli::Command audit_command();
[[nodiscard]] cli::Command barrier_command();
[[nodiscard]] cli::Command checkpoint_command();
/// `program`: makes the declaration of all commands.
[[nodiscard]] cli::Command completion_command(std::function<cli::Command()> program);
[[nodiscard]] cli::Command defragment_command();
[[nodiscard]] cli::Command doctor_command();
[[nodiscard]] cli::Command explain_command();
[[nodiscard]] cli::Command hook_command();
[[nodiscard]] cli::Command metrics_command();
[[nodiscard]] cli::Command noise_command();
[[nodiscard]] cli::Command oci_resources_command();
[[nodiscard]] cli::Command predict_command();
[[nodiscard]] cli::Command quiet_command();
[[nodiscard]] cli::Command reconcile_command();
[[nodiscard]] cli::Command reconfigure_command();
[[nodiscard]] cli::Command remove_command();
[[nodiscard]] cli::Command resize_command();
/// `arguments`: the words after "serve" on the command line.
[[nodiscard]] cli::Command serve_command(const std::vector<std::string>& arguments);
[[nodiscard]] cli::Command simulate_command();
[[nodiscard]] cli::Command start_command();
[[nodiscard]] cli::Command status_command();
[[nodiscard]] cli::Command topology_command();
[[nodiscard]] cli::Command who_command();

}  // namespace pinfold::tools
