#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "hierarchy.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/types/cpuset.hpp"

namespace pinfold::cpu {

/// How CPUs are taken: all that the policy options change about it.
struct TakeRules {
  const Hierarchy* hierarchy = nullptr;
  Profile profile = Profile::kFixed;
  bool across_numa = false;      ///< spread over NUMA nodes instead of packing
  int numa_group_size = 1;       ///< CPUs that must stay together when spread over NUMA nodes
  bool across_cores = false;     ///< one CPU of each core first: never take whole cores
  bool by_uncore_cache = false;  ///< prefer to stay within one last-level cache
};

/// What was done, phrase by phrase ("whole socket 1 (CPUs 4-7)"), if anybody wants to know.
using Phrases = std::vector<std::string>;

/// The CPUs taken, or the kubelet's error text.
using Taken = tl::expected<CpuSet, std::string>;

/// CPUs on their way from the free ones into the result.
class Accumulator {
 public:
  /// Borrows the rules and `phrases`, which may be null.
  Accumulator(const TakeRules& rules, CpuSet available, int count, Phrases* phrases)
      : rules_(&rules), free_(std::move(available)), needed_(count), phrases_(phrases) {}

  [[nodiscard]] bool satisfied() const { return needed_ < 1; }
  [[nodiscard]] bool hopeless() const { return needed_ > static_cast<int>(free_.size()); }
  [[nodiscard]] int needed() const { return needed_; }
  [[nodiscard]] const CpuSet& free() const { return free_; }
  [[nodiscard]] const CpuSet& result() const { return result_; }

  /// Moves `cpus` to the result.
  void take(const CpuSet& cpus);
  /// Takes every wholly free group of the level that is not larger than what is still needed.
  void take_whole(Level level);
  /// Takes from as few last-level caches as possible: whole ones, then one that has it all.
  void take_by_cache();
  /// Takes single CPUs, group by group of the level.
  void take_singly(Level level);

 private:
  /// Takes the lowest free cores of one cache if they hold exactly what is still needed.
  void take_part_of_cache(const Machine::Group& cache);
  void note(std::string_view what, const CpuSet& cpus) const;

  const TakeRules* rules_;
  CpuSet free_;
  CpuSet result_;
  int needed_;
  Phrases* phrases_;
};

/// Packs: whole NUMA nodes and sockets, then (option) caches, then cores, then single CPUs, each
/// from the least free group that has them.
[[nodiscard]] Taken take_packed(const TakeRules& rules, const CpuSet& available, int count,
                                Phrases* phrases);

/// Spreads evenly over the smallest number of NUMA nodes that allows it; packs if none does.
[[nodiscard]] Taken take_across_numa(const TakeRules& rules, const CpuSet& available, int count,
                                     Phrases* phrases);

/// Takes `count` CPUs out of `available` as the rules say.
/// Domain:  `available` holds CPUs of the machine; count <= 0 gives the empty set.
[[nodiscard]] Taken take(const TakeRules& rules, const CpuSet& available, int count,
                         Phrases* phrases);

/// "not enough cpus available to satisfy request: requested=4, available=3".
[[nodiscard]] std::string not_enough(int count, const CpuSet& available);

}  // namespace pinfold::cpu
