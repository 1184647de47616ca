#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/decide/node.hpp"
#include "pinfold/nri/messages.hpp"
#include "pinfold/nri_pods/recovered_pod.hpp"

/// Turns NRI's messages about a pod into the PodSpec to admit. Pure. docs/nri.md says what can be
/// recovered.
namespace pinfold::nri {

/// Annotation of a pod with the resources of its spec, as JSON or YAML in the shape of Pod.spec.
inline constexpr std::string_view kResourcesAnnotation = "pinfold.io/resources";
/// Annotation of the resource annotator of containers/nri-plugins: resources by container.
inline constexpr std::string_view kAnnotatorAnnotation = "noderesource.dev/resources";

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

/// Returns the QoS class that the pod's cgroup names, "/kubepods/burstable/podUID" or
/// "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice", below any cgroup
/// root of the kubelet; nullopt for any other cgroup.
[[nodiscard]] std::optional<QosClass> qos_of_cgroup(std::string_view cgroup_parent,
                                                    const PodUid& uid);

/// Recovers a pod from what NRI shows of it and of its containers (in order of creation, one per
/// name, without those that have ended for good).
/// Errors: kInvalidArgument for a name or UID that Kubernetes would not accept. (A wrong annotation
/// is RecoveredPod::refused_annotation.)
[[nodiscard]] Result<RecoveredPod> recover(const api::PodSandbox& sandbox,
                                           std::span<const api::Container> containers,
                                           const Premises& premises);

/// Returns the UID under which an unannounced container is admitted.
[[nodiscard]] PodUid unannounced_uid(const PodUid& pod, std::string_view container);

/// The pods to admit for one pod of the runtime.
struct Demand {
  /// As recovered if all amounts that count are exact; otherwise without limits, so that nothing is
  /// exclusive.
  PodSpec pod;
  /// Its unannounced containers, each as a BestEffort pod.
  std::vector<PodSpec> unannounced;
  /// Containers that get exclusive CPUs if the pod is admitted and the CPU manager is static.
  std::vector<std::string> exclusive;
  std::string why_shared;  ///< empty if a container is in `exclusive`

  friend bool operator==(const Demand&, const Demand&) = default;
};
[[nodiscard]] Demand demand(const RecoveredPod& pod, const Premises& premises);

}  // namespace pinfold::nri
