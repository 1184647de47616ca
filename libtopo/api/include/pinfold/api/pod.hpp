#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/container_id.hpp"
#include "pinfold/types/pod_ref.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold {

struct FeatureGates;

/// Resource name ("cpu", "memory", "hugepages-2Mi", "example.com/gpu") to amount.
using ResourceList = std::map<std::string, Quantity, std::less<>>;

/// Returns the amount of a resource; zero if it is not listed.
[[nodiscard]] Quantity amount_of(const ResourceList& list, std::string_view resource);

inline constexpr std::string_view kHugePagesPrefix = "hugepages-";
/// True for "hugepages-2Mi", "hugepages-1Gi" ...
[[nodiscard]] bool is_huge_page_resource(std::string_view name);
/// True for "memory" and huge pages, the resources of the memory manager.
[[nodiscard]] bool is_memory_resource(std::string_view name);
/// True for "cpu" and memory resources, the only ones that count at pod level. All others are
/// devices.
[[nodiscard]] bool is_native_resource(std::string_view name);

/// Converts an amount to the unit that JSON has it in: thousandths of a CPU for "cpu", bytes of
/// memory, devices. Rounds up; capped to the range of int64.
[[nodiscard]] std::int64_t base_units(std::string_view resource, const Quantity& amount);
/// Converts back.
[[nodiscard]] Quantity from_base_units(std::string_view resource, std::int64_t amount);

struct Resources {
  ResourceList requests;
  ResourceList limits;

  friend bool operator==(const Resources&, const Resources&) = default;
};

enum class ContainerKind {
  kInit,     ///< a standard init container: ends before the next container starts
  kSidecar,  ///< an init container with restartPolicy Always: runs as long as the pod
  kApp,
};

struct Container {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  Resources resources;

  friend bool operator==(const Container&, const Container&) = default;
};

enum class QosClass { kGuaranteed, kBurstable, kBestEffort };
[[nodiscard]] std::string_view to_string(QosClass qos);

/// The priority of a pod when others must be removed. Not part of the value of a pod, because a
/// runtime does not report it: any two are equal.
struct PodPriority {
  std::int32_t value = 0;

  friend bool operator==(const PodPriority&, const PodPriority&) { return true; }
};

/// The fields of a Pod that affect decisions, after API defaulting.
struct PodSpec {
  PodUid uid;
  std::string name;
  std::string namespace_name;
  /// In start order: init containers and sidecars as listed, then app containers as listed.
  std::vector<Container> containers;
  /// pod.spec.resources. Present but empty can differ from absent, see qos_class and
  /// has_pod_level_resources().
  std::optional<Resources> resources;
  /// What the runtime class needs on top of the containers; counts for the pod, not for a
  /// container.
  ResourceList overhead = {};
  /// A kubelet's own manifest: it never passed the API server, so amounts keep their spelling.
  bool is_static = false;
  /// priorityClassName is system-node-critical, and the pod is static, a mirror pod, or has a
  /// system-critical priority.
  bool is_node_critical = false;
  /// spec.priority; without it, that of a priority class built into Kubernetes, else 0.
  PodPriority priority = {};

  [[nodiscard]] const Container* find(std::string_view container_name) const;
  /// True if pod.spec.resources names at least one resource that is supported at pod level (cpu,
  /// memory, hugepages-*).
  [[nodiscard]] bool has_pod_level_resources() const;

  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};
[[nodiscard]] inline PodRef ref_of(const PodSpec& pod) {
  return {pod.uid, pod.namespace_name, pod.name};
}

