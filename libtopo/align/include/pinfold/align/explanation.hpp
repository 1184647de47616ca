#pragma once

#include <span>
#include <string>
#include <vector>

#include "pinfold/align/topology_manager.hpp"

namespace pinfold {

/// What one resource had to say in a merge.
struct OfferView {
  enum class Kind {
    kNoPreference,  ///< any nodes will do
    kImpossible,    ///< no nodes have it
    kUnfit,         ///< some nodes have it, but none that the policy would call aligned
    kFit,
  };

  std::string resource;  ///< empty for a provider that has nothing to say of the container
  Kind kind = Kind::kNoPreference;
  /// kFit: the sets of nodes that would be aligned: preferred ones, of one node only under
  /// single-numa-node. kUnfit: the narrowest possible ones. In the order of the hints.
  std::vector<NumaMask> masks;

  friend bool operator==(const OfferView&, const OfferView&) = default;
};

/// A way to an aligned answer: nodes, and the resources that would have to fit there, too.
struct AlignmentChange {
  NumaMask nodes;
  std::vector<std::string> resources;

  friend bool operator==(const AlignmentChange&, const AlignmentChange&) = default;
};

/// Why a merge came out as it did, as data; say() makes sentences of it.
struct MergeExplanation {
  std::vector<OfferView> offers;
  MergedHint result;
  /// What stands in the way of an aligned answer: those without fitting nodes if there are any,
  /// else some that have no set in common and of which none can be left out. Empty if aligned.
  std::vector<std::string> responsible;
  /// The fewest resources that would have to move, up to three ways; empty if aligned.
  std::vector<AlignmentChange> changes;

  friend bool operator==(const MergeExplanation&, const MergeExplanation&) = default;
};

/// Looks at a merge again; `result` is what manager.merge() said of the same providers.
[[nodiscard]] MergeExplanation explain_merge(const TopologyManager& manager,
                                             std::span<const ResourceHints> providers,
                                             const MergedHint& result);

/// One sentence per fact, the verdict last: "cpu offers NUMA 0 or 1, memory only 2: no single node
/// satisfies both".
[[nodiscard]] std::vector<std::string> say(const TopologyManager& manager,
                                           const MergeExplanation& explanation);

}  // namespace pinfold
