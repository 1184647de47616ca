#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/predict/observed_placement.hpp"

/// The annotations in which an exporter publishes where a pod's resources are, as KAI-Scheduler
/// reads them.
namespace pinfold::kube {

/// [{"zone": "node-0", "amount": {"cpu": "8", "example.com/gpu": "2"}}].
inline constexpr std::string_view kObservedAnnotation = "kai.scheduler/numa-placement-observed";
/// [{"memoryNodes": ["node-0", "node-1"], "amount": {"memory": "17179869184"}}].
inline constexpr std::string_view kMemoryGroupsAnnotation =
    "kai.scheduler/numa-memory-groups-observed";

/// Returns the value of kObservedAnnotation; parse_observed() reads it back.
/// Domain: ordered by zone, as in ObservedPlacement.
[[nodiscard]] std::string observed_text(const std::vector<ZoneAmount>& amounts);
/// Returns the value of kMemoryGroupsAnnotation, "[]" for no group.
[[nodiscard]] std::string memory_groups_text(const std::vector<MemoryGroup>& groups);

}  // namespace pinfold::kube
