#pragma once

#include "pinfold/decide/counts.hpp"
#include "pinfold/decide/node_state.hpp"

namespace pinfold {

/// Counts one admission step by step. Called before and after each allocation, because the state
/// before shows whether the allocation is new.
class Tally {
 public:
  /// Counts nothing if `counts` is nullptr.
  Tally(const Node& node, const NodeState& state, const PodView& pod, Counts* counts);

  void requested() { add(Counter::kTopologyRequests); }
  /// Counts a missing affinity or a found one, for a container or (nullptr) the pod.
  void no_affinity(const Container* container);
  void aligned(const Container* container);
  /// Counts a rejected pod.
  void rejected();

  /// Announces the next allocation: for a container or (nullptr) the pod as a whole.
  void begin(const Container* container);
  void cpu_done(const Container* container, const Admission& result);
  void memory_done(const Container* container, const Admission& result);

 private:
  void add(Counter counter, std::uint64_t count = 1) {
    if (counts_ != nullptr) (*counts_)[counter] += count;
  }
  void cpu_of_container(const Container& container, const Admission& result);
  void cpu_of_pod(const Admission& result);
  void memory_of_pod();
  void note_uncore_cache(const CpuSet& cpus);
  [[nodiscard]] bool guarantees_numa() const;

  const Node& node_;
  const NodeState& state_;
  const PodView& pod_;
  Counts* counts_;
  bool is_managed_;  ///< the static policies serve the pod
  bool had_cpus_ = false;
  bool had_memory_ = false;
  CpuSet pod_had_;
};

}  // namespace pinfold
