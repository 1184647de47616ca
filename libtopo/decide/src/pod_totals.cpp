#include "pinfold/decide/pod_totals.hpp"

#include "pinfold/api/pod_level.hpp"

namespace pinfold {
namespace {

/// Returns the requests or limits of a pod as a whole.
ResourceList total_of(const FeatureGates& gates, const PodSpec& pod,
                      ResourceList Resources::*which) {
  ResourceList total = container_total(pod, which);
  if (!uses_pod_level_resources(gates, pod)) return total;
  for (const auto& [name, amount] : (*pod.resources).*which) {
    if (is_native_resource(name)) total[name] = amount;
  }
  return total;
}

}  // namespace

ResourceList total_requests(const FeatureGates& gates, const PodSpec& pod, Overhead overhead) {
  ResourceList total = total_of(gates, pod, &Resources::requests);
  if (overhead == Overhead::kLeaveOut) return total;
  for (const auto& [name, amount] : pod.overhead) total[name] += amount;
  return total;
}

ResourceList total_limits(const FeatureGates& gates, const PodSpec& pod) {
  return total_of(gates, pod, &Resources::limits);
}

}  // namespace pinfold
