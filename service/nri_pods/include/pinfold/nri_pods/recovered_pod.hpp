#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/result.hpp"

/// A pod as NRI shows it: values.
namespace pinfold::nri {

/// What a value was derived from.
enum class Origin {
  kAnnotation,
  kShares,
  kQuota,
  kMemoryLimit,
  kHugePageLimits,
  kOomScoreAdj,
  kQosClass,  ///< Guaranteed: the request is the limit; BestEffort: there is none
};
[[nodiscard]] std::string_view to_string(Origin origin);

/// An amount of a resource. Zero counts as absent.
struct Amount {
  Quantity value;
  Origin origin = Origin::kQosClass;
  /// True if every Pod for which the kubelet sends the same messages has this amount, CPUs rounded
  /// up to 1m and bytes to 1. Else it is estimated.
  bool is_exact = false;

  friend bool operator==(const Amount&, const Amount&) = default;
};

/// Resource name to amount: always "cpu" and "memory"; of huge pages the sizes that it has.
using Amounts = std::map<std::string, Amount, std::less<>>;

struct RecoveredContainer {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  bool kind_is_exact = false;
  Amounts requests;
  Amounts limits;
  /// True if it has no other huge pages than those of `limits`.
  bool has_all_huge_pages = false;

  friend bool operator==(const RecoveredContainer&, const RecoveredContainer&) = default;
};

struct RecoveredPod {
  PodUid uid;
  std::string name;
  std::string namespace_name;
  /// By the kubelet's cgroup of the pod, exact; nullopt if it has another one.
  std::optional<QosClass> qos;
  /// True if kResourcesAnnotation says all that follows, and agrees with what NRI shows.
  bool is_announced = false;
  /// All of the annotation in its order; without it those that NRI has shown.
  std::vector<RecoveredContainer> containers;
  /// True if no other container of the pod runs at the same time as these.
  bool has_all_containers = false;
  /// Why its containers cannot have what they show: together it is more than the pod has. Then
  /// nothing of the pod is exclusive. "": they can.
  std::string contradiction;
  std::optional<Resources> resources;  ///< pod-level
  bool resources_are_exact = false;
  /// Containers that are no part of what was announced or, in a Guaranteed pod, have no limits:
  /// ephemeral containers, or those that were added after the annotation.
  std::vector<std::string> unannounced;
  /// Why its annotation is not used. Then nothing of the pod is exclusive.
  std::optional<Error> refused_annotation;

  [[nodiscard]] const RecoveredContainer* find(std::string_view container_name) const;

  friend bool operator==(const RecoveredPod&, const RecoveredPod&) = default;
};

}  // namespace pinfold::nri
