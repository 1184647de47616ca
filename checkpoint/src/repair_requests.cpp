#include "repair_requests.hpp"

#include <fmt/format.h>

#include "pinfold/api/pod_level.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::checkpoint {

std::string object_of(const ContainerId& id) {
  return id.name.empty() ? id.pod.value : to_string(id);
}

bool has_pod_entry(const Node& node, const PodSpec& pod) {
  return is_managed_as_pod(node.gates(), pod) && node.topology().scope() == TopologyScope::kPod &&
         node.topology().policy() != TopologyPolicy::kNone &&
         qos_class(pod, node.gates()) == QosClass::kGuaranteed;
}

std::size_t requested_cpus(const Node& node, const PodSpec& pod, const Container* container) {
  if (container != nullptr) {
    return static_cast<std::size_t>(node.cpu().guaranteed_cpus(pod, *container));
  }
  const Quantity cpus = amount_of(pod.resources->requests, "cpu");
  return cpus.is_whole() ? static_cast<std::size_t>(cpus.value()) : 0;
}

std::vector<MemoryBlock> requested_memory(const Node& node, const PodSpec& pod,
                                          const Container* container) {
  std::vector<MemoryBlock> blocks;
  const bool is_exclusive =
      container == nullptr || !is_managed_as_pod(node.gates(), pod) || is_guaranteed(*container);
  if (!is_exclusive || !is_manageable(node.gates(), pod) ||
      qos_class(pod, node.gates()) != QosClass::kGuaranteed) {
    return blocks;
  }
  const auto& requests =
      container == nullptr ? pod.resources->requests : container->resources.requests;
  for (const auto& [name, amount] : requests) {
    if (!is_memory_resource(name) || amount.is_zero()) continue;
    blocks.push_back({{}, name, static_cast<std::uint64_t>(amount.value())});
  }
  return blocks;
}

std::string amount_text(std::size_t cpus) {
  return cpus == 0 ? "" : fmt::format("{} CPU{}", cpus, cpus == 1 ? "" : "s");
}
std::string amount_text(const std::vector<MemoryBlock>& blocks) {
  std::string text;
  for (const MemoryBlock& block : blocks) {
    text +=
        fmt::format("{}{} of {}", text.empty() ? "" : ", ", bytes_named(block.size), block.type);
  }
  return text;
}

}  // namespace pinfold::checkpoint
