#include "aligned_resources.hpp"

#include "pinfold/api/config.hpp"

namespace pinfold::predict {
namespace {

bool is_guaranteed_pod(const PodSpec& pod) {
  return qos_class(pod, FeatureGates{}) == QosClass::kGuaranteed;
}

/// The static CPU policy allocates whole CPUs, so a request for a fraction is not aligned.
bool is_aligned(const std::string& resource, const Quantity& amount) {
  return resource != "cpu" || amount.milli_value() % 1000 == 0;
}

/// Returns the requests of native resources and the limits of others, as the device manager counts
/// them.
ResourceList aligned(const Container& container, bool with_native) {
  ResourceList amounts;
  if (with_native) {
    for (const auto& [name, amount] : container.resources.requests) {
      if (is_native_resource(name) && is_aligned(name, amount)) amounts.emplace(name, amount);
    }
  }
  for (const auto& [name, amount] : container.resources.limits) {
    if (!is_native_resource(name)) amounts.emplace(name, amount);
  }
  return amounts;
}

}  // namespace

ResourceList aligned_by_container(const PodSpec& pod, const Container& container) {
  return aligned(container, is_guaranteed_pod(pod) && is_guaranteed(container));
}

ResourceList aligned_by_pod(const PodSpec& pod) {
  const bool guaranteed = is_guaranteed_pod(pod);
  const bool has_budget = pod.has_pod_level_resources();
  PodSpec reduced;
  for (const Container& container : pod.containers) {
    Container& copy = reduced.containers.emplace_back(container);
    copy.resources.requests = aligned(container, guaranteed && !has_budget);
  }
  ResourceList amounts = container_total(reduced, &Resources::requests);
  if (!guaranteed || !has_budget) return amounts;
  for (const auto& [name, amount] : pod.resources->requests) {
    if (is_native_resource(name) && is_aligned(name, amount)) amounts[name] = amount;
  }
  return amounts;
}

bool leaves_no_shared_pool(const PodSpec& pod, std::string_view resource) {
  if (!pod.has_pod_level_resources() || !is_native_resource(resource)) return false;
  Quantity rest = amount_of(pod.resources->requests, resource);
  bool has_shared = false;
  for (const Container& container : pod.containers) {
    const Quantity own = amount_of(aligned_by_container(pod, container), resource);
    const bool is_shared = own.sign() == 0;
    if (container.kind != ContainerKind::kInit) {
      has_shared = has_shared || is_shared;
      rest -= own;
    } else if (is_shared ? rest.sign() <= 0 : rest < own) {
      return true;
    }
  }
  return has_shared && rest.sign() <= 0;
}

}  // namespace pinfold::predict
