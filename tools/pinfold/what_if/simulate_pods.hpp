#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/agent_arguments.hpp"
#include "output.hpp"

/// `pinfold simulate` for pods, without a recorded history.
namespace pinfold::tools {

struct SimulatedPods {
  std::string config;  ///< "": the kubelet's defaults, or that of the state directory
  std::vector<std::string> kubelet_flags;  ///< override it
  std::string machine;
  std::string profile;  ///< "": from the configuration
  std::optional<std::string> synthetic;
  std::optional<std::string> workload;
  std::optional<std::string> state_dir;
  bool insecure_state_dir = false;
  std::vector<std::string> compared;  ///< two configurations, followed by pods
  std::vector<std::string> files;
  bool picture = false;
  OutputFormat output = OutputFormat::kText;

  /// Returns true if an option selects pods, false for recorded histories.
  [[nodiscard]] bool is_asked_for() const;
};

/// Returns kNo if a pod is rejected (with two configurations: only by the second one). Returns 130
/// after SIGINT or SIGTERM, and prints the result so far.
[[nodiscard]] Result<ExitStatus> simulate_pods_of(SimulatedPods options);

}  // namespace pinfold::tools
