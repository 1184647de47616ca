#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "pinfold/grpc/pod_resources_api.hpp"

namespace pinfold::service {

/// Under the kubelet's names; what was never counted is left out, as there.
[[nodiscard]] std::vector<prometheus::MetricFamily> pod_resources_families(
    const PodResourcesApi::Counts& counts);

}  // namespace pinfold::service
