#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "pinfold/decide.h"
#include "pinfold/place/cpu_policy.hpp"
#include "pinfold/place/memory_policy.hpp"
#include "pinfold/place/merge.hpp"
#include "pinfold/place/words.hpp"

/// The decision for programs that keep the state themselves: numbers in, numbers out. No pods, no
/// files, no text to parse, and no memory but the caller's.
namespace pinfold::place {

/// The owner of a CPU or of memory: a number that the caller chooses.
using Owner = std::uint32_t;
inline constexpr Owner kShared = PINFOLD_SHARED;      ///< no owner: the CPU is in the shared pool
inline constexpr Owner kReserved = PINFOLD_RESERVED;  ///< strict-cpu-reservation

/// The machine and the rules of decisions. Kinds of memory are numbered by the caller: regular
/// memory is kind 0, each size of huge pages a further one.
struct Rules {
  TopologyPolicy topology = TopologyPolicy::kNone;
  TopologyScope scope = TopologyScope::kContainer;
  CpuPolicyOptions cpu;
  bool prefer_most_allocated_numa_node = false;
  NumaAllocationStrategy strategy = NumaAllocationStrategy::kNone;  ///< every weight is 1
  Quirks quirks;
  /// prefer-closest-numa-nodes: row by row; else empty.
  std::span<const std::uint32_t> distances = {};
  /// Bytes that containers can get, by kind, then by NUMA position. Empty: memory is not placed.
  std::span<const std::uint64_t> memory = {};
};

/// Memory of one owner, from any of the NUMA nodes. Plain, so that C programs can keep it.
using Allocation = pinfold_allocation;

/// The state of a machine, in the caller's memory.
struct Ownership {
  std::span<Owner> owners;  ///< of each CPU, by position
  /// In the order in which they were made: the first `allocation_count` are in use.
  std::span<Allocation> allocations;
  std::size_t allocation_count = 0;
};

/// One container of a request. Only those of Guaranteed pods get exclusive CPUs and assigned
/// memory.
struct ContainerRequest {
  Owner owner = kShared;
  std::int64_t milli_cpu = 0;                 ///< whole CPUs become exclusive
  std::span<const std::uint64_t> bytes = {};  ///< by kind; missing kinds are 0
  std::span<const Hints> devices = {};        ///< by resource, in the kubelet's order
};
struct PlaceRequest {
  std::span<const ContainerRequest> containers;  ///< in start order; they run at the same time
  bool guaranteed = true;
  /// In scope pod: of all containers together; those of each container are then ignored.
  std::span<const Hints> devices = {};
};

/// What a container got. Its CPUs are those that it owns in the state.
struct ContainerPlacement {
  TopologyHint affinity;
  NumaMask memory_nodes;
};

/// Why a request is rejected: the kubelet's reason and message.
struct Refused {
  std::string_view reason;
};
using Decided = tl::expected<void, Refused>;

/// Decides for one machine by fixed rules. Immutable, so any number of threads may use it.
class Decider {
 public:
  /// Copies everything. Domain: `cpus` as for CpuTree, NUMA positions below `numa_count`, a matrix
  /// or no distances, a multiple of `numa_count` amounts of memory.
  Decider(std::span<const CpuPlace> cpus, int numa_count, const Rules& rules);

  /// Sets the CPUs that never become exclusive. Domain: CPUs of the machine.
  void reserve(CpusView cpus) { policy_.reserve(cpus); }
  /// Reserves as many CPUs as the kubelet does for a reservation by number. Returns false if the
  /// machine has fewer.
  [[nodiscard]] bool reserve(int count);

  [[nodiscard]] const CpuTree& tree() const { return tree_; }
  [[nodiscard]] CpusView reserved() const { return policy_.reserved(); }
  [[nodiscard]] bool is_strict() const { return policy_.options().strict_cpu_reservation; }
  [[nodiscard]] std::size_t kinds() const { return kinds_; }

  /// Decides a request and changes the state if it is admitted; with the quirk
  /// rejected_pod_keeps_resources even if it is not. `placements` has an element for each
  /// container. Writes the kubelet's message to `message`. Domain: a state of this machine that has
  /// room for an allocation of each kind and container; owners that are new to it, none of them
  /// kShared or kReserved.
  [[nodiscard]] Decided decide(Ownership& state, const PlaceRequest& request,
                               std::span<ContainerPlacement> placements, Arena& arena,
                               Text& message) const;
  /// Returns the most bytes that decide() takes from its arena. `devices`: the largest
  /// number of resources with hints of any container or of the pod; `listed`: the number of hints
  /// in total.
  [[nodiscard]] std::size_t bytes(std::size_t devices, std::size_t listed) const {
    return bytes_ + devices * bytes_of_device_ + listed * sizeof(int);
  }

 private:
  struct Work;

  void note_shared(Work& work) const;
  /// Which NUMA nodes can provide the memory of a container or a pod.
  [[nodiscard]] MemoryRule memory_rule(const Work& work,
                                       std::span<const std::uint64_t> bytes) const;
  [[nodiscard]] TopologyHint merge(const Work& work, int cpus, const MemoryRule& memory,
                                   std::span<const Hints> devices) const;
  [[nodiscard]] TopologyHint merge_pod(const Work& work, const PlaceRequest& request) const;
  [[nodiscard]] Scores scores(const Work& work) const;
  /// Returns the CPUs that are assigned.
  [[nodiscard]] Cpus assigned_cpus(const Work& work) const;
  /// Returns how much of a kind of memory, or of the CPUs, is assigned; empty without a strategy.
  [[nodiscard]] std::span<const NumaUsage> usage_of_cpus(const Work& work) const;
  [[nodiscard]] std::span<const NumaUsage> usage_of_memory(const Work& work,
                                                           std::size_t kind) const;
  [[nodiscard]] Decided allocate_cpus(Work& work, const ContainerRequest& container,
                                      const TopologyHint& affinity) const;
  [[nodiscard]] Decided allocate_memory(Work& work, const ContainerRequest& container,
                                        const MemoryRule& memory,
                                        ContainerPlacement& placement) const;
  [[nodiscard]] Decided run(Work& work, const PlaceRequest& request,
                            std::span<ContainerPlacement> placements) const;

  CpuTree tree_;
  CpuPolicy policy_;
  TopologyPolicy topology_;
  TopologyScope scope_;
  bool prefers_most_allocated_;
  NumaAllocationStrategy strategy_;
  Quirks quirks_;
  std::vector<std::uint32_t> distances_;
  std::vector<std::uint64_t> memory_;
  std::size_t kinds_;
  std::vector<std::int32_t> cpus_;     ///< ids by position
  std::vector<std::size_t> position_;  ///< by id
  bool has_positions_as_ids_ = true;   ///< CPU i is at position i
  std::size_t bytes_ = 0;
  std::size_t bytes_of_device_ = 0;
};

}  // namespace pinfold::place
