#pragma once

#include <string>
#include <vector>

#include "pinfold/api/pod.hpp"

/// The pods and configurations that actions name by number. Every number names one.
namespace pinfold::world {

/// Returns pod `number` ("p3") of a shape.
[[nodiscard]] PodSpec pod_of(int number, int shape);
/// Returns that pod, and for each hundred of `shape` another one, with the next number and shape.
[[nodiscard]] std::vector<PodSpec> pods_of(int number, int shape);
[[nodiscard]] PodUid uid_of(int number);
/// A KubeletConfiguration.
[[nodiscard]] const std::string& config_text(int number);

}  // namespace pinfold::world
