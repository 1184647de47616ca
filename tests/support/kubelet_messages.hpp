#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/nri/messages.hpp"

/// An independent way from a Pod to its NRI messages: the kubelet's (kuberuntime, v1.36), which
/// sends it through CRI, and containerd's, which omits zero values.
namespace pinfold::nri::test {

struct Kubelet {
  FeatureGates gates = {};
  bool cfs_quota = true;
  std::int64_t period_us = 100'000;
  std::int64_t memory = std::int64_t{64} << 30U;
  bool systemd = false;                      ///< cgroup driver
  std::vector<std::string> page_sizes = {};  ///< "2Mi"; empty: the runtime reports no huge pages
  std::string cgroup_root = {};
};

inline std::int64_t shares_by_kubelet(std::int64_t milli) {
  if (milli == 0) return 2;
  const double exact = static_cast<double>(milli) * 1024 / 1000;
  return std::min<std::int64_t>(std::max<std::int64_t>(static_cast<std::int64_t>(exact), 2),
                                262144);
}

inline void set_cpu(const Kubelet& kubelet, const Quantity* request, const Quantity& limit,
                    api::LinuxCPU& cpu) {
  const std::int64_t milli = limit.milli_value();
  cpu.mutable_shares()->set_value(static_cast<std::uint64_t>(
      shares_by_kubelet(request == nullptr ? milli : request->milli_value())));
  if (!kubelet.cfs_quota) return;
  cpu.mutable_period()->set_value(static_cast<std::uint64_t>(kubelet.period_us));
  if (milli == 0) return;
  cpu.mutable_quota()->set_value(std::max<std::int64_t>(milli * kubelet.period_us / 1000, 1000));
}

inline void set_memory(const Quantity& limit, api::LinuxResources& resources) {
  if (limit.value() != 0) resources.mutable_memory()->mutable_limit()->set_value(limit.value());
}

inline const Quantity* find(const ResourceList& list, std::string_view name) {
  const auto found = list.find(name);
  return found == list.end() ? nullptr : &found->second;
}

inline bool has_pod_level(const Kubelet& kubelet, const PodSpec& pod) {
  return kubelet.gates.pod_level_resources && pod.has_pod_level_resources();
}

inline std::string cgroup_of(const Kubelet& kubelet, const PodSpec& pod) {
  std::string path = kubelet.cgroup_root + "/kubepods";
  const QosClass qos = qos_class(pod, kubelet.gates);
  const std::string name = qos == QosClass::kBurstable ? "burstable" : "besteffort";
  const bool is_guaranteed = qos == QosClass::kGuaranteed;
  if (!kubelet.systemd) return path + (is_guaranteed ? "" : "/" + name) + "/pod" + pod.uid.value;
  std::string uid = pod.uid.value;
  std::replace(uid.begin(), uid.end(), '-', '_');
  if (is_guaranteed) return path + ".slice/kubepods-pod" + uid + ".slice";
  return path + ".slice/kubepods-" + name + ".slice/kubepods-" + name + "-pod" + uid + ".slice";
}

/// Returns the sandbox, with PodRequests and PodLimits as pod_resources.
inline api::PodSandbox sandbox_of(const PodSpec& pod, const Kubelet& kubelet = {}) {
  api::PodSandbox sandbox;
  sandbox.set_id("sandbox-of-" + pod.uid.value);
  sandbox.set_name(pod.name);
  sandbox.set_uid(pod.uid.value);
  sandbox.set_namespace_(pod.namespace_name);
  sandbox.mutable_linux()->set_cgroup_parent(cgroup_of(kubelet, pod));
  ResourceList requests = container_total(pod, &Resources::requests);
  ResourceList limits = container_total(pod, &Resources::limits);
  if (has_pod_level(kubelet, pod)) {
    for (const char* const name : {"cpu", "memory"}) {
      if (const auto* amount = find(pod.resources->requests, name)) requests[name] = *amount;
      if (const auto* amount = find(pod.resources->limits, name)) limits[name] = *amount;
    }
  }
  api::LinuxResources& resources = *sandbox.mutable_linux()->mutable_pod_resources();
  set_cpu(kubelet, find(requests, "cpu"), amount_of(limits, "cpu"), *resources.mutable_cpu());
  set_memory(amount_of(limits, "memory"), resources);
  return sandbox;
}

/// Returns a container; an amount that it does not specify is the pod's.
inline api::Container container_of(const PodSpec& pod, const Container& container,
                                   const Kubelet& kubelet = {}) {
  const auto limit = [&](std::string_view name) {
    const Quantity own = amount_of(container.resources.limits, name);
    if (!own.is_zero() || !has_pod_level(kubelet, pod)) return own;
    return amount_of(pod.resources->limits, name);
  };
  api::Container shown;
  shown.set_id("id-of-" + container.name);
  shown.set_name(container.name);
  api::LinuxResources& resources = *shown.mutable_linux()->mutable_resources();
  set_cpu(kubelet, find(container.resources.requests, "cpu"), limit("cpu"),
          *resources.mutable_cpu());
  set_memory(limit("memory"), resources);
  for (const std::string& size : kubelet.page_sizes) {
    api::HugepageLimit& page = *resources.add_hugepage_limits();
    page.set_page_size(size.substr(0, size.size() - 1) + "B");
    page.set_limit(static_cast<std::uint64_t>(limit("hugepages-" + size).value()));
  }
  const QosClass qos = qos_class(pod, kubelet.gates);
  const std::int64_t score =
      1000 - static_cast<std::int64_t>(Quantity::Int128{1000} *
                                       amount_of(container.resources.requests, "memory").value() /
                                       kubelet.memory);
  shown.mutable_linux()->mutable_oom_score_adj()->set_value(
      qos == QosClass::kGuaranteed   ? -997
      : qos == QosClass::kBestEffort ? 1000
                                     : std::clamp<std::int64_t>(score, 3, 999));
  return shown;
}

/// Returns all containers, in the order in which they start.
inline std::vector<api::Container> containers_of(const PodSpec& pod, const Kubelet& kubelet = {}) {
  std::vector<api::Container> all;
  for (const Container& container : pod.containers) {
    all.push_back(container_of(pod, container, kubelet));
  }
  return all;
}

/// Returns the annotation that describes the pod.
inline std::string annotation_of(const PodSpec& pod) { return to_json(pod).at("spec").dump(); }

}  // namespace pinfold::nri::test
