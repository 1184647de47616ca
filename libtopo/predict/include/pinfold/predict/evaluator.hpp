#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "pinfold/align/topology_manager.hpp"
#include "pinfold/types/numa_mask.hpp"

namespace pinfold {

/// One NUMA-relevant resource that a pod or container wants, and what a node has of it by zone.
struct ZoneDemand {
  const std::int64_t* available = nullptr;
  const std::int64_t* allocatable = nullptr;
  const std::int64_t* reach = nullptr;  ///< see Fleet::reach
  std::int64_t amount = 0;              ///< above 0
  /// memory or huge pages: the memory manager makes one hint of all of them.
  bool is_memory = false;
};

/// Predicts what the kubelet's topology manager would say, from amounts by zone alone. Stateless.
class ZoneEvaluator {
 public:
  /// Memory that evaluations use again and again.
  using Scratch = std::vector<std::int64_t>;

  ZoneEvaluator() = default;
  ZoneEvaluator(const ZoneEvaluator&) = delete;
  ZoneEvaluator& operator=(const ZoneEvaluator&) = delete;
  virtual ~ZoneEvaluator() = default;

  /// The zones that all demands would come from, or none if the pod would be rejected.
  /// Domain: 1 <= zones <= 64; at least one demand.
  [[nodiscard]] virtual NumaMask evaluate(int zones, std::span<const ZoneDemand> demands,
                                          Scratch& scratch) const = 0;
};

/// The evaluator of a policy; nullptr for none, which aligns nothing. best-effort has that of
/// restricted: what it would align, though it does not reject.
[[nodiscard]] const ZoneEvaluator* evaluator_of(TopologyPolicy policy);

/// How many zones a preferred hint for one demand has: the fewest whose amounts together would hold
/// it if nobody used anything; 0 if all of them do not.
[[nodiscard]] int preferred_width(int zones, const ZoneDemand& demand);

/// Zones that hold the demand alone.
[[nodiscard]] NumaMask zones_that_fit(int zones, const ZoneDemand& demand);

}  // namespace pinfold
