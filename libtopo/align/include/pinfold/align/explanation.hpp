#pragma once

#include <span>
#include <string>
#include <vector>

#include "pinfold/align/topology_manager.hpp"

namespace pinfold {

/// What the hints of one resource allow.
struct HintSummary {
  enum class Kind {
    kNoPreference,  ///< any NUMA node is possible
    kImpossible,    ///< no NUMA nodes have it
    kUnfit,         ///< some nodes have it, but none that the policy would call aligned
    kFit,
  };

  std::string resource;
  Kind kind = Kind::kNoPreference;
  /// kFit: the masks that would be aligned: preferred ones, under single-numa-node only those of
  /// one node. kUnfit: the narrowest possible masks. In the order of the hints.
  std::vector<NumaMask> masks;
  std::string cause = {};  ///< kImpossible: why, if it is not that NUMA nodes have too little

  friend bool operator==(const HintSummary&, const HintSummary&) = default;
};

/// A way to an aligned result: the NUMA nodes, and the resources that would have to fit there too.
struct AlignmentChange {
  NumaMask nodes;
  std::vector<std::string> resources;

  friend bool operator==(const AlignmentChange&, const AlignmentChange&) = default;
};

/// Why a merge had its result, as data; sentences() puts it into words.
struct MergeExplanation {
  std::vector<HintSummary> hints;  ///< of every resource that a provider names
  MergedHint result;
  /// The resources that prevent alignment: those that fit nowhere if there are any, else a smallest
  /// group whose masks have none in common. Empty if aligned.
  std::vector<std::string> responsible;
  /// The changes that need the fewest resources to move, at most three; empty if aligned.
  std::vector<AlignmentChange> changes;

  friend bool operator==(const MergeExplanation&, const MergeExplanation&) = default;
};

/// Explains a merge. Domain: `result` is what manager.merge() returned for the same providers.
[[nodiscard]] MergeExplanation explain_merge(const TopologyManager& manager,
                                             std::span<const ResourceHints> providers,
                                             const MergedHint& result,
                                             const HintCauses& causes = {});

/// One sentence per fact: "cpu fits on NUMA 0 or 1", "not aligned: cpu fits on NUMA 0 or 1, memory
/// only on 2: no single NUMA node satisfies both".
[[nodiscard]] std::vector<std::string> sentences(const TopologyManager& manager,
                                                 const MergeExplanation& explanation);

}  // namespace pinfold
