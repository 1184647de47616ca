#include "pinfold/api/pod.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "pinfold/api/config.hpp"

namespace pinfold {
namespace {

/// Returns the class of one set of requests and limits; see qos_class.
QosClass resource_qos(const Resources& resources) {
  int used = 0;
  for (const std::string_view name : {"cpu", "memory"}) {
    const Quantity request = amount_of(resources.requests, name);
    if (request != amount_of(resources.limits, name)) return QosClass::kBurstable;
    if (!request.is_zero()) ++used;
  }
  return used == 0 ? QosClass::kBestEffort
                   : (used == 2 ? QosClass::kGuaranteed : QosClass::kBurstable);
}

/// Returns in which of its resources an object is not Guaranteed: "memory request 1Gi and limit
/// 2Gi"; empty if it is.
std::vector<std::string> unequal(const Resources& resources) {
  std::vector<std::string> all;
  for (const std::string name : {"cpu", "memory"}) {
    const Quantity request = amount_of(resources.requests, name);
    const Quantity limit = amount_of(resources.limits, name);
    if (request == limit && !limit.is_zero()) continue;
    if (request.is_zero() && limit.is_zero()) {
      all.push_back("no " + name + " limit");
    } else if (limit.is_zero()) {
      all.push_back(name + " request " + request.to_string() + " and no limit");
    } else {
      all.push_back(name + " request " + request.to_string() + " and limit " + limit.to_string());
    }
  }
  return all;
}

void add_unequal(const std::string& object, const Resources& resources, std::string& text) {
  const std::vector<std::string> parts = unequal(resources);
  if (parts.empty()) return;
  text += (text.empty() ? "" : ", ") + object + " has " + parts.front();
  if (parts.size() > 1) text += " and " + parts.back();
}

QosClass container_qos(const PodSpec& pod) {
  if (pod.containers.empty()) return QosClass::kBestEffort;
  const QosClass first = resource_qos(pod.containers.front().resources);
  const bool same =
      std::all_of(pod.containers.begin(), pod.containers.end(),
                  [&](const Container& c) { return resource_qos(c.resources) == first; });
  return same ? first : QosClass::kBurstable;
}

/// Returns whether pod-level resources determine the QoS class.
bool pod_resources_count(const std::optional<Resources>& resources, const FeatureGates& gates) {
  if (!gates.pod_level_resources || !resources) return false;
  return !gates.pod_level_resources_fix_kubelet_qos_class || !resources->requests.empty() ||
         !resources->limits.empty();
}

void add(ResourceList& sum, const ResourceList& list) {
  for (const auto& [name, quantity] : list) sum[name] += quantity;
}

void raise(ResourceList& most, const ResourceList& list) {
  for (const auto& [name, quantity] : list) {
    const auto [entry, fresh] = most.emplace(name, quantity);
    if (!fresh) entry->second = std::max(entry->second, quantity);
  }
}

void default_pod_level_requests(PodSpec& pod) {
  if (!pod.resources || pod.resources->limits.empty()) return;
  ResourceList& requests = pod.resources->requests;
  for (const auto& [name, quantity] : container_total(pod, &Resources::requests)) {
    // Huge pages are never overcommitted, so their request is their limit.
    if (name == "cpu" || name == "memory") requests.emplace(name, quantity);
  }
  for (const auto& [name, quantity] : pod.resources->limits) {
    if (is_native_resource(name)) requests.emplace(name, quantity);
  }
}

void make_canonical(Resources& resources) {
  for (ResourceList* const list : {&resources.requests, &resources.limits}) {
    for (auto& [name, quantity] : *list) quantity = quantity.canonical();
  }
}

}  // namespace

Quantity amount_of(const ResourceList& list, std::string_view resource) {
  const auto found = list.find(resource);
  return found == list.end() ? Quantity{} : found->second;
}

bool is_huge_page_resource(std::string_view name) { return name.starts_with(kHugePagesPrefix); }

bool is_memory_resource(std::string_view name) {
  return name == "memory" || is_huge_page_resource(name);
}

bool is_native_resource(std::string_view name) { return name == "cpu" || is_memory_resource(name); }

std::int64_t base_units(std::string_view resource, const Quantity& amount) {
  return resource == "cpu" ? amount.milli_value() : amount.value();
}

Quantity from_base_units(std::string_view resource, std::int64_t amount) {
  if (resource == "cpu") return Quantity::milli(amount);
  return is_memory_resource(resource) ? Quantity::bytes(amount)
                                      : Quantity::of(amount, Quantity::Format::kDecimalSi);
}

std::string_view to_string(QosClass qos) {
  switch (qos) {
    case QosClass::kGuaranteed:
      return "Guaranteed";
    case QosClass::kBurstable:
      return "Burstable";
    case QosClass::kBestEffort:
      return "BestEffort";
  }
  return "";
}

const Container* PodSpec::find(std::string_view container_name) const {
  const auto found = std::find_if(containers.begin(), containers.end(),
                                  [&](const Container& c) { return c.name == container_name; });
  return found == containers.end() ? nullptr : &*found;
}

bool PodSpec::has_pod_level_resources() const {
  if (!resources) return false;
  const auto names_supported = [](const ResourceList& list) {
    return std::any_of(list.begin(), list.end(),
                       [](const auto& entry) { return is_native_resource(entry.first); });
  };
  return names_supported(resources->requests) || names_supported(resources->limits);
}

ResourceList container_total(const PodSpec& pod, ResourceList Resources::*which) {
  ResourceList running;   // app containers and sidecars
  ResourceList sidecars;  // the sidecars started so far
  ResourceList starting;  // the most that an init container needs together with them
  for (const Container& container : pod.containers) {
    const ResourceList& amounts = container.resources.*which;
    if (container.kind != ContainerKind::kInit) add(running, amounts);
    if (container.kind == ContainerKind::kApp) continue;
    if (container.kind == ContainerKind::kSidecar) {
      add(sidecars, amounts);
      raise(starting, sidecars);
    } else {
      ResourceList together = sidecars;
      add(together, amounts);
      raise(starting, together);
    }
  }
  raise(running, starting);
  return running;
}

bool is_guaranteed(const Container& container) {
  return resource_qos(container.resources) == QosClass::kGuaranteed;
}

void apply_defaults(PodSpec& pod) {
  if (!pod.is_static) {
    for (Container& container : pod.containers) make_canonical(container.resources);
    if (pod.resources) make_canonical(*pod.resources);
  }
  for (Container& container : pod.containers) {
    for (const auto& [name, quantity] : container.resources.limits) {
      container.resources.requests.emplace(name, quantity);
    }
  }
  default_pod_level_requests(pod);
}

QosClass qos_class(const PodSpec& pod, const FeatureGates& gates) {
  return pod_resources_count(pod.resources, gates) ? resource_qos(*pod.resources)
                                                   : container_qos(pod);
}

std::string why_not_guaranteed(const PodSpec& pod, const FeatureGates& gates) {
  constexpr std::size_t kMostContainers = 2;
  std::string text;
  if (pod_resources_count(pod.resources, gates)) {
    add_unequal("the pod as a whole", *pod.resources, text);
    return text;
  }
  std::size_t others = 0;
  std::size_t named = 0;
  for (const Container& container : pod.containers) {
    if (is_guaranteed(container)) continue;
    if (named == kMostContainers) {
      ++others;
    } else {
      add_unequal("container " + container.name, container.resources, text);
      ++named;
    }
  }
  return others == 0 ? text : text + ", and so on for " + std::to_string(others) + " more";
}

PodView::PodView(const PodSpec& pod)
    : spec(pod),
      uid(pod.uid),
      containers(pod.containers),
      resources(pod.resources),
      qos(pod.resources ? resource_qos(*pod.resources) : container_qos(pod)),
      qos_of_containers(pod.resources ? container_qos(pod) : qos) {}

QosClass qos_class(const PodView& pod, const FeatureGates& gates) {
  return pod_resources_count(pod.resources, gates) ? pod.qos : pod.qos_of_containers;
}

std::set<std::string_view> container_names(const PodSpec& pod) {
  std::set<std::string_view> names;
  for (const Container& container : pod.containers) names.insert(container.name);
  return names;
}

}  // namespace pinfold
