#pragma once

#include <vector>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/note.hpp"

namespace pinfold::checkpoint {

/// A state without pod-level reservations, for kubelets that do not know them.
template <class State>
struct ContainersOnly {
  State state;
  std::vector<Note> lost;  ///< what such a kubelet cannot express, and how it is kept
};

/// Removes the pod entries. Every container keeps its CPUs; CPUs of a pod that none of its
/// containers holds return to the shared pool.
[[nodiscard]] ContainersOnly<CpuCheckpoint> without_pod_entries(CpuCheckpoint state);

/// Removes the pod entries. Every container keeps the NUMA nodes of its memory. The sizes of a
/// pod's containers add up to at most the pod's size: memory that several containers share is
/// counted for one of them, and the others keep a block of 0 bytes. The machine state is adjusted.
[[nodiscard]] ContainersOnly<MemoryCheckpoint> without_pod_entries(MemoryCheckpoint state);

}  // namespace pinfold::checkpoint
