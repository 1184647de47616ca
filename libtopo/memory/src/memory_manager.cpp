#include "pinfold/memory/memory_manager.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "machine_state.hpp"
#include "node_search.hpp"
#include "pinfold/memory/memory_drift.hpp"
#include "pinfold/text/go_text.hpp"
#include "pinfold/types/amount_text.hpp"
#include "requests.hpp"

namespace pinfold {

using memory::container_requests;
using memory::describe;
using memory::is_managed;
using memory::mask_of;
using memory::NodeSearch;

namespace {

constexpr std::string_view kSource = "memory";

/// Returns whether an init container without an entry has finished, which is so if a later
/// container of its pod has an entry.
bool has_finished(const MemoryState& state, const PodSpec& pod, const Container& container) {
  if (container.kind != ContainerKind::kInit) return false;
  const auto* const of_pod = state.assignments.find(pod.uid);
  if (of_pod == nullptr) return false;
  bool is_later = false;
  for (const Container& other : pod.containers) {
    if (is_later && of_pod->contains(other.name)) return true;
    if (other.name == container.name) is_later = true;
  }
  return false;
}

/// Reduces the recorded sizes of init containers by what the container reuses, so that the sizes of
/// a pod's containers add up to what the pod has.
void shrink_init_blocks(MemoryState& state, const PodSpec& pod, const Container& container,
                        const std::vector<MemoryBlock>& blocks) {
  auto& of_pod = state.assignments[pod.uid];
  for (const MemoryBlock& block : blocks) {
    std::uint64_t rest = block.size;
    for (const Container& earlier : pod.containers) {
      if (earlier.kind == ContainerKind::kApp || earlier.name == container.name) break;
      if (earlier.kind == ContainerKind::kSidecar) continue;
      const auto init_blocks = of_pod.find(earlier.name);
      if (init_blocks == of_pod.end()) continue;
      for (MemoryBlock& init_block : init_blocks->second) {
        if (init_block.type != block.type || init_block.numa_affinity != block.numa_affinity) {
          continue;
        }
        const std::uint64_t part = std::min(rest, init_block.size);
        init_block.size -= part;
        rest -= part;
      }
    }
  }
}

const char* describe(place::MemoryChoice::Why why) {
  switch (why) {
    case place::MemoryChoice::Why::kNoAffinity:
      return "no affinity is given, and no fewer or lower NUMA nodes have enough";
    case place::MemoryChoice::Why::kExtended:
      return "the affinity has too little and was extended";
    case place::MemoryChoice::Why::kAffinity:
      break;
  }
  return "the topology manager's affinity has enough";
}

/// Fails if more is reserved than a NUMA node has.
Result<void> check_capacity(const Machine& machine, const memory::SystemReserved& reserved) {
  for (const auto& [id, node] : memory::initial_state(machine, reserved)) {
    for (const auto& [name, table] : node.tables) {
      if (table.allocatable <= table.total) continue;
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("reservedMemory: {} of {} on NUMA node {}: expected at most what the "
                      "node has ({}, huge pages not counted)",
                      exact_bytes(table.system_reserved), name, id, exact_bytes(table.total)));
    }
  }
  return {};
}

}  // namespace

Result<MemoryManager> MemoryManager::make(const Machine& machine, const Config& config,
                                          const NodeReservation& reservation) {
  MemoryManager manager;
  manager.machine_ = &machine;
  manager.gates_ = config.gates();
  manager.quirks_ = config.quirks();
  const std::string& policy = config.memory_manager_policy;
  PINFOLD_LET(manager.tolerated_drift_, memory_drift_tolerance(config));
  if (policy == "None") return manager;
  if (policy == "BestEffort") {
    return fail(ErrorCode::kInvalidArgument,
                "policy \"BestEffort\" is not available for platform \"linux\"");
  }
  if (policy != "Static") {
    return fail(ErrorCode::kInvalidArgument, "unknown policy: \"" + policy + "\"");
  }
  PINFOLD_LET(auto reserved, memory::system_reserved(machine, config, reservation));
  // QUIRK: without the quirk, reserving more than a NUMA node has is an error.
  if (!manager.quirks_.excess_reserved_memory_wraps_around) {
    PINFOLD_TRY(check_capacity(machine, reserved));
  }
  manager.widest_hint_ = place::widest_listed(config.topology_manager_policy, machine.numa_count());
  manager.is_static_ = true;
  manager.system_reserved_ = std::move(reserved);
  return manager;
}

