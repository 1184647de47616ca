#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "cpu_hierarchy.hpp"
#include "pinfold/api/profile.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::cpu {

/// The rules for taking CPUs, from the policy options and quirks.
struct TakeRules {
  const CpuHierarchy* hierarchy = nullptr;
  bool across_numa = false;      ///< distribute-cpus-across-numa
  int numa_group_size = 1;       ///< CPUs that stay together when spread over NUMA nodes
  bool across_cores = false;     ///< distribute-cpus-across-cores
  bool by_uncore_cache = false;  ///< prefer-align-cpus-by-uncorecache
  bool align_by_socket = false;  ///< align-by-socket
  int affinity_nodes = 0;        ///< number of NUMA nodes in the affinity; 0: none
  Quirks quirks;
};

/// The steps in which CPUs were taken, for the trace: "whole socket 1 (CPUs 4-7)".
using Steps = std::vector<std::string>;

/// The CPUs that were taken, or the kubelet's error text.
using Taken = tl::expected<CpuSet, std::string>;

/// Collects CPUs for one request by moving them from the free ones to the result.
class Accumulator {
 public:
  /// Borrows the rules and `steps`, which may be nullptr.
  Accumulator(const TakeRules& rules, CpuSet available, int count, Steps* steps)
      : rules_(&rules), free_(std::move(available)), needed_(count), steps_(steps) {}

  [[nodiscard]] bool satisfied() const { return needed_ < 1; }
  [[nodiscard]] bool has_too_few_free() const { return needed_ > static_cast<int>(free_.size()); }
  [[nodiscard]] int needed() const { return needed_; }
  [[nodiscard]] const CpuSet& free() const { return free_; }
  [[nodiscard]] const CpuSet& result() const { return result_; }

  /// Moves `cpus` to the result.
  void take(const CpuSet& cpus);
  /// Takes whole free groups of the level, as long as they are not larger than what is still
  /// needed.
  void take_whole(Level level);
  /// prefer-align-cpus-by-uncorecache: takes whole last-level caches, then one that has all the
  /// rest.
  void take_by_cache();
  /// Takes single CPUs, group by group of the level.
  void take_singly(Level level);
  /// Takes single CPUs, socket by socket: one from each core, then another one from each, and so
  /// on.
  void take_across_cores();

 private:
  /// Takes the lowest free cores of one cache if they have exactly the number still needed.
  void take_part_of_cache(const Machine::Group& cache);
  void note(std::string_view what, const CpuSet& cpus) const;

  const TakeRules* rules_;
  CpuSet free_;
  CpuSet result_;
  int needed_;
  Steps* steps_;
};

/// Takes whole NUMA nodes and sockets, then with prefer-align-cpus-by-uncorecache caches, then
/// whole cores (not with distribute-cpus-across-cores), then single CPUs. Each step starts with the
/// group that has the fewest free CPUs.
[[nodiscard]] Taken take_packed(const TakeRules& rules, const CpuSet& available, int count,
                                Steps* steps);

/// "not enough cpus available to satisfy request: requested=4, available=3".
[[nodiscard]] std::string not_enough(int count, const CpuSet& available);

}  // namespace pinfold::cpu
