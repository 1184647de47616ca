#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/api/quiet_note.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/quiet/quiet_level.hpp"

/// A pod as NRI shows it, as values.
namespace pinfold::nri {

/// Annotation of a pod with the resources of its spec, as JSON or YAML in the shape of Pod.spec.
inline constexpr std::string_view kResourcesAnnotation = "pinfold.io/resources";
/// Annotation of the resource annotator of containers/nri-plugins: resources by container.
inline constexpr std::string_view kAnnotatorAnnotation = "noderesource.dev/resources";

/// The source of a value.
enum class ValueOrigin {
  kAnnotation,
  kShares,
  kQuota,
  kMemoryLimit,
  kHugePageLimits,
  kOomScoreAdj,
  kQosClass,  ///< Guaranteed: the request is the limit; BestEffort: there is none
};
[[nodiscard]] std::string_view to_string(ValueOrigin origin);

/// The amount of a resource. Zero counts as absent.
struct Amount {
  Quantity value;
  ValueOrigin origin = ValueOrigin::kQosClass;
  /// True if every Pod that causes the same messages of the kubelet has this amount (CPUs rounded
  /// up to 1m, bytes to 1). Otherwise it is an estimate.
  bool is_exact = false;

  friend bool operator==(const Amount&, const Amount&) = default;
};

/// Maps resource names to amounts: always "cpu" and "memory", and the sizes of huge pages that it
/// has.
using ShownAmounts = std::map<std::string, Amount, std::less<>>;

struct RecoveredContainer {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  bool kind_is_exact = false;
  ShownAmounts requests;
  ShownAmounts limits;
  /// True if it has no huge pages other than those in `limits`.
  bool has_all_huge_pages = false;

  friend bool operator==(const RecoveredContainer&, const RecoveredContainer&) = default;
};

struct RecoveredPod {
  PodUid uid;
  std::string name;
  std::string namespace_name;
  /// Exact, from the kubelet's cgroup of the pod; nullopt if it is in another cgroup.
  std::optional<QosClass> qos;
  /// True if kResourcesAnnotation gives all fields below and agrees with what NRI shows.
  bool is_announced = false;
  /// All containers of the annotation, in its order; without it, those that NRI has shown.
  std::vector<RecoveredContainer> containers;
  /// True if no other container of the pod runs at the same time as these.
  bool has_all_containers = false;
  /// Why the amounts of its containers must be wrong: their sum exceeds that of the pod. The pod
  /// then gets nothing exclusive. Empty if they are possible.
  std::string contradiction;
  std::optional<Resources> resources;  ///< pod-level
  bool resources_are_exact = false;
  /// Containers that were not announced or that, in a Guaranteed pod, have no limits: ephemeral
  /// containers, and those added after the annotation.
  std::vector<std::string> unannounced;
  /// Why its annotation is rejected. The pod then gets nothing exclusive.
  std::optional<Error> refused_annotation;
  /// kQuietAnnotation; nullopt: it has none, or a wrong one.
  std::optional<quiet::QuietLevel> quiet;
  std::optional<Error> refused_quiet;  ///< why that annotation is wrong

  [[nodiscard]] const RecoveredContainer* find(std::string_view container_name) const;

  friend bool operator==(const RecoveredPod&, const RecoveredPod&) = default;
};

/// Returns the UID under which an unannounced container is admitted.
[[nodiscard]] PodUid unannounced_uid(const PodUid& pod, std::string_view container);

}  // namespace pinfold::nri
