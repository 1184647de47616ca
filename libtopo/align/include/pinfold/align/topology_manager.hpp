#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/config.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/ids.hpp"
#include "pinfold/types/trace.hpp"

namespace pinfold {

enum class TopologyPolicy { kNone, kBestEffort, kRestricted, kSingleNumaNode };
enum class TopologyScope { kContainer, kPod };

struct TopologyOptions {
  bool prefer_closest_numa_nodes = false;
  bool prefer_most_allocated_numa_node = false;  ///< draft KEP; only with single-numa-node
  int max_allowable_numa_nodes = 8;

  friend bool operator==(const TopologyOptions&, const TopologyOptions&) = default;
};

/// How much of each NUMA position is taken, in per cent; empty: that manager has no say.
struct AllocationScores {
  std::vector<int> cpu;
  std::vector<int> memory;
};

struct MergedHint {
  TopologyHint best;
  bool admit = false;

  friend bool operator==(const MergedHint&, const MergedHint&) = default;
};

/// The topology manager's policy: merges what the providers offer into one affinity. Immutable.
class TopologyManager {
 public:
  /// What it has to know of the machine: number of NUMA nodes and their distances by position.
  struct Numa {
    int count = 0;
    std::vector<std::vector<std::uint32_t>> distances = {};  ///< empty where unknown
    /// OS ids by position, for what people read; empty: the positions are the ids.
    std::vector<NumaId> ids = {};
  };

  /// Errors: kInvalidArgument with the kubelet's text for stage `topologymanager`.
  [[nodiscard]] static Result<TopologyManager> make(Numa numa, const Config& config);

  [[nodiscard]] TopologyPolicy policy() const { return policy_; }
  [[nodiscard]] TopologyScope scope() const { return scope_; }
  [[nodiscard]] const TopologyOptions& options() const { return options_; }

  /// The OS id of a NUMA node. Domain: a position of the machine.
  [[nodiscard]] NumaId numa_id(int position) const;

  /// The kubelet's Merge: `providers` in the kubelet's order (devices, cpu, memory). `scores` is
  /// asked for only with prefer-most-allocated-numa-node. The trace gets what explanation.hpp has
  /// to say, about `object` ("pod" or the container's name).
  /// Cost: docs/topology-merge.md.
  /// Source: kubelet 1.36 cm/topologymanager/policy.go; seeds/000 for the draft option.
  [[nodiscard]] MergedHint merge(std::span<const ResourceHints> providers,
                                 const AllocationScores& scores, Trace* trace,
                                 std::string_view object = "pod") const;

 private:
  TopologyManager() = default;
  [[nodiscard]] MergedHint merge_quietly(std::span<const ResourceHints> providers,
                                         const AllocationScores& scores) const;

  Numa numa_;
  TopologyPolicy policy_ = TopologyPolicy::kNone;
  TopologyScope scope_ = TopologyScope::kContainer;
  TopologyOptions options_;
};

}  // namespace pinfold
