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

/// NRI's messages about a pod to the PodSpec that is admitted. Pure; see docs/nri.md for what can
/// be recovered.
namespace pinfold::nri {

/// The annotation of a pod with the resources of its spec, as JSON or YAML in the shape of
/// Pod.spec.
inline constexpr std::string_view kResourcesAnnotation = "pinfold.io/resources";
/// The annotation of the resource annotator of containers/nri-plugins: resources by container.
inline constexpr std::string_view kAnnotatorAnnotation = "noderesource.dev/resources";

/// Which pods of the cluster can have pod-level resources (pod.spec.resources). NRI does not show
/// whether a container's amounts are its own or its pod's.
enum class PodLevelUse {
  kAnyPod,         ///< so amounts without kResourcesAnnotation are estimates
  kAnnotatedPods,  ///< only those with kResourcesAnnotation
};

/// What is known of the node and the cluster.
struct Premises {
  FeatureGates gates;
  PodLevelUse pod_level = PodLevelUse::kAnyPod;
  /// Pods are decided as a whole: topology scope pod, with a policy other than none.
  bool pod_scope = false;
  /// Containers can have huge pages that count: the memory manager is static, and the machine has
  /// some. (A kubelet admits no pod with huge pages of which the machine has none.)
  bool huge_pages = true;
  /// Whether the group of a pod ("cgroup parent") has a limit of 0 for huge pages of every size
  /// that the machine has, for runtimes that do not show them; empty: that cannot be asked.
  std::function<bool(const std::string&)> has_no_huge_pages = {};
  std::uint64_t memory = 0;  ///< bytes of the machine; 0: unknown
};
/// Those of a node as it is now: a reconfiguration can change all but `pod_level`.
[[nodiscard]] Premises make_premises(const Node& node, PodLevelUse pod_level);

/// The QoS class by the pod's cgroup, "/kubepods/burstable/podUID" or
/// "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice", below any cgroup
/// root of the kubelet; nullopt for any other cgroup.
[[nodiscard]] std::optional<QosClass> qos_of_cgroup(std::string_view cgroup_parent,
                                                    const PodUid& uid);

/// What NRI shows of a pod and of its containers (in the order of their creation, one of each name,
/// without those that have ended for good), as a pod.
/// Errors: kInvalidArgument for a name or UID that Kubernetes would not accept. (A wrong annotation
/// is RecoveredPod::refused_annotation.)
[[nodiscard]] Result<RecoveredPod> recover(const api::PodSandbox& sandbox,
                                           std::span<const api::Container> containers,
                                           const Premises& premises);

/// The UID under which an unannounced container is admitted.
[[nodiscard]] PodUid unannounced_uid(const PodUid& pod, std::string_view container);

/// What is admitted for a pod.
struct Demand {
  /// As recovered if all that counts is exact. Else without limits, so that nothing is exclusive.
  PodSpec pod;
  /// Its unannounced containers, each as a BestEffort pod.
  std::vector<PodSpec> unannounced;
  /// The containers that get exclusive CPUs if the pod is admitted and the CPU manager is static.
  std::vector<std::string> exclusive;
  std::string why_shared;  ///< "" if a container is in `exclusive`

  friend bool operator==(const Demand&, const Demand&) = default;
};
[[nodiscard]] Demand demand(const RecoveredPod& pod, const Premises& premises);

}  // namespace pinfold::nri
