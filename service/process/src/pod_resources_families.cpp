#include "pod_resources_families.hpp"

#include <string>
#include <utility>

namespace pinfold::process {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

void add_sample(MetricFamily& family, const char* version, std::uint64_t count) {
  if (count == 0) return;
  auto& metric = family.metric.emplace_back();
  metric.label.push_back({"server_api_version", version});
  metric.counter.value = static_cast<double>(count);
}

}  // namespace

std::vector<MetricFamily> pod_resources_families(const grpc::PodResourcesApi::Counts& counts) {
  std::vector<MetricFamily> families;
  const auto add = [&](const std::string& name, std::string help, std::uint64_t v1,
                       std::uint64_t v1alpha1) {
    MetricFamily family{"kubelet_pod_resources_endpoint_" + name,
                        std::move(help) + " Broken down by server api version.",
                        MetricType::Counter,
                        {}};
    add_sample(family, "v1", v1);
    add_sample(family, "v1alpha1", v1alpha1);
    if (!family.metric.empty()) families.push_back(std::move(family));
  };
  add("errors_get", "Number of requests to the PodResource Get endpoint which returned error.",
      counts.get_errors, 0);
  add("requests_get", "Number of requests to the PodResource Get endpoint.", counts.get, 0);
  add("requests_get_allocatable",
      "Number of requests to the PodResource GetAllocatableResources endpoint.",
      counts.get_allocatable, 0);
  add("requests_list", "Number of requests to the PodResource List endpoint.", counts.list, 0);
  add("requests_total", "Cumulative number of requests to the PodResource endpoint.", counts.total,
      counts.v1alpha1_total);
  return families;
}

}  // namespace pinfold::process
