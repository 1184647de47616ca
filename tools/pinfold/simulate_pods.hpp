#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent_options.hpp"
#include "output.hpp"

/// `pinfold simulate` of pods, without a recorded history.
namespace pinfold::tools {

struct SimulatedPods {
  std::string config;  ///< "": the kubelet's defaults, or that of the state directory
  std::vector<std::string> kubelet_flags;  ///< over it
  std::string machine;
  std::string profile;  ///< "": from the configuration
  std::optional<std::string> synthetic;
  std::optional<std::string> workload;
  std::optional<std::string> state_dir;
  bool insecure_state_dir = false;
  std::vector<std::string> compared;  ///< two configurations, and pods that follow them
  std::vector<std::string> files;
  bool picture = false;
  OutputFormat output = OutputFormat::kText;

  /// True if an option asks for pods; false: recorded histories.
  [[nodiscard]] bool is_asked_for() const;
};

/// kNo if a pod is rejected; of two configurations, if only the second one rejects a pod. 130 after
/// SIGINT or SIGTERM, with the result until then.
[[nodiscard]] Result<ExitStatus> simulate_pods_of(SimulatedPods options);

}  // namespace pinfold::tools
