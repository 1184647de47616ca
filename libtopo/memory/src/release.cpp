#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "machine_state.hpp"
#include "pinfold/memory/memory_manager.hpp"
#include "requests.hpp"

namespace pinfold {

void MemoryManager::remove_container(MemoryState& state, const ContainerId& container) const {
  if (!is_static_) return;
  std::vector<MemoryBlock> blocks;
  if (auto* const assigned = state.assignments.find(container)) blocks = std::move(*assigned);
  state.assignments.erase(container);
  const bool is_last = !state.assignments.contains(container.pod);
  const auto of_pod = state.pods.find(container.pod);
  if (gates_.pod_level_resource_managers && of_pod != state.pods.end()) {
    // The pod's memory is released as a whole, with its last container.
    if (is_last) {
      memory_detail::release(state.machine_state, of_pod->second);
      state.pods.erase(of_pod);
    }
  } else {
    memory_detail::release(state.machine_state, blocks);
  }
  // DEVIATION (quirk): a later pod with the same UID must not reuse memory that is released.
  if (!quirks_.reusable_memory_outlives_pod && is_last) state.reusable.erase(container.pod);
}

void MemoryManager::container_started(MemoryState& state, const PodSpec& pod,
                                      const std::string& container) const {
  for (const Container& earlier : pod.containers) {
    if (earlier.kind == ContainerKind::kApp || earlier.name == container) break;
    if (earlier.kind == ContainerKind::kInit) remove_container(state, {pod.uid, earlier.name});
  }
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

std::vector<int> MemoryManager::allocation_scores(const MemoryState& state) const {
  std::vector<int> scores;
  if (!is_static_) return scores;
  for (const NumaNode& node : machine_->numa_nodes()) {
    int score = 0;
    const auto found = state.machine_state.find(node.id.value);
    if (found != state.machine_state.end()) {
      const auto table = found->second.tables.find(memory_detail::kMemory);
      if (table != found->second.tables.end() && table->second.allocatable > 0) {
        score = static_cast<int>(table->second.reserved * 100 / table->second.allocatable);
      }
    }
    scores.push_back(score);
  }
  return scores;
}

}  // namespace pinfold
