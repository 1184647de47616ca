#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/simulate/schedule_rule.hpp"

/// Simulates a scheduler in front of many nodes whose kubelets decide for real. docs/simulate.md
/// describes the model.
namespace pinfold::simulate {

/// How the scheduler chooses among nodes that fit by their sums.
enum class SchedulerScore {
  kPack,    ///< the node with the least left, as for machines that are expensive
  kSpread,  ///< the node with the most left
};

struct ClusterPlan {
  std::size_t nodes = 5'000;
  std::size_t pods = 10'000;
  std::uint64_t seed = 1;
  std::chrono::milliseconds delay{0};  ///< from when a change is seen until the NRT object shows it
  SchedulerScore score = SchedulerScore::kPack;

  friend bool operator==(const ClusterPlan&, const ClusterPlan&) = default;
};
/// Parses "nodes=100,pods=500,seed=7,delay=10,score=spread"; "" is the default. `delay` is in
/// seconds. Errors: kInvalidArgument with the value and what was expected.
[[nodiscard]] Result<ClusterPlan> parse_cluster_plan(std::string_view text);

struct ClusterResult {
  static constexpr std::size_t kParts = 30;
  ScheduleRule rule = ScheduleRule::kSums;
  std::size_t placed = 0;   ///< pods that a kubelet has admitted
  std::size_t bounced = 0;  ///< pods that a kubelet has rejected; each is created again
  /// Bounces by time: equal parts from the first arrival to the last; the last part has those of
  /// later attempts too.
  std::array<std::size_t, kParts> bounced_by_time{};
  std::size_t waited = 0;    ///< times that no node passed
  std::size_t unplaced = 0;  ///< pods that were not admitted in the end
  std::size_t peak = 0;      ///< most pods at one time
  /// Time that the rule took to filter the nodes of each pod, ascending. Depends on the machine;
  /// everything else is the same on every machine.
  std::vector<std::chrono::nanoseconds> filter_times;
  std::size_t fleet_bytes = 0;
};

/// Runs the plan with one rule. All rules see the same pods arrive at the same times. `progress` is
/// called after each arrival and returns false to stop.
[[nodiscard]] ClusterResult simulate_cluster(const ClusterPlan& plan, ScheduleRule rule,
                                             const std::function<bool(std::size_t)>& progress = {});

/// Returns the time that `percent` of the filter calls did not exceed; 0 without any.
[[nodiscard]] std::chrono::nanoseconds percentile(const ClusterResult& result, int percent);

}  // namespace pinfold::simulate
