#pragma once

#include "pinfold/place/take_rules.hpp"

namespace pinfold::place {

/// Collects CPUs for one request by moving them from the free ones to the result.
class Taker {
 public:
  /// Borrows the rules, the arena and `steps`, which may be nullptr. `kept`: the first part of the
  /// result, near which the rest is taken; no words: none.
  Taker(const TakeRules& rules, CpusView available, int count, Arena& arena, TakeSteps* steps,
        CpusView kept = {})
      : rules_(&rules),
        arena_(&arena),
        free_(arena.copy(available)),
        result_(arena.make<Word>(available.size())),
        needed_(count),
        steps_(steps),
        keeps_(!kept.empty()) {
    if (keeps_) take(kept);
  }

  [[nodiscard]] bool satisfied() const { return needed_ < 1; }
  [[nodiscard]] int needed() const { return needed_; }
  [[nodiscard]] CpusView free() const { return free_; }
  [[nodiscard]] Cpus result() const { return result_; }

  /// Moves `cpus` to the result.
  void take(CpusView cpus);
  /// Takes whole free groups of the level, as long as they are not larger than what is still
  /// needed.
  void take_whole(Level level);
  /// prefer-align-cpus-by-uncorecache: takes whole last-level caches, then one that has all the
  /// rest.
  void take_by_cache();
  /// A resize: takes the rest of cores that it has in part, then other whole cores, then single
  /// CPUs; of each kind those that split the fewest caches, on NUMA nodes that it has first.
  void take_near_caches();
  /// Takes single CPUs, group by group of the level.
  void take_singly(Level level);
  /// Takes single CPUs, socket by socket: one from each core, then another one from each, and so
  /// on.
  void take_across_cores();

 private:
  void take(const CpuGroup& group);
  /// Takes the lowest free cores of one cache if they have exactly the number still needed.
  void take_part_of_cache(const CpuGroup& cache);
  void take_whole_cores();
  enum class Groups : std::uint8_t { kAll, kInPart };
  /// Takes the free rest of groups that would then be whole; with kInPart only of those that it has
  /// a part of.
  void take_rest_of_groups(Level level, Groups which = Groups::kAll);
  enum class Part : std::uint8_t { kWholeCores, kCpus };
  /// Returns how many CPUs each cache could give as such parts.
  [[nodiscard]] std::span<const std::int32_t> count_by_cache(Part part) const;
  /// Returns the cache from which to take such parts next; nullptr if none has any.
  [[nodiscard]] const CpuGroup* next_cache(Part part) const;
  /// Takes such parts of the cache, as many as are needed.
  void take_from_cache(const CpuGroup& cache, Part part);
  /// Takes the remaining free CPUs of the cache's cores that it already has a part of.
  void take_rest_of_cores(const CpuGroup& cache);
  /// Returns the groups of the level; if it keeps CPUs, those near the kept ones first.
  [[nodiscard]] std::span<const std::int32_t> sorted(Level level) const {
    return rules_->tree->sorted(level, free_, *arena_, keeps_ ? CpusView(result_) : CpusView());
  }
  void note(TakeStep::Kind kind, Level level, const CpuGroup& group) const;
  void note(TakeStep::Kind kind, Level level, std::int32_t id, CpusView cpus) const;

  const TakeRules* rules_;
  Arena* arena_;
  Cpus free_;
  Cpus result_;
  int needed_;
  TakeSteps* steps_;
  bool keeps_;  ///< a resize: the result began with CPUs
};

/// Takes whole NUMA nodes and sockets, then with prefer-align-cpus-by-uncorecache caches, then
/// whole cores (not with distribute-cpus-across-cores), then single CPUs. Each step starts with the
/// group that has the fewest free CPUs. With `kept`, which is part of the result, it starts with
/// groups that have some of these, and a group counts as whole if all its other CPUs are free.
/// Source: the code proposed for 1.38 (kubernetes#140629).
[[nodiscard]] Taken take_packed(const TakeRules& rules, CpusView available, int count, Arena& arena,
                                TakeSteps* steps, CpusView kept = {});

}  // namespace pinfold::place
