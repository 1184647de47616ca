#include "requests.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::memory {
namespace {

std::optional<Requests> memory_of(const Quirks& quirks, const ResourceList& amounts) {
  Requests requests;
  for (const auto& [name, amount] : amounts) {
    if (!is_memory_resource(name)) continue;
    // QUIRK: without the quirk, any whole number of bytes will do, in any spelling.
    const bool is_accepted = quirks.memory_spelled_with_fraction_rejected
                                 ? amount.as_int64_succeeds()
                                 : amount.is_whole();
    if (!is_accepted) return std::nullopt;
    requests[name] = static_cast<std::uint64_t>(amount.value());
  }
  return requests;
}

std::uint64_t bytes_of(const Requests& requests, const std::string& name) {
  const auto found = requests.find(name);
  return found == requests.end() ? 0 : found->second;
}

}  // namespace

bool is_managed(const FeatureGates& gates, const PodView& pod) {
  return qos_class(pod, gates) == QosClass::kGuaranteed && is_manageable(gates, pod);
}

std::optional<Requests> container_requests(const FeatureGates& gates, const Quirks& quirks,
                                           const PodSpec& pod, const Container& container) {
  if (is_managed_as_pod(gates, pod) && !is_guaranteed(container)) return Requests{};
  return memory_of(quirks, container.resources.requests);
}

std::optional<Requests> pod_requests(const FeatureGates& gates, const Quirks& quirks,
                                     const PodSpec& pod) {
  if (is_managed_as_pod(gates, pod)) {
    auto requests = memory_of(quirks, pod.resources->requests);
    if (requests) std::erase_if(*requests, [](const auto& entry) { return entry.second == 0; });
    return requests;
  }
  Requests init_peak;  // the most that the init containers need at one time
  Requests sidecars;
  Requests total;  // of app containers
  for (const Container& container : pod.containers) {
    const auto requests = container_requests(gates, quirks, pod, container);
    if (!requests) return std::nullopt;
    for (const auto& [name, bytes] : *requests) {
      if (container.kind == ContainerKind::kApp) {
        total[name] += bytes;
      } else if (container.kind == ContainerKind::kSidecar) {
        sidecars[name] += bytes;
      } else {
        init_peak[name] = std::max(init_peak[name], bytes_of(sidecars, name) + bytes);
      }
    }
  }
  // As in the kubelet, a resource that no app container requests does not count.
  for (auto& [name, bytes] : total) {
    bytes = std::max(bytes + bytes_of(sidecars, name), bytes_of(init_peak, name));
  }
  return total;
}

std::string empty_shared_pool(const FeatureGates& gates, const Quirks& quirks, const PodSpec& pod) {
  const auto total = pod_requests(gates, quirks, pod);
  if (!total) return kNotWholeBytes;
  Requests taken;  // by containers that run as long as the pod
  bool has_shared = false;
  for (const Container& container : pod.containers) {
    const auto requests = container_requests(gates, quirks, pod, container);
    if (!requests) return kNotWholeBytes;
    if (container.kind != ContainerKind::kInit) {
      has_shared = has_shared || requests->empty();
      for (const auto& [name, bytes] : *requests) taken[name] += bytes;
      continue;
    }
    for (const auto& [name, bytes] : *total) {
      const std::uint64_t used = bytes_of(taken, name);
      if (requests->empty() && used >= bytes) {
        return fmt::format(
            "pod rejected, pod has shared init containers but no {} available for them", name);
      }
      if (const std::uint64_t request = bytes_of(*requests, name); request > bytes - used) {
        return fmt::format(
            "pod rejected, largest exclusive init container requests {} of {}, but only {} "
            "available",
            request, name, bytes - used);
      }
    }
  }
  for (const auto& [name, bytes] : *total) {
    if (has_shared && bytes_of(taken, name) >= bytes) {
      return fmt::format(
          "pod rejected, sum of exclusive container {} requests equals pod budget, leaving no "
          "memory for shared containers",
          name);
    }
  }
  return {};
}

std::string describe(const Requests& requests) {
  std::string text;
  for (const auto& [name, bytes] : requests) {
    if (!text.empty()) text += ", ";
    text += Quantity::bytes(static_cast<std::int64_t>(bytes)).to_string() + " of " + name;
  }
  return text.empty() ? "no memory" : text;
}

}  // namespace pinfold::memory
