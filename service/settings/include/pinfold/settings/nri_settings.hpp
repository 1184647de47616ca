#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::settings {

/// How the service treats a container runtime's pods.
enum class NriMode {
  kEnforce,
  kObserve,  ///< decides, but changes nothing
};

/// Which pods of the cluster can have pod-level resources (pod.spec.resources).
enum class PodLevelResources { kNone, kAnnotated, kAny };

/// The containers that learn their CPUs and memory nodes.
enum class AssignedFor {
  kNone,
  kAnnotated,  ///< those of pods with the annotation pinfold.io/assigned
  kAny,        ///< all, unless that annotation is 'false'
};

/// The `nri` section of the configuration file.
struct NriSettings {
  std::string socket = "/var/run/nri/nri.sock";
  std::string index = "10";  ///< two digits
  NriMode mode = NriMode::kEnforce;
  PodLevelResources pod_level = PodLevelResources::kAny;
  std::string kubelet_root = "/var/lib/kubelet";
  std::chrono::seconds unhealthy_after{60};  ///< time without a connection
  /// Handlers of runtime classes (runtimeClass.handler) that make no group per container.
  std::vector<std::string> handlers_without_groups;

  AssignedFor assigned_for = AssignedFor::kAnnotated;

  friend bool operator==(const NriSettings&, const NriSettings&) = default;
};

/// Reads the section. Errors: kInvalidArgument, including if podLevelResources is missing.
[[nodiscard]] Result<NriSettings> parse_nri_settings(const nlohmann::json& section);

}  // namespace pinfold::settings
