#pragma once

#include "pinfold/checkpoint/repair.hpp"

/// The parts of repair(): each changes one state so that the start of its manager accepts it.
namespace pinfold::checkpoint {

struct Notes {
  std::vector<Note> done;
  std::vector<Note> lost;
};

void repair_state(const Node& node, CpuCheckpoint& state, Notes& notes);
void repair_state(const Node& node, MemoryCheckpoint& state, Notes& notes);

}  // namespace pinfold::checkpoint
