#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "pinfold/api/topology_policy.hpp"
#include "pinfold/types/numa_mask.hpp"

namespace pinfold {

/// A resource to be aligned for a pod or container, with a node's amounts of it by zone.
struct ZoneDemand {
  const std::int64_t* available = nullptr;
  const std::int64_t* allocatable = nullptr;
  const std::int64_t* reach = nullptr;  ///< see Fleet::reach
  std::int64_t amount = 0;              ///< more than 0
  /// Memory or huge pages, which all get the same hints from the memory manager.
  bool is_memory = false;
};

/// Predicts the decisions of the kubelet's topology manager from amounts by zone alone. Stateless.
class ZoneEvaluator {
 public:
  /// Memory that evaluations share.
  using Scratch = std::vector<std::int64_t>;

  ZoneEvaluator() = default;
  ZoneEvaluator(const ZoneEvaluator&) = delete;
  ZoneEvaluator& operator=(const ZoneEvaluator&) = delete;
  virtual ~ZoneEvaluator() = default;

  /// Returns the zones that would serve all demands, including all of `required`; empty if they
  /// cannot be aligned. Domain: 1 <= zones <= 64; at least one demand.
  [[nodiscard]] virtual NumaMask evaluate(int zones, std::span<const ZoneDemand> demands,
                                          NumaMask required, Scratch& scratch) const = 0;
};

/// Returns the evaluator of a policy; nullptr for `none`, which aligns nothing. `best-effort` uses
/// the one of `restricted`: both align the same pods.
[[nodiscard]] const ZoneEvaluator* evaluator_of(TopologyPolicy policy);

/// Returns the number of zones in a preferred hint for one demand: the fewest that could hold it if
/// nothing were in use; 0 if all zones together could not.
[[nodiscard]] int preferred_width(int zones, const ZoneDemand& demand);

/// Returns the zones that can hold the demand alone.
[[nodiscard]] NumaMask zones_that_fit(int zones, const ZoneDemand& demand);

}  // namespace pinfold