Result<void> MemoryManager::start(MemoryState& state) const {
  state.reusable.clear();
  if (!is_static_) return {};
  auto fresh = memory::initial_state(*machine_, system_reserved_);
  if (state.machine_state.empty() && state.assignments.empty()) {
    state.machine_state = std::move(fresh);
    return {};
  }
  const memory::RestoreRules rules{gates_.pod_level_resource_managers, tolerated_drift_};
  PINFOLD_LET(state.machine_state, memory::restored(state, std::move(fresh), rules));
  return {};
}

ResourceHints MemoryManager::search_hints(const MemoryState& state, const PodUid& pod_uid,
                                          const Requests& requests) const {
  if (requests.empty()) return {};
  const NodeSearch search(*machine_, state, pod_uid, requests);
  std::vector<TopologyHint> hints =
      place::list_hints(search.rule(), machine_->numa_count(), widest_hint_);
  // Without any hint there is no entry, see below; that must not depend on widest_hint_.
  if (hints.empty() && place::fits_anywhere(search.rule(), machine_->numa_count())) {
    ResourceHints impossible;
    for (const auto& [name, bytes] : requests) impossible[name] = std::vector<TopologyHint>{};
    return impossible;
  }
  ResourceHints by_resource;
  // As in the kubelet: without any hint there is no entry, which means "no preference", and the pod
  // is rejected when its memory is allocated.
  if (hints.empty()) return by_resource;
  for (const auto& [name, bytes] : requests) {
    if (name != requests.rbegin()->first) by_resource[name] = hints;
  }
  by_resource[requests.rbegin()->first] =
      std::move(hints);  // copies are large on machines with many NUMA nodes
  return by_resource;
}

ResourceHints MemoryManager::regenerate_hints(const std::vector<MemoryBlock>& blocks,
                                              const Requests& requests) const {
  ResourceHints hints;
  if (blocks.size() != requests.size()) return hints;
  for (const MemoryBlock& block : blocks) {
    const auto request = requests.find(block.type);
    if (request == requests.end() || request->second != block.size) return {};
    hints[block.type] = std::vector<TopologyHint>{{mask_of(*machine_, block.numa_affinity), true}};
  }
  return hints;
}

ResourceHints MemoryManager::container_hints(const MemoryState& state, const PodView& pod,
                                             const Container& container) const {
  if (!is_static_ || !is_managed(gates_, pod)) return {};
  const auto requests = container_requests(gates_, quirks_, pod, container);
  if (!requests) return {};
  if (const auto* blocks = state.assignments.find({pod.uid, container.name})) {
    return regenerate_hints(*blocks, *requests);
  }
  if (!quirks_.finished_init_containers_allocate_again && has_finished(state, pod, container)) {
    return {};
  }
  return search_hints(state, pod.uid, *requests);
}

tl::expected<NumaMask, std::string> MemoryManager::choose_nodes(const MemoryState& state,
                                                                const PodUid& pod_uid,
                                                                const Requests& requests,
                                                                const TopologyHint& affinity,
                                                                TraceFact* why) const {
  const NodeSearch search(*machine_, state, pod_uid, requests);
  const auto choice =
      place::choose_nodes(search.rule(), affinity, quirks_.single_node_overwrites_group);
  if (!choice) return tl::unexpected<std::string>(choice.error());
  if (why != nullptr) why->text = describe(choice->why);
  return choice->nodes;
}

std::uint64_t MemoryManager::reusable_bytes(const MemoryState& state, const PodUid& pod_uid,
                                            NumaMask nodes, const std::string& type) {
  const auto of_pod = state.reusable.find(pod_uid);
  if (of_pod == state.reusable.end()) return 0;
  const auto of_nodes = of_pod->second.find(nodes);
  if (of_nodes == of_pod->second.end()) return 0;
  const auto left = of_nodes->second.find(type);
  return left == of_nodes->second.end() ? 0 : left->second;
}

