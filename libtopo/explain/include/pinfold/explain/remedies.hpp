#pragma once

#include <vector>

#include "pinfold/decide/node_state.hpp"
#include "pinfold/explain/remedy.hpp"

namespace pinfold {

/// Finds changes with which a rejected pod fits, the cheapest for an operator first: the smallest
/// changes of its requests, the fewest containers to move, a smaller request of a pod that runs,
/// the fewest pods to remove, the settings of the node. Moves that spread memory over more NUMA
/// nodes, or take huge pages elsewhere, come last. At most eight. Deterministic.
///
/// The moves are the fewest that a short search finds (kMoveSteps, and kDefragmentationSteps if one
/// move does not suffice); a search that ends early finds none, or more than necessary. Nothing
/// moves for a pod that already has resources on the node. Changes of several requests are named if
/// no single change suffices, if they are smaller, or second if they leave more of what the single
/// one takes away. The pods to remove have no higher priority than necessary; node-critical ones
/// are named only if the others do not suffice, static ones only if those do not either. They are a
/// smallest such set if at most two suffice, or three of at most 150 that hold something needed,
/// and if the search ends within its bound: it does unless very many sets look sufficient by their
/// amounts and are not. In a larger set no pod could stay. Among single pods with a missing device,
/// it prefers one that is admitted again afterwards. Settings are not tried on a node with
/// HintProviders.
[[nodiscard]] std::vector<Remedy> find_remedies(const Node& node, const NodeState& state,
                                                const PodSpec& pod);

}  // namespace pinfold
