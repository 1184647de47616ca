#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/cli/command.hpp"

namespace pinfold::tools {

/// The command line of the service. Missing options come from the configuration file.
struct ServeOptions {
  std::optional<std::string> settings_file;
  std::optional<std::string> state_dir;
  std::optional<std::string> config;
  std::optional<std::string> kubelet_flags;
  std::optional<std::string> machine;
  std::optional<std::string> profile;
  std::optional<std::string> kubelet_binary;
  std::optional<std::string> cgroup_root;
  std::optional<std::string> socket;
  std::optional<std::string> grpc_socket;
  std::optional<std::string> pod_resources_socket;
  std::optional<std::string> metrics_address;
  std::optional<std::string> log_level;
  std::optional<std::string> check;  ///< "live" or "ready": checks the running service
  bool no_enforce = false;
  bool move_pages = false;
  bool keep_affinity = false;
  int interval_s = 0;  ///< 0: not given
  bool insecure_state_dir = false;
};
/// Declares `serve` without a function, for `pinfold-serve` and for the command that runs it.
[[nodiscard]] cli::Command serve_declaration(const std::shared_ptr<ServeOptions>& options);

/// The program of the service, installed next to `pinfold` or in the directory for programs that
/// users do not call.
inline constexpr const char* kServeProgram = "pinfold-serve";

}  // namespace pinfold::tools