void MemoryManager::note_reuse(MemoryState& state, const PodSpec& pod, const Container& container,
                               const std::vector<MemoryBlock>& blocks) const {
  std::erase_if(state.reusable, [&](const auto& entry) { return entry.first != pod.uid; });
  if (container.kind == ContainerKind::kInit) {
    auto& of_pod = state.reusable[pod.uid];
    for (const MemoryBlock& block : blocks) {
      std::uint64_t& left = of_pod[mask_of(*machine_, block.numa_affinity)][block.type];
      left = std::max(left, block.size);
    }
    return;
  }
  const auto of_pod = state.reusable.find(pod.uid);
  if (of_pod == state.reusable.end()) return;
  for (const MemoryBlock& block : blocks) {
    const auto of_mask = of_pod->second.find(mask_of(*machine_, block.numa_affinity));
    if (of_mask == of_pod->second.end()) continue;
    const auto left = of_mask->second.find(block.type);
    if (left != of_mask->second.end()) left->second -= std::min(left->second, block.size);
  }
}

Admission MemoryManager::allocate(MemoryState& state, const PodView& pod,
                                  const Container& container, const TopologyHint& affinity,
                                  Trace* trace) const {
  if (!is_static_ || !is_managed(gates_, pod)) return {};
  if (const auto* blocks = state.assignments.find({pod.uid, container.name})) {
    note_reuse(state, pod, container, *blocks);
    return {};
  }
  // QUIRK: without the quirk, a finished init container allocates nothing.
  if (!quirks_.finished_init_containers_allocate_again && has_finished(state, pod, container)) {
    return {};
  }
  const auto requests = container_requests(gates_, quirks_, pod, container);
  if (!requests) return tl::unexpected(Rejection::unexpected(memory::kNotWholeBytes));
  // QUIRK: without the quirk, an empty request allocates nothing.
  if (!quirks_.empty_request_needs_numa_nodes && requests->empty()) return {};
  TraceFact why;
  const auto nodes = choose_nodes(state, pod.uid, *requests, affinity, trace ? &why : nullptr);
  if (!nodes) {
    if (trace != nullptr) {
      trace->add(kSource, container.name, "no NUMA nodes for " + describe(*requests));
    }
    return tl::unexpected(Rejection::unexpected(nodes.error()));
  }
  const std::vector<std::int32_t> ids = machine_->numa_ids(*nodes);
  std::vector<MemoryBlock> blocks;
  for (const auto& [type, bytes] : *requests) {
    blocks.push_back({.numa_affinity = ids, .type = type, .size = bytes});
    const std::uint64_t reused = std::min(bytes, reusable_bytes(state, pod.uid, *nodes, type));
    memory::take(state.machine_state, ids, type, bytes - reused);
  }
  note_reuse(state, pod, container, blocks);
  state.assignments[{pod.uid, container.name}] = blocks;
  shrink_init_blocks(state, pod, container, blocks);
  if (trace != nullptr) {
    trace->add(kSource, container.name,
               fmt::format("takes {} from NUMA node{} {}: {}", describe(*requests),
                           nodes->is_single() ? "" : "s", machine_->numa_list(*nodes), why.text));
  }
  return {};
}

std::string MemoryManager::cpuset_mems(const MemoryState& state,
                                       const ContainerId& container) const {
  const auto* blocks = state.assignments.find(container);
  if (blocks == nullptr) return {};
  std::set<std::int32_t> nodes;
  for (const MemoryBlock& block : *blocks) {
    nodes.insert(block.numa_affinity.begin(), block.numa_affinity.end());
  }
  return fmt::format("{}", fmt::join(nodes, ","));  // the kubelet writes no ranges
}

UsageByResource MemoryManager::usage(const MemoryState& state) const {
  UsageByResource usage;
  if (!is_static_) return usage;
  int position = 0;
  for (const NumaNode& node : machine_->numa_nodes()) {
    const NumaMask mask = NumaMask::of(position++);
    const auto found = state.machine_state.find(node.id.value);
    if (found == state.machine_state.end()) continue;
    for (const auto& [resource, table] : found->second.tables) {
      usage[resource].push_back({mask, table.reserved, table.allocatable});
    }
  }
  return usage;
}

}  // namespace pinfold
