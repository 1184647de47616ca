#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "pinfold/align/topology_manager.hpp"

namespace pinfold {

/// Summary of the hints of one resource.
struct HintSummary {
  enum class Kind {
    kNoPreference,  ///< any NUMA node will do
    kImpossible,    ///< no set of NUMA nodes can provide it
    kUnfit,         ///< some NUMA nodes can, but no set that the policy calls aligned
    kFit,
  };

  std::string resource;
  Kind kind = Kind::kNoPreference;
  /// kFit: the aligned masks, that is the preferred ones and, under single-numa-node, only single
  /// nodes. kUnfit: the narrowest possible masks. In the order of the hints.
  std::vector<NumaMask> masks;
  std::string cause = {};  ///< kImpossible: the reason, unless NUMA nodes have too little

  friend bool operator==(const HintSummary&, const HintSummary&) = default;
};

/// A way to align the pod: the NUMA nodes, and the resources that would have to fit there as well.
struct AlignmentChange {
  NumaMask nodes;
  std::vector<std::string> resources;

  friend bool operator==(const AlignmentChange&, const AlignmentChange&) = default;
};

/// NUMA nodes, and how much of them is assigned by numa-score-weights, in per cent; 0: unknown.
struct ScoredNodes {
  NumaMask nodes;
  std::uint64_t score = 0;

  friend bool operator==(const ScoredNodes&, const ScoredNodes&) = default;
};

/// Explains the result of a merge as data; sentences() puts it into words.
struct MergeExplanation {
  std::vector<HintSummary> hints;  ///< one per resource that a provider names
  MergedHint result;
  /// The resources that prevent alignment: those that fit nowhere if there are any, else a minimal
  /// group that has no mask in common. Empty if aligned.
  std::vector<std::string> responsible;
  /// The changes that need the fewest resources to move, at most three. Empty if aligned.
  std::vector<AlignmentChange> changes;
  /// The candidates of numa-allocation-strategy: the result, then the others. Empty if it had no
  /// choice.
  std::vector<ScoredNodes> scores = {};

  friend bool operator==(const MergeExplanation&, const MergeExplanation&) = default;
};

/// Maps a resource name to the reason why it has no hints. Only for reasons other than too little
/// capacity on every set of NUMA nodes.
using HintCauses = std::map<std::string, std::string>;

/// Explains a merge. Domain: `result` is what manager.merge() returned for the same providers and
/// usage.
[[nodiscard]] MergeExplanation explain_merge(const TopologyManager& manager,
                                             std::span<const ResourceHints> providers,
                                             const MergedHint& result,
                                             const HintCauses& causes = {},
                                             const UsageByResource& usage = {});

/// Returns one sentence per fact: "cpu fits on NUMA 0 or 1", "not aligned: cpu fits on NUMA 0 or 1,
/// memory only on 2: no single NUMA node satisfies both".
[[nodiscard]] std::vector<std::string> sentences(const TopologyManager& manager,
                                                 const MergeExplanation& explanation);

}  // namespace pinfold
