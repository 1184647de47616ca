#include "pinfold/api/pod_level.hpp"

namespace pinfold {

bool is_managed_as_pod(const FeatureGates& gates, const PodSpec& pod) {
  return gates.pod_level_resource_managers && pod.has_pod_level_resources();
}

bool is_manageable(const FeatureGates& gates, const PodSpec& pod) {
  return (gates.pod_level_resource_managers && gates.pod_level_resources) ||
         !pod.has_pod_level_resources();
}

bool uses_pod_level_resources(const FeatureGates& gates, const PodSpec& pod) {
  return gates.pod_level_resources && pod.has_pod_level_resources();
}

}  // namespace pinfold