/// Checks the fields of a Pod that a user wrote, as kubectl does by default: rejects misspelt
/// fields and values of wrong types, down to the containers and their resources. (A kubelet that
/// reads a static Pod ignores unknown fields, and so does pod_from_json.) Errors: kInvalidArgument,
/// "unknown field 'spec.containers[0].limit', did you mean 'limits'?".
[[nodiscard]] Result<void> check_pod_fields(const nlohmann::json& document);
/// Reads a v1 Pod. Ignores fields that do not affect decisions.
/// Domain: UID, name and container names as Kubernetes accepts them (length, no '/');
/// container names unique; at most 10,000 of a kind; amounts not negative.
/// A Pod without a namespace is in "default"; one without a UID gets "<namespace>_<name>", which is
/// unique because a namespace contains no '_'.
/// Errors: kInvalidArgument, including for a finished pod: "spec.containers[1].name: 'x': expected
/// ...".
[[nodiscard]] Result<PodSpec> pod_from_json(const nlohmann::json& document);
/// Does the same, even for a finished pod: for callers that follow pods to their end.
[[nodiscard]] Result<PodSpec> pod_of_any_phase(const nlohmann::json& document);
/// Returns "Succeeded" or "Failed"; "" for a pod that has not finished.
[[nodiscard]] std::string final_phase(const nlohmann::json& pod);
/// Calls parse_document and pod_from_json.
[[nodiscard]] Result<PodSpec> parse_pod(std::string_view yaml_or_json);
/// Writes a v1 Pod with the fields of PodSpec; pod_from_json reads it back to an equal value.
[[nodiscard]] nlohmann::json to_json(const PodSpec& pod);

/// True for a name that is safe in a path: 1 to 253 characters of [A-Za-z0-9._+-], the first
/// alphanumeric. After a prefix these are all ids of containers that runc and podman accept.
[[nodiscard]] bool is_safe_name(std::string_view name);

/// Returns the most that a pod's containers need at one time, by their requests or limits: the sum
/// of app containers and sidecars or, if larger, that of an init container and the sidecars that
/// started before it.
[[nodiscard]] ResourceList container_total(const PodSpec& pod, ResourceList Resources::*which);

/// True if requests equal limits and are not zero, for CPU and memory. In a pod with pod-level
/// resources, such a container gets exclusive resources.
[[nodiscard]] bool is_guaranteed(const Container& container);

/// Applies the API server's defaulting on which decisions rely: a missing request becomes the
/// limit. If the pod has pod-level limits, a missing pod-level request becomes the total that the
/// containers request (cpu and memory), else the pod-level limit. Amounts become canonical, unless
/// the pod is static. For Pods that users wrote; conformance vectors contain Pods as the kubelet
/// receives them.
void apply_defaults(PodSpec& pod);

/// Returns the QoS class as the kubelet computes it. Only cpu and memory count, and zero counts as
/// absent. Pod-level resources count only with the feature gate PodLevelResources. If they name no
/// amount, they count only for kubelet 1.36, where they make the class BestEffort.
/// Source: kubelet v1.36.2, observed; kubernetes#137150.
[[nodiscard]] QosClass qos_class(const PodSpec& pod, const FeatureGates& gates);

/// Returns why it is not Guaranteed, for people: "container c has memory request 1Gi and limit
/// 2Gi"; "" if it is.
[[nodiscard]] std::string why_not_guaranteed(const PodSpec& pod, const FeatureGates& gates);

/// A pod with its QoS class, which depends on all containers and is computed once, for callers that
/// need it for each container. Borrows the pod, which must not change during that time.
struct PodView {
  // NOLINTNEXTLINE(google-explicit-constructor): usable like a pod in any call
  PodView(const PodSpec& pod);
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator const PodSpec&() const { return spec; }
  [[nodiscard]] bool has_pod_level_resources() const { return spec.has_pod_level_resources(); }

  const PodSpec& spec;
  const PodUid& uid;
  const std::vector<Container>& containers;
  const std::optional<Resources>& resources;
  QosClass qos;                ///< if pod-level resources count
  QosClass qos_of_containers;  ///< if they do not
};
[[nodiscard]] QosClass qos_class(const PodView& pod, const FeatureGates& gates);

/// Returns the names of a pod's containers, for many lookups.
[[nodiscard]] std::set<std::string_view> container_names(const PodSpec& pod);

}  // namespace pinfold
