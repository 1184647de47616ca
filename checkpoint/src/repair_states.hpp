#pragma once

#include "pinfold/checkpoint/repair.hpp"

/// The parts of repair(): each brings one state to what the manager's start accepts.
namespace pinfold::checkpoint {

struct Notes {
  std::vector<Note> done;
  std::vector<Note> lost;
};

void repair_state(const Node& node, CpuCheckpoint& state, Notes& notes);
void repair_state(const Node& node, MemoryCheckpoint& state, Notes& notes);

}  // namespace pinfold::checkpoint
