#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pinfold/decide/node.hpp"
#include "pinfold/memory/memory_state.hpp"
#include "pinfold/types/container_id.hpp"

/// What containers and pods request, and how notes name it.
namespace pinfold::checkpoint {

/// Returns "POD/CONTAINER"; for the name "", which is the pod-level reservation, "POD".
[[nodiscard]] std::string object_of(const ContainerId& id);

/// Returns true if the managers allocate for the pod as a whole, so that it has an entry.
[[nodiscard]] bool has_pod_entry(const Node& node, const PodSpec& pod);

/// Returns the number of CPUs exclusive to a container, or to a pod as a whole (`container` is
/// nullptr).
[[nodiscard]] std::size_t requested_cpus(const Node& node, const PodSpec& pod,
                                         const Container* container);
/// Returns the memory of a container, or of a pod as a whole (`container` is nullptr), without NUMA
/// nodes.
[[nodiscard]] std::vector<MemoryBlock> requested_memory(const Node& node, const PodSpec& pod,
                                                        const Container* container);

/// Return "2 CPUs", "1073741824 bytes of memory"; "" for none.
[[nodiscard]] std::string amount_text(std::size_t cpus);
[[nodiscard]] std::string amount_text(const std::vector<MemoryBlock>& blocks);

}  // namespace pinfold::checkpoint
