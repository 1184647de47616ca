#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "pinfold/grpc/pod_resources_api.hpp"

namespace pinfold::process {

/// Returns metrics with the kubelet's names. Like the kubelet, leaves out what was never counted.
[[nodiscard]] std::vector<prometheus::MetricFamily> pod_resources_families(
    const grpc::PodResourcesApi::Counts& counts);

}  // namespace pinfold::process
