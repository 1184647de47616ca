#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/kube/observed_annotations.hpp"
#include "pinfold/predict/bound_pods.hpp"

namespace pinfold::kube {

/// A pod as the API server shows it.
struct WatchedPod {
  PodSpec spec;
  std::string node;          ///< "" if it is not bound
  bool has_ended = false;    ///< Succeeded or Failed: its resources are free
  bool is_rejected = false;  ///< its kubelet has rejected it with a TopologyAffinityError
  std::optional<std::vector<ZoneAmount>> observed;
  std::string warning;  ///< why the annotation cannot be read; "" if it can
};

/// Reads a v1 Pod. An annotation that cannot be read counts as absent, with a warning.
/// Errors: those of pod_from_json.
[[nodiscard]] Result<WatchedPod> watched_pod_from_json(const nlohmann::json& object);

/// Reads the value of kObservedAnnotation. "null" is nullopt: the exporter does not know.
/// Errors: kInvalidArgument, "[0].amount.cpu: 'x': <what was expected>".
[[nodiscard]] Result<std::optional<std::vector<ZoneAmount>>> parse_observed(std::string_view text);

}  // namespace pinfold::kube
