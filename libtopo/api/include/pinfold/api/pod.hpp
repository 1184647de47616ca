#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/container_id.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold {

/// Resource name ("cpu", "memory", "hugepages-2Mi", "example.com/gpu") to amount.
using ResourceList = std::map<std::string, Quantity, std::less<>>;

/// Zero if it is not listed.
[[nodiscard]] Quantity amount_of(const ResourceList& list, std::string_view resource);

inline constexpr std::string_view kHugePagesPrefix = "hugepages-";
/// "hugepages-2Mi", "hugepages-1Gi" ...
[[nodiscard]] bool is_huge_page_resource(std::string_view name);
/// "memory", or huge pages of a size: what the memory manager hands out.
[[nodiscard]] bool is_memory_resource(std::string_view name);
/// "cpu", or what is memory: all others belong to devices. Only these count at pod level.
[[nodiscard]] bool is_native_resource(std::string_view name);

struct Resources {
  ResourceList requests;
  ResourceList limits;

  friend bool operator==(const Resources&, const Resources&) = default;
};

enum class ContainerKind {
  kInit,     ///< a standard init container: runs to its end before the next one starts
  kSidecar,  ///< an init container with restartPolicy Always: lives as long as the pod
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

/// What the decision needs to know of a Pod, after API defaulting.
struct PodSpec {
  PodUid uid;
  std::string name;
  std::string namespace_name;
  /// In start order: init containers and sidecars as listed, then app containers as listed.
  std::vector<Container> containers;
  /// pod.spec.resources. Present but empty is not the same as absent: it makes the QoS class
  /// BestEffort. See has_pod_level_resources().
  std::optional<Resources> resources;

  [[nodiscard]] const Container* find(std::string_view container_name) const;
  /// True if pod.spec.resources names at least one resource that is supported at pod level (cpu,
  /// memory, hugepages-*).
  [[nodiscard]] bool has_pod_level_resources() const;

  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};

/// Reads a v1 Pod. Fields that the decision does not use are ignored (they belong to the Pod API).
/// Checks that could make harm later are made here: UID, name and container names must be what
/// Kubernetes accepts (no '/', no "..", length), container names unique, amounts not negative.
/// A Pod without a namespace is in "default"; one without a UID gets "<namespace>_<name>", which no
/// other Pod has ('_' is in no namespace).
/// Errors: kInvalidArgument, "spec.containers[1].resources.limits.cpu: 'x': <what was expected>".
[[nodiscard]] Result<PodSpec> pod_from_json(const nlohmann::json& document);
/// parse_document + pod_from_json.
[[nodiscard]] Result<PodSpec> parse_pod(std::string_view yaml_or_json);
/// A v1 Pod with exactly the fields of PodSpec; pod_from_json reads it back to an equal value.
[[nodiscard]] nlohmann::json to_json(const PodSpec& pod);

/// A name that may become a part of a path: not empty, at most 253 characters of [A-Za-z0-9._-],
/// first and last one alphanumeric, no "..".
[[nodiscard]] bool is_safe_name(std::string_view name);

/// What the containers of a pod need together, by their requests or their limits: the sum of app
/// containers and sidecars, or what an init container needs beside the sidecars started before it
/// if that is more.
[[nodiscard]] ResourceList container_total(const PodSpec& pod, ResourceList Resources::*which);

/// Requests equal limits, and are not zero, for CPU and memory alike: in a pod with pod-level
/// resources such a container may get some for itself.
[[nodiscard]] bool is_guaranteed_alone(const Container& container);

/// The API server's defaulting that the decision relies on: a request that is absent takes the
/// value of the limit. If there are pod-level limits, a pod-level request that is absent becomes
/// what the containers request together (cpu and memory), else the pod-level limit. Applied to Pods
/// that people wrote, never to Pods of conformance vectors, which come defaulted.
void apply_defaults(PodSpec& pod);

/// The QoS class as the kubelet computes it; pod-level resources count only when the gate
/// PodLevelResources is on. Only cpu and memory count, and an amount of zero counts as none.
/// Source: kubelet v1.36.2, observed.
[[nodiscard]] QosClass qos_class(const PodSpec& pod, bool pod_level_resources_gate);

}  // namespace pinfold
