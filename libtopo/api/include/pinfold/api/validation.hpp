#pragma once

#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"

namespace pinfold {

/// Returns what the API server would reject in the resources of a pod and its containers, in its
/// order and words, each with the path of the field:
///   spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu
///   limit of 1
/// Where the API server walks a Go map, violations are in the order of the resource names.
/// Domain: a pod that pod_from_json accepts, after apply_defaults; the API server also validates
/// after defaulting.
/// Source: Kubernetes 1.36, validation of resource requirements.
[[nodiscard]] std::vector<std::string> find_violations(const PodSpec& pod);

/// Validates a pod. Errors: kInvalidArgument with all violations, as the API server answers:
/// `Pod "web" is invalid: spec...`, or `Pod "web" is invalid: [spec..., spec...]` if there are
/// several.
[[nodiscard]] Result<void> validate(const PodSpec& pod);

}  // namespace pinfold
