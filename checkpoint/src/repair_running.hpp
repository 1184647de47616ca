#pragma once

#include <string>
#include <vector>

#include "pinfold/decide/node.hpp"
#include "repair_states.hpp"

/// Reads lost assignments back from the control groups of running containers.
namespace pinfold::checkpoint {

/// Why the control group of a container does not show its lost assignment.
struct Doubt {
  ContainerId id;
  std::string text;
};

/// Adds the assignments that the sets of running containers show beyond doubt, with a note each.
/// Returns the others that may have been lost. `memory` and `cpu` are the contents of the other
/// state file.
///
/// CPUs are certain if a container of a Guaranteed pod (known from the files or the kubelet's
/// directories) has as many as it requests, and none of them belongs to another container, to the
/// readable part of the file or to the system. NUMA nodes are certain if the container is bound to
/// a part of the machine, or there is only one, and its request is known or is exactly what the
/// counters of its NUMA nodes miss. If no shared pool could be read, it is the set that all sharing
/// containers have.
[[nodiscard]] std::vector<Doubt> restore_running(const Node& node, const Damage& damage,
                                                 const MemoryCheckpoint& memory, CpuCheckpoint& cpu,
                                                 Notes& notes);
[[nodiscard]] std::vector<Doubt> restore_running(const Node& node, const Damage& damage,
                                                 const CpuCheckpoint& cpu, MemoryCheckpoint& memory,
                                                 Notes& notes);

/// Returns true if a container runs with CPUs that only a state file can have given it.
[[nodiscard]] bool runs_exclusively(const Node& node, const OtherFiles& others);

}  // namespace pinfold::checkpoint
