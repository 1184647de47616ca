#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"

namespace pinfold {

/// A change that gets a rejected pod admitted, as confirmed by decide(). The members after `text`
/// hold the change: the one for the kind, and others that have to change with it (`config` or
/// `pods` with `pod`).
struct Remedy {
  enum class Kind {
    kRequest,  ///< the pod's requests change: `pod`
    kMoves,    ///< containers of other pods move: `moves`, from plan_defragmentation()
    kResize,   ///< a container of another pod requests less while it runs: `pod` is that pod
    kPods,     ///< other pods are removed: `pods`
    kSetting,  ///< the node's configuration changes: `config`
    kOnline,   ///< CPUs come back online: `online`
  };
  Kind kind = Kind::kRequest;
  std::string text;  ///< "container main: cpu 6 -> 4 (requests and limits)"

  std::optional<PodSpec> pod;
  std::vector<PodUid> pods;
  std::optional<Config> config;
  std::vector<PlannedContainer> moves = {};
  /// CPUs that must be back online before the change helps. find_remedies() leaves it empty,
  /// because it knows of no offline CPUs.
  CpuSet online = {};
};

/// Returns "request", "moves", "resize", "pods", "setting" or "online".
[[nodiscard]] std::string_view to_string(Remedy::Kind kind);

inline constexpr std::size_t kMoveSteps = 100;  ///< PlanOptions::steps of the first search

}  // namespace pinfold
