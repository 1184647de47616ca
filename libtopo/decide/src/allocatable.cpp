#include "pinfold/decide/allocatable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace pinfold {
namespace {

Rejection out_of(const std::string& name, std::int64_t requested, std::int64_t used,
                 std::int64_t capacity) {
  return {"OutOf" + name,
          fmt::format("Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}",
                      name, requested, used, capacity)};
}

std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// Returns the resources to compare, in the kubelet's order; huge pages by name.
std::vector<std::string> compared_resources(const ResourceList& requests) {
  std::vector<std::string> names = {"cpu", "memory"};
  for (const auto& [name, amount] : requests) {
    if (is_huge_page_resource(name)) names.push_back(name);
  }
  return names;
}

}  // namespace

std::optional<std::int64_t> allowed_pods(const Node& node) {
  std::optional<std::int64_t> allowed = node.config().max_pods;
  if (const std::int64_t each = node.config().pods_per_core; each > 0) {
    const std::int64_t all = each * static_cast<std::int64_t>(node.machine().cpus().size());
    allowed = std::min(allowed.value_or(all), all);
  }
  return allowed;
}

ResourceList allocatable(const Node& node) {
  const Machine& machine = node.machine();
  ResourceList amounts;
  amounts["cpu"] = Quantity::milli(static_cast<std::int64_t>(machine.cpus().size()) * 1000);
  amounts["memory"] = Quantity::bytes(static_cast<std::int64_t>(machine.memory()));
  const auto subtract = [&](const std::string& name, const Quantity& amount) {
    Quantity& left = amounts.at(name);
    left = std::max(left - amount, Quantity{});
  };
  for (const auto& [name, reserved] : node.reservation().amounts) {
    if (amounts.contains(name)) subtract(name, reserved);
  }
  for (const NumaNode& numa : machine.numa_nodes()) {
    for (const auto& [name, bytes] : numa.hugepages) {
      const Quantity pages = Quantity::bytes(static_cast<std::int64_t>(bytes));
      amounts[name] += pages;
      subtract("memory", pages);
    }
  }
  return amounts;
}

ResourceList held_amounts(const NodeState& state, const PodUid& held) {
  ResourceList amounts;
  CpuSet cpus;  // containers of a pod can share CPUs
  if (const auto of_pod = state.cpu.pods.find(held); of_pod != state.cpu.pods.end()) {
    cpus = of_pod->second;
  }
  if (const auto* const containers = state.cpu.assignments.find(held)) {
    for (const auto& [name, of_container] : *containers) cpus |= of_container;
  }
  amounts["cpu"] = Quantity::milli(static_cast<std::int64_t>(cpus.size()) * 1000);
  const auto add = [&](const std::vector<MemoryBlock>& blocks) {
    for (const MemoryBlock& block : blocks) {
      amounts[block.type] += Quantity::bytes(static_cast<std::int64_t>(block.size));
    }
  };
  if (const auto of_pod = state.memory.pods.find(held); of_pod != state.memory.pods.end()) {
    add(of_pod->second);
  } else if (const auto* const containers = state.memory.assignments.find(held)) {
    for (const auto& [name, blocks] : *containers) add(blocks);
  }
  return amounts;
}

ResourceList others_held(const NodeState& state, const PodUid& pod) {
  ResourceList total;
  for (const PodUid& held : state.held) {
    if (held == pod) continue;
    for (const auto& [name, amount] : held_amounts(state, held)) total[name] += amount;
  }
  return total;
}

ResourceList requests_of_pods(const FeatureGates& gates, const NodeState& state,
                              const PodUid& except) {
  ResourceList sum = others_held(state, except);
  for (const ActivePod& pod : state.pods) {
    if (pod.spec.uid == except) continue;
    for (const auto& [name, amount] : total_requests(gates, pod.spec)) sum[name] += amount;
  }
  return sum;
}

std::optional<Rejection> find_shortage(const Node& node, const ActivePods& pods, const PodSpec& pod,
                                       const ResourceList& held) {
  const std::int64_t others = std::ssize(pods) - (pods.find(pod.uid) == pods.end() ? 0 : 1);
  if (const auto allowed = allowed_pods(node); allowed && others >= *allowed) {
    return out_of("pods", 1, others, *allowed);
  }
  const ResourceList requests = total_requests(node.gates(), pod);
  const ResourceList capacities = allocatable(node);
  for (const std::string& name : compared_resources(requests)) {
    const std::int64_t requested = base_units(name, amount_of(requests, name));
    if (requested == 0) continue;
    const std::int64_t capacity = base_units(name, amount_of(capacities, name));
    const std::int64_t used = saturated_sum(base_units(name, amount_of(held, name)),
                                            pods.requested(node.gates(), name, pod.uid));
    if (saturated_sum(requested, used) <= capacity) continue;
    return out_of(name, requested, used, capacity);
  }
  return std::nullopt;
}

}  // namespace pinfold
