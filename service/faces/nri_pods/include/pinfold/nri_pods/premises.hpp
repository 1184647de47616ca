#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "pinfold/api/config.hpp"
#include "pinfold/decide/node.hpp"

/// The facts that are needed to recover a pod, besides the messages about it.
namespace pinfold::nri {

/// Which pods of the cluster can have pod-level resources (pod.spec.resources). NRI does not show
/// whether an amount is the container's own or its pod's.
enum class PodLevelUse {
  kAnyPod,         ///< amounts without kResourcesAnnotation are estimates
  kAnnotatedPods,  ///< only those with kResourcesAnnotation
};

/// Facts about the node and the cluster.
struct Premises {
  FeatureGates gates;
  PodLevelUse pod_level = PodLevelUse::kAnyPod;
  /// Pods are decided as a whole: topology scope pod, with a policy other than none.
  bool pod_scope = false;
  /// Containers can have huge pages that count: the memory manager is static, and the machine has
  /// some. (A kubelet admits no pod with huge pages of a size that the machine does not have.)
  bool huge_pages = true;
  /// Returns whether the group of a pod ("cgroup parent") has a limit of 0 for every size of huge
  /// pages of the machine, for runtimes that do not show the limits. Empty if this cannot be
  /// determined.
  std::function<bool(const std::string&)> has_no_huge_pages = {};
  std::uint64_t memory = 0;  ///< of the machine, in bytes; 0 if unknown
};
/// Returns the premises of a node as it is now. A reconfiguration can change all but `pod_level`.
[[nodiscard]] Premises make_premises(const Node& node, PodLevelUse pod_level);

}  // namespace pinfold::nri
