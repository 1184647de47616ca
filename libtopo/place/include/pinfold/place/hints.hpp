#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/types/hint.hpp"
#include "pinfold/types/numa_mask.hpp"

namespace pinfold::place {

/// Whether a set of NUMA nodes can provide a resource.
enum class Fit : std::uint8_t { kNo, kYes, kPreferred };

/// The hints of one resource as a rule, so that a merge makes only the hints that it needs.
class HintRule {
 public:
  HintRule() = default;
  HintRule(const HintRule&) = default;
  HintRule& operator=(const HintRule&) = default;
  virtual ~HintRule() = default;

  /// Returns how a mask fits. Domain: a mask of for_each_hint_mask, of narrowest() to widest()
  /// nodes.
  [[nodiscard]] virtual Fit fit(NumaMask mask) const = 0;
  /// Returns whether a mask of this many nodes can be preferred.
  [[nodiscard]] virtual bool may_prefer(int width) const = 0;
  /// Return the limits: no narrower and no wider mask fits.
  [[nodiscard]] int narrowest() const { return narrowest_; }
  [[nodiscard]] int widest() const { return widest_; }

 protected:
  void set_widths(int narrowest, int widest) {
    narrowest_ = narrowest;
    widest_ = widest;
  }

 private:
  int narrowest_ = 1;
  int widest_ = 0;
};

/// Returns whether any mask fits. `nodes` is the number of NUMA nodes of the machine.
[[nodiscard]] bool fits_anywhere(const HintRule& rule, int nodes);

/// Returns the number of NUMA nodes of the widest hint that a manager lists: single-numa-node
/// rejects hints wider than 1. On up to 16 NUMA nodes they are listed anyway, as by the kubelet.
[[nodiscard]] constexpr int widest_listed(std::string_view topology_policy, int nodes) {
  const bool is_single = topology_policy == to_string(TopologyPolicy::kSingleNumaNode);
  return is_single && nodes > kMaxNodesForEveryMask ? 1 : NumaMask::kMaxNodes;
}

/// Returns the masks of at most `widest` nodes that fit, as the kubelet lists them: by width, then
/// lexicographically.
[[nodiscard]] std::vector<TopologyHint> list_hints(const HintRule& rule, int nodes,
                                                   int widest = NumaMask::kMaxNodes);

/// The hints of one resource: a rule, a list of hints in the kubelet's order, any NUMA nodes (no
/// preference), or none that could provide it.
struct Hints {
  enum class Kind : std::uint8_t { kAnywhere, kNowhere, kRule, kList };

  Kind kind = Kind::kAnywhere;
  const HintRule* rule = nullptr;
  std::span<const TopologyHint> list = {};
  /// How much of the resource is assigned; empty: it has no score.
  std::span<const NumaUsage> usage = {};
  int weight = 1;  ///< of its score

  [[nodiscard]] static Hints of(const HintRule& rule) {
    return {.kind = Kind::kRule, .rule = &rule};
  }
  [[nodiscard]] static Hints of(std::span<const TopologyHint> list) {
    return {.kind = list.empty() ? Kind::kNowhere : Kind::kList, .list = list};
  }
};

}  // namespace pinfold::place
