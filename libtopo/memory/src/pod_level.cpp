#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "machine_state.hpp"
#include "node_search.hpp"
#include "pinfold/memory/memory_manager.hpp"
#include "requests.hpp"

namespace pinfold {

using memory::container_requests;
using memory::is_managed;
using memory::pod_requests;
using memory::Requests;

namespace {

std::vector<MemoryBlock> blocks_of(const Requests& amounts,
                                   const std::vector<std::int32_t>& nodes) {
  std::vector<MemoryBlock> blocks;
  for (const auto& [type, bytes] : amounts) {
    if (bytes > 0) blocks.push_back({.numa_affinity = nodes, .type = type, .size = bytes});
  }
  return blocks;
}

void subtract(Requests& pool, const Requests& part) {
  for (const auto& [type, bytes] : part) {
    if (const auto found = pool.find(type); found != pool.end()) found->second -= bytes;
  }
}

}  // namespace

ResourceHints MemoryManager::pod_hints(const MemoryState& state, const PodView& pod) const {
  if (!is_static_ || !is_managed(gates_, pod)) return {};
  const auto requests = pod_requests(gates_, quirks_, pod);
  if (!requests || requests->empty()) return {};
  if (pod.has_pod_level_resources() && !memory::empty_shared_pool(gates_, quirks_, pod).empty()) {
    ResourceHints impossible;
    for (const auto& [name, bytes] : *requests) impossible[name] = std::vector<TopologyHint>{};
    return impossible;
  }
  // QUIRK: without the quirk, the hint comes from the pod's memory, not a container's.
  const auto blocks_of_pod = state.pods.find(pod.uid);
  if (!quirks_.pod_memory_hint_from_container && blocks_of_pod != state.pods.end()) {
    return regenerate_hints(blocks_of_pod->second, *requests);
  }
  for (const Container& container : pod.containers) {
    if (const auto* blocks = state.assignments.find({pod.uid, container.name})) {
      return regenerate_hints(*blocks, *requests);
    }
  }
  return search_hints(state, pod.uid, *requests);
}

std::string MemoryManager::why_no_pod_hints(const PodView& pod) const {
  if (!is_static_ || !is_managed(gates_, pod) || !pod.has_pod_level_resources()) return "";
  const auto requests = pod_requests(gates_, quirks_, pod);
  const std::string problem = memory::empty_shared_pool(gates_, quirks_, pod);
  if (!requests || problem.empty()) return "";
  std::string_view why = problem;
  constexpr std::string_view kPrefix = "pod rejected, ";
  if (why.starts_with(kPrefix)) why.remove_prefix(kPrefix.size());
  return fmt::format("the pod has {}: {}", memory::describe(*requests), why);
}

std::vector<Amounts> MemoryManager::amounts(const MemoryState& state, const PodView& pod,
                                            const Container* container) const {
  if (!is_static_ || !is_managed(gates_, pod)) return {};
  const auto requests = container == nullptr ? pod_requests(gates_, quirks_, pod)
                                             : container_requests(gates_, quirks_, pod, *container);
  if (!requests) return {};
  const auto amount = [](std::uint64_t bytes) {
    return Quantity::bytes(static_cast<std::int64_t>(bytes));
  };
  std::vector<Amounts> all;
  for (const auto& [name, bytes] : *requests) {
    if (bytes == 0) continue;
    Amounts& amounts = all.emplace_back(Amounts{name, amount(bytes), {}});
    for (const auto& [id, node] : state.machine_state) {
      const auto table = node.tables.find(name);
      if (table == node.tables.end()) continue;
      const std::uint64_t left =
          std::min(table->second.reserved,
                   reusable_bytes(state, pod.uid, memory::mask_of(*machine_, {id}), name));
      amounts.places.push_back({{id},
                                amount(table->second.free + left),
                                amount(table->second.reserved - left),
                                amount(table->second.system_reserved)});
    }
  }
  return all;
}

Admission MemoryManager::allocate_pod(MemoryState& state, const PodView& pod,
                                      const TopologyHint& affinity, Trace* trace) const {
  if (!is_static_ || qos_class(pod, gates_) != QosClass::kGuaranteed) return {};
  // QUIRK: without the quirk, a pod that is admitted again keeps its memory.
  if (!quirks_.readmitted_pod_takes_memory_again && state.pods.contains(pod.uid)) return {};
  const auto total = pod_requests(gates_, quirks_, pod);
  if (!total) return {};
  if (std::string problem = memory::empty_shared_pool(gates_, quirks_, pod); !problem.empty()) {
    return tl::unexpected(Rejection{"EmptyPodSharedPoolError", std::move(problem)});
  }
  TraceFact why;
  const auto nodes = choose_nodes(state, pod.uid, *total, affinity, trace ? &why : nullptr);
  if (!nodes) return tl::unexpected(Rejection::unexpected(nodes.error()));
  const std::vector<std::int32_t> ids = machine_->numa_ids(*nodes);

  // What exclusive containers leave: an init container gets what the sidecars before it leave, the
  // shared containers get what remains at the end.
  Requests pool = *total;
  auto& of_pod = state.assignments[pod.uid];
  std::vector<const Container*> shared;
  for (const Container& container : pod.containers) {
    const auto requests = container_requests(gates_, quirks_, pod, container);
    if (!requests) return {};  // not reached: empty_shared_pool has checked them all
    const bool is_init = container.kind == ContainerKind::kInit;
    if (requests->empty() && !is_init) {
      shared.push_back(&container);
      continue;
    }
    of_pod[container.name] = blocks_of(requests->empty() ? pool : *requests, ids);
    if (!is_init) subtract(pool, *requests);
  }
  const std::vector<MemoryBlock> left = blocks_of(pool, ids);
  for (const Container* container : shared) of_pod[container->name] = left;
  state.pods[pod.uid] = blocks_of(*total, ids);
  for (const auto& [type, bytes] : *total) {
    memory::take(state.machine_state, ids, type, bytes);
  }
  if (trace != nullptr) {
    trace->add("memory", "pod",
               fmt::format("takes {} from NUMA node{} {}: {}", memory::describe(*total),
                           nodes->is_single() ? "" : "s", machine_->numa_list(*nodes), why.text));
  }
  return {};
}

}  // namespace pinfold
