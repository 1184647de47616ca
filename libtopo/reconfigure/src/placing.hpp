#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "candidates.hpp"
#include "judge.hpp"
#include "problem.hpp"

/// What the units of one pod can get, and what the pod has then.
namespace pinfold::planning {

/// A pod whose units get their spots one after the other.
struct Placing {
  std::size_t index = 0;  ///< position of the pod in the search
  const PodCase* pod = nullptr;
  Board before;
  PlanCost cost;  ///< cost of the pods before it
  CpuSet taken;   ///< CPUs of the units so far
  std::vector<Spot> spots;
  bool all_kept = true;
};

/// Returns the CPUs that the next unit may have.
[[nodiscard]] CpuSet available_cpus(const Placing& placing, const Unit& unit);
/// Returns the choice of CPUs of the next unit. `owners` are the units of later pods that had each
/// CPU, by CPU id; -1 for none.
[[nodiscard]] CpuChoice cpu_choice(const Machine& machine, const Placing& placing, const Unit& unit,
                                   std::vector<int> owners);
/// Returns the spot that the managers would choose, if possible without CPUs that others had.
[[nodiscard]] std::optional<Spot> natural_spot(Judge& judge, const Placing& placing,
                                               const Unit& unit, const CpuChoice& choice);

/// Returns the NUMA nodes to try for a unit's memory: those that it has, those of its CPUs, single
/// ones, all of them.
[[nodiscard]] std::vector<NumaMask> likely_memory(const Machine& machine, const Unit& unit,
                                                  const CpuSet& cpus);
/// Adds every other set of NUMA nodes. Returns false, and adds none, if the machine has too many.
[[nodiscard]] bool add_every_mask(const Machine& machine, std::vector<NumaMask>& masks);
/// Returns whether NUMA nodes have enough free memory for a unit, as far as this is known without
/// the memory manager: with init containers, less may suffice.
[[nodiscard]] bool has_memory(const Machine& machine, const Placing& placing, const Unit& unit,
                              NumaMask mask);

/// Lets the memory manager allocate on exactly the NUMA nodes of the spots. Returns false if it
/// cannot, because too little is free there or other memory has made groups of NUMA nodes.
[[nodiscard]] bool allocate_memory(const Node& node, const PodCase& pod,
                                   const std::vector<Spot>& spots, Board& board);
/// Returns what a pod with these spots has; the memory is that of the board.
[[nodiscard]] PodChoice choice_of(Judge& judge, const PodCase& pod, const std::vector<Spot>& spots,
                                  const Board& board);

}  // namespace pinfold::planning
