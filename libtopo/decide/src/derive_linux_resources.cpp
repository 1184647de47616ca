#include "derive_linux_resources.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "memory_qos.hpp"
#include "pinfold/api/pod_level.hpp"
#include "pinfold/decide/allocatable.hpp"

namespace pinfold {
namespace {

constexpr int kGuaranteedOomScoreAdj = -997;
constexpr int kBestEffortOomScoreAdj = 1000;

bool uses_pod_level(const Node& node, const PodSpec& pod) {
  return uses_pod_level_resources(node.gates(), pod);
}

// Returns the limits of a pod with its overhead, which adds nothing where there is no limit.
ResourceList limits_of(const Node& node, const PodSpec& pod) {
  ResourceList limits = total_limits(node.gates(), pod);
  for (auto& [name, limit] : limits) limit += amount_of(pod.overhead, name);
  return limits;
}

// Returns the limit of a container; the pod's if it has none.
Quantity effective_limit(const Node& node, const PodSpec& pod, const Container& container,
                         std::string_view name) {
  const Quantity limit = amount_of(container.resources.limits, name);
  if (limit.is_zero() && uses_pod_level(node, pod)) return amount_of(pod.resources->limits, name);
  return limit;
}

// A pod has a limit only if every container has one. An init container or sidecar without a limit
// counts as limited if an earlier sidecar is: the kubelet checks their sum.
bool all_are_limited(const PodSpec& pod, std::string_view name) {
  bool sidecar_is_limited = false;
  for (const Container& container : pod.containers) {
    const bool is_limited = !amount_of(container.resources.limits, name).is_zero();
    if (container.kind == ContainerKind::kSidecar) sidecar_is_limited |= is_limited;
    if (is_limited || (container.kind != ContainerKind::kApp && sidecar_is_limited)) continue;
    return false;
  }
  return true;
}

// Turns "hugepages-2Mi" into "2MB", as the hugetlb controller names its files.
std::string page_size_name(std::string_view resource) {
  std::string size(resource.substr(kHugePagesPrefix.size()));
  if (size.ends_with('i')) size.back() = 'B';
  return size;
}

// Returns the page sizes with a limit: those of the machine and those in the limits.
std::set<std::string> page_resources(const Node& node, const PodSpec& pod,
                                     const Container& container) {
  std::set<std::string> names;
  for (const NumaNode& numa : node.machine().numa_nodes()) {
    for (const auto& [resource, bytes] : numa.hugepages) names.insert(resource);
  }
  const auto add_named = [&](const ResourceList& limits) {
    for (const auto& [resource, quantity] : limits) {
      if (is_huge_page_resource(resource)) names.insert(resource);
    }
  };
  add_named(container.resources.limits);
  if (uses_pod_level(node, pod)) add_named(pod.resources->limits);
  return names;
}

std::int64_t requested_memory(const Container& container) {
  return amount_of(container.resources.requests, "memory").value();
}

int oom_score_adj(const Node& node, const PodTotals& totals, const Container& container) {
  if (totals.pod.spec.is_node_critical) return kGuaranteedOomScoreAdj;
  switch (qos_class(totals.pod, node.gates())) {
    case QosClass::kGuaranteed:
      return kGuaranteedOomScoreAdj;
    case QosClass::kBestEffort:
      return kBestEffortOomScoreAdj;
    case QosClass::kBurstable:
      break;
  }
  const auto capacity = static_cast<std::int64_t>(node.machine().memory());
  if (capacity == 0) return kBestEffortOomScoreAdj - 1;
  const auto score = [&](std::int64_t bytes) {
    return 1000 - static_cast<std::int64_t>(Quantity::Int128{1000} * (bytes + totals.extra_memory) /
                                            capacity);
  };
  std::int64_t adj = score(requested_memory(container));
  // A sidecar must not be killed before its app containers.
  if (container.kind == ContainerKind::kSidecar && totals.smallest_app_memory) {
    adj = std::min(adj, score(*totals.smallest_app_memory));
  }
  adj = std::max<std::int64_t>(adj, 1000 + kGuaranteedOomScoreAdj);
  // QUIRK: without the quirk, the value is capped, because the kernel rejects more than
  // 1000.
  const bool is_capped = adj == kBestEffortOomScoreAdj || !node.quirks().oom_score_adj_above_1000;
  return static_cast<int>(is_capped ? std::min<std::int64_t>(adj, kBestEffortOomScoreAdj - 1)
                                    : adj);
}

}  // namespace

PodTotals::PodTotals(const Node& node, const PodSpec& spec) : pod(spec) {
  for (const Container& container : spec.containers) {
    if (container.kind != ContainerKind::kApp) continue;
    const std::int64_t bytes = requested_memory(container);
    smallest_app_memory = std::min(smallest_app_memory.value_or(bytes), bytes);
  }
  if (!uses_pod_level(node, spec)) return;
  const Quantity whole = amount_of(spec.resources->requests, "memory");
  if (whole.is_zero()) return;
  const auto of_containers =
      amount_of(container_total(spec, &Resources::requests), "memory").value();
  extra_memory =
      (whole.value() - of_containers) / static_cast<std::int64_t>(spec.containers.size());
}

LinuxResources container_linux_resources(const Node& node, const PodTotals& totals,
                                         const Container& container, QuotaEnforcement quota) {
  const PodSpec& pod = totals.pod;
  LinuxResources out;
  const Quantity cpu_limit = effective_limit(node, pod, container, "cpu");
  const auto request = container.resources.requests.find("cpu");
  out.cpu_shares =
      cpu_shares(request == container.resources.requests.end() ? cpu_limit.milli_value()
                                                               : request->second.milli_value());
  if (node.config().cpu_cfs_quota) {
    out.cpu_period = node.cfs_period_us();
    out.cpu_quota = quota == QuotaEnforcement::kOffForExclusiveCpus
                        ? -1
                        : cpu_quota(cpu_limit.milli_value(), node.cfs_period_us());
  }
  const auto memory = effective_limit(node, pod, container, "memory").value();
  if (memory != 0) out.memory_limit = memory;
  for (const std::string& resource : page_resources(node, pod, container)) {
    out.hugepage_limits[page_size_name(resource)] =
        static_cast<std::uint64_t>(effective_limit(node, pod, container, resource).value());
  }
  out.memory_qos = container_memory_qos(node, pod, container);
  out.oom_score_adj = oom_score_adj(node, totals, container);
  return out;
}

LinuxResources pod_linux_resources(const Node& node, const PodSpec& pod, QuotaEnforcement quota) {
  LinuxResources out;
  const ResourceList requests = total_requests(node.gates(), pod);
  const ResourceList limits = limits_of(node, pod);
  for (const auto& [resource, quantity] : requests) {
    if (!is_huge_page_resource(resource)) continue;
    out.hugepage_limits[page_size_name(resource)] = static_cast<std::uint64_t>(quantity.value());
  }
  const QosClass qos = qos_class(pod, node.gates());
  const auto is_bounded = [&](std::string_view name) {
    if (qos == QosClass::kGuaranteed) return true;
    if (uses_pod_level(node, pod) && !amount_of(pod.resources->limits, name).is_zero()) return true;
    return all_are_limited(pod, name);
  };
  const std::int64_t memory_limit =
      is_bounded("memory") && uses_pod_level(node, pod) ? amount_of(limits, "memory").value() : 0;
  out.memory_qos = pod_memory_qos(node, pod, amount_of(requests, "memory").value(), memory_limit);
  if (qos == QosClass::kBestEffort) {
    out.cpu_shares = cpu_shares(0);
    return out;
  }
  out.cpu_shares = cpu_shares(amount_of(requests, "cpu").milli_value());
  if (is_bounded("cpu")) {
    const bool off =
        quota == QuotaEnforcement::kOffForExclusiveCpus || !node.config().cpu_cfs_quota;
    out.cpu_quota =
        off ? -1 : cpu_quota(amount_of(limits, "cpu").milli_value(), node.cfs_period_us());
    out.cpu_period = node.cfs_period_us();
  }
  if (is_bounded("memory")) out.memory_limit = amount_of(limits, "memory").value();
  return out;
}

}  // namespace pinfold
