#pragma once

#include <vector>

#include "pinfold/decide/node_state.hpp"
#include "pinfold/explain/remedy.hpp"

namespace pinfold {

/// Finds changes with which a rejected pod fits, at most eight, the cheapest for an operator first:
/// the smallest changes of its requests, the fewest containers to move, a smaller request of a
/// running pod, the fewest pods to remove, the settings of the node. Moves that spread memory over
/// more NUMA nodes, or take huge pages elsewhere, come last. Deterministic.
///
/// - Changes of several requests are named if no single change suffices, or if they are smaller; or
///   in second place, if they leave more of the request that the single change reduces.
/// - Moves: the fewest that a short search finds (kMoveSteps, and kDefragmentationSteps if one move
///   does not suffice). A search that ends early finds none, or more than necessary. Nothing moves
///   for a pod that already has resources on the node.
/// - Pods to remove have no higher priority than necessary. Node-critical ones are named only if
///   the others do not suffice, static ones only if those do not either. It is a smallest such set
///   if at most two suffice, or three of at most 150 that hold something needed, and if the search
///   ends within its bound (it does, unless very many sets seem to suffice by amount but do not).
///   In a larger set no pod could stay. Among single pods with a missing device, one that is
///   admitted again afterwards is preferred.
/// - Settings are not tried on a node with HintProviders.
[[nodiscard]] std::vector<Remedy> find_remedies(const Node& node, const NodeState& state,
                                                const PodSpec& pod);

}  // namespace pinfold
