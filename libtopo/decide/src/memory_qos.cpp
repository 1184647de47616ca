#include "memory_qos.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace pinfold {
namespace {

constexpr double kDefaultFactor136 = 0.9;
/// As the kubelet counts on most machines; a kernel with larger pages rounds once more.
constexpr std::int64_t kPageBytes = 4096;

/// With the gate on by default since 1.37, nothing is written unless one of the two fields is set.
bool is_configured(const Config& config) {
  const bool is_beta = config.profile != Profile::kKubelet136;
  if (const auto gate = config.set_gate("MemoryQoS", is_beta)) return *gate;
  if (!is_beta) return false;
  return config.memory_throttling_factor || !config.memory_reservation_policy.empty();
}

std::optional<double> factor_of(const Config& config) {
  if (config.memory_throttling_factor || config.profile != Profile::kKubelet136) {
    return config.memory_throttling_factor;
  }
  return kDefaultFactor136;
}

/// Returns the memory of the node without kubeReserved and systemReserved. Eviction thresholds
/// count as usable here.
std::int64_t usable_memory(const Node& node) {
  auto left = static_cast<std::int64_t>(node.machine().memory());
  for (const auto* const reserved :
       {&node.config().kube_reserved, &node.config().system_reserved}) {
    const auto amount = reserved->find("memory");
    if (amount == reserved->end()) continue;
    left -= Quantity::parse(amount->second).value_or(Quantity{}).value();
  }
  return std::max<std::int64_t>(left, 0);
}

/// Protects the request: hard for Guaranteed pods, else only as long as others can give way.
MemoryQos protection(const Node& node, const PodSpec& pod, std::int64_t request) {
  MemoryQos qos;
  if (node.config().memory_reservation_policy != "TieredReservation") return qos;
  (qos_class(pod, node.gates()) == QosClass::kGuaranteed ? qos.min : qos.low) = request;
  return qos;
}

/// Returns where throttling begins, between the request and `bound`. In floating point, like the
/// kubelet.
std::optional<std::int64_t> throttle(std::int64_t request, std::int64_t bound, double factor) {
  const auto from = static_cast<double>(request);
  const double bytes = std::floor(from + (static_cast<double>(bound) - from) * factor);
  const std::int64_t high = static_cast<std::int64_t>(bytes / kPageBytes) * kPageBytes;
  return high > request ? std::optional(high) : std::nullopt;
}

}  // namespace

std::optional<MemoryQos> container_memory_qos(const Node& node, const PodSpec& pod,
                                              const Container& container) {
  const Config& config = node.config();
  if (!is_configured(config)) return std::nullopt;
  const std::int64_t request = amount_of(container.resources.requests, "memory").value();
  const std::int64_t limit = amount_of(container.resources.limits, "memory").value();
  MemoryQos qos = protection(node, pod, request);
  const auto factor = factor_of(config);
  // 1.36 does not throttle a container without any amount.
  const bool is_open = request == 0 && config.profile != Profile::kKubelet136;
  if (!factor || (request == limit && !is_open)) return qos;
  const std::int64_t bound = limit != 0 ? limit : usable_memory(node);
  if (bound > 0) qos.high = throttle(request, bound, *factor);
  return qos;
}

std::optional<MemoryQos> pod_memory_qos(const Node& node, const PodSpec& pod, std::int64_t request,
                                        std::int64_t limit) {
  const Config& config = node.config();
  if (!is_configured(config)) return std::nullopt;
  MemoryQos qos = protection(node, pod, request);
  const auto factor = factor_of(config);
  const bool has_limit = limit != 0 && limit != request;
  if (factor && has_limit && config.profile != Profile::kKubelet136) {
    qos.high = throttle(request, limit, *factor);
  }
  return qos;
}

}  // namespace pinfold
