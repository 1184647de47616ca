#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "pinfold/api/pod_level.hpp"
#include "pinfold/nri_pods/recover.hpp"

namespace pinfold::nri {
namespace {

ResourceList quantities(const ShownAmounts& amounts) {
  ResourceList list;
  for (const auto& [name, amount] : amounts) {
    if (!amount.value.is_zero()) list.emplace(name, amount.value);
  }
  return list;
}

PodSpec bare_spec(const RecoveredPod& pod) {
  PodSpec spec;
  spec.uid = pod.uid;
  spec.name = pod.name;
  spec.namespace_name = pod.namespace_name;
  return spec;
}

PodSpec whole_spec(const RecoveredPod& pod) {
  PodSpec spec = bare_spec(pod);
  for (const RecoveredContainer& container : pod.containers) {
    spec.containers.push_back({container.name,
                               container.kind,
                               {quantities(container.requests), quantities(container.limits)}});
  }
  spec.resources = pod.resources;
  return spec;
}

/// Returns a pod that is never Guaranteed: requests without limits.
PodSpec shared_spec(const RecoveredPod& pod) {
  PodSpec spec = bare_spec(pod);
  for (const RecoveredContainer& container : pod.containers) {
    ResourceList requests = quantities(container.requests);
    std::erase_if(requests, [](const auto& entry) { return is_huge_page_resource(entry.first); });
    spec.containers.push_back({container.name, container.kind, {std::move(requests), {}}});
  }
  return spec;
}

/// Returns the first estimated amount of a container; empty if there is none.
std::string find_estimate(const RecoveredContainer& container) {
  for (const auto& [of, amounts] :
       {std::pair{"request", &container.requests}, std::pair{"limit", &container.limits}}) {
    for (const auto& [name, amount] : *amounts) {
      if (amount.is_exact) continue;
      return fmt::format("the {} {} of container '{}' is estimated from its {}", name, of,
                         container.name, to_string(amount.origin));
    }
  }
  if (container.has_all_huge_pages) return "";
  return fmt::format(
      "the node has huge pages, but the runtime does not show those of container '{}': containerd "
      "needs 'disable_hugetlb_controller = false'",
      container.name);
}

/// Returns why the recovered amounts are not admitted as they are; empty if they are.
std::string why_not_whole(const RecoveredPod& pod, const Premises& premises) {
  if (pod.refused_annotation) return pod.refused_annotation->message;
  if (pod.is_announced) return "";
  if (!pod.qos) return "its cgroup is not the kubelet's";
  if (pod.qos != QosClass::kGuaranteed) {
    return fmt::format("it is {}, not Guaranteed", to_string(*pod.qos));
  }
  if (!pod.resources_are_exact) {
    return fmt::format("it may have pod-level resources but has no annotation {}",
                       kResourcesAnnotation);
  }
  if (!pod.contradiction.empty()) return pod.contradiction;
  for (const RecoveredContainer& container : pod.containers) {
    if (auto estimate = find_estimate(container); !estimate.empty()) return estimate;
  }
  if (premises.pod_scope && !pod.has_all_containers) {
    return fmt::format(
        "topology scope pod: not all of its containers are known without the "
        "annotation {}",
        kResourcesAnnotation);
  }
  return "";
}

/// Source: kubelet v1.36 cm/cpumanager guaranteedCPUs.
bool is_whole_number(const Quantity& cpus) {
  return cpus.sign() > 0 &&
         Quantity::of(cpus.value(), cpus.format()) == Quantity::milli(cpus.milli_value());
}

std::vector<std::string> find_exclusive(const PodSpec& pod, const FeatureGates& gates) {
  std::vector<std::string> names;
  if (qos_class(pod, gates) != QosClass::kGuaranteed || !is_manageable(gates, pod)) return names;
  for (const Container& container : pod.containers) {
    if (is_managed_as_pod(gates, pod) && !is_guaranteed(container)) continue;
    if (!is_whole_number(amount_of(container.resources.requests, "cpu"))) continue;
    names.push_back(container.name);
  }
  return names;
}

std::string why_none(const PodSpec& pod, const FeatureGates& gates) {
  const QosClass qos = qos_class(pod, gates);
  if (qos != QosClass::kGuaranteed) return fmt::format("it is {}, not Guaranteed", to_string(qos));
  if (!is_manageable(gates, pod)) {
    return "it has pod-level resources, and PodLevelResourceManagers is off";
  }
  return "no container requests a whole number of CPUs";
}

}  // namespace

Demand demand(const RecoveredPod& pod, const Premises& premises) {
  Demand result;
  result.why_shared = why_not_whole(pod, premises);
  result.pod = result.why_shared.empty() ? whole_spec(pod) : shared_spec(pod);
  for (const std::string& name : pod.unannounced) {
    PodSpec other = bare_spec(pod);
    other.uid = unannounced_uid(pod.uid, name);
    other.containers.push_back({name, ContainerKind::kApp, {}});
    result.unannounced.push_back(std::move(other));
  }
  if (!result.why_shared.empty()) return result;
  result.exclusive = find_exclusive(result.pod, premises.gates);
  if (result.exclusive.empty()) result.why_shared = why_none(result.pod, premises.gates);
  return result;
}

}  // namespace pinfold::nri
