#include "machine_state.hpp"
#include "pinfold/memory/memory_manager.hpp"
#include "requests.hpp"

namespace pinfold {

void MemoryManager::remove_container(MemoryState& state, const ContainerId& container) const {
  if (!is_static_) return;
  std::vector<MemoryBlock> blocks;
  if (const auto* const assigned = state.assignments.find(container)) blocks = *assigned;
  state.assignments.erase(container);
  const bool is_last = !state.assignments.contains(container.pod);
  const auto of_pod = state.pods.find(container.pod);
  if (gates_.pod_level_resource_managers && of_pod != state.pods.end()) {
    // The pod's memory is released as a whole, with its last container.
    if (is_last) {
      memory::release(state.machine_state, of_pod->second);
      state.pods.erase(of_pod);
    }
  } else {
    memory::release(state.machine_state, blocks);
  }
  // QUIRK: without the quirk, a later pod with the same UID cannot reuse released
  // memory.
  if (!quirks_.reusable_memory_outlives_pod && is_last) state.reusable.erase(container.pod);
}

void MemoryManager::container_started(MemoryState& state, const PodSpec& pod,
                                      const std::string& container) const {
  for (const Container& earlier : pod.containers) {
    if (earlier.kind == ContainerKind::kApp || earlier.name == container) break;
    if (earlier.kind == ContainerKind::kInit) remove_container(state, {pod.uid, earlier.name});
  }
}

}  // namespace pinfold
