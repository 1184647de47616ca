#pragma once

#include <vector>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/note.hpp"
#include "pinfold/checkpoint/other_files.hpp"
#include "pinfold/checkpoint/running_container.hpp"
#include "pinfold/decide/node.hpp"

/// The parts of repair(): each changes one state until its manager would start from it.
namespace pinfold::checkpoint {

struct Notes {
  std::vector<Note> done;
  std::vector<Note> lost;
  std::vector<ReadBack> read_back;
};

/// The damage of a file, and what the other files say about the lost part.
struct Damage {
  bool is_replaced = false;  ///< with a copy, which can be older
  const OtherFiles& others;
};
/// Restores the assignments that cannot be read if the other files leave one possibility; otherwise
/// notes that they are lost. `memory` and `cpu` are the contents of the other state file.
void restore_missing(const Node& node, const Damage& damage, const MemoryCheckpoint& memory,
                     CpuCheckpoint& cpu, Notes& notes);
void restore_missing(const Node& node, const Damage& damage, const CpuCheckpoint& cpu,
                     MemoryCheckpoint& memory, Notes& notes);

/// Returns the CPUs that the kubelet expects in the shared pool or in an assignment but that are in
/// neither.
[[nodiscard]] CpuSet in_no_set(const Node& node, const CpuCheckpoint& state);

void repair_state(const Node& node, CpuCheckpoint& state, Notes& notes);
void repair_state(const Node& node, MemoryCheckpoint& state, Notes& notes);

}  // namespace pinfold::checkpoint
