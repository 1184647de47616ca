#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pinfold/reconfigure/reconfigure.hpp"
#include "pinfold/types/numa_mask.hpp"

/// What the planner decides about: the pods of a node, and what each of them needs.
namespace pinfold::planning {

[[nodiscard]] inline PlanCost operator+(const PlanCost& a, const PlanCost& b) {
  return {a.pods_evicted + b.pods_evicted, a.pods_against_rules + b.pods_against_rules,
          a.containers_moved + b.containers_moved, a.cpus_moved + b.cpus_moved,
          a.bytes_moved + b.bytes_moved};
}

/// Bytes by resource name.
using Amounts = std::map<std::string, std::uint64_t>;

/// The resources of a container, or of a pod as a whole.
struct Part {
  std::optional<CpuSet> cpus;
  std::vector<MemoryBlock> memory;

  friend bool operator==(const Part&, const Part&) = default;
};

/// CPUs and NUMA nodes for a unit.
struct Spot {
  CpuSet cpus;
  NumaMask memory;  ///< empty: no memory

  friend bool operator==(const Spot&, const Spot&) = default;
};

/// A container, or a pod that is managed as a whole: it gets CPUs and memory in one allocation.
struct Unit {
  const Container* container = nullptr;  ///< nullptr: the pod as a whole
  std::size_t cpus = 0;                  ///< exclusive CPUs under the new rules
  Amounts memory;                        ///< bytes under the new rules
  bool has_ended = false;                ///< an init container that has ended and gets no memory
                                         ///< any more
  CpuSet had_cpus;
  /// The spot that it has, if that is possible on the new node.
  std::optional<Spot> had;
  bool keep_allowed = false;  ///< the new rules allow `had`

  [[nodiscard]] bool is_init() const {
    return container != nullptr && container->kind == ContainerKind::kInit;
  }
};

/// A pod to plan for.
struct PodCase {
  const ActivePod* pod = nullptr;
  /// What each container had, by name; only containers that had something.
  std::map<std::string, Part> before;
  Part whole_before;  ///< for a pod with pod-level resources
  /// The units that get something under the new rules, init containers last.
  std::vector<Unit> units;
  /// Memory that the containers need at one time, including finished init containers.
  Amounts memory_at_once;
  /// For a pod that is managed as a whole: what its containers get on an empty node, and whether
  /// each of them had as many CPUs.
  std::map<std::string, Part> divided;
  bool is_divided_as_before = false;
  bool is_whole = false;  ///< managed as a whole: one unit
  bool is_joint = false;  ///< scope pod: the rules are about all units together
  /// All units may keep what they have.
  bool keep_allowed = false;
  /// The rejection by an otherwise empty node.
  std::optional<Rejection> rejection;

  [[nodiscard]] const PodSpec& spec() const { return pod->spec; }
};

/// Returns whether a standard init container has ended, because a later container was started.
[[nodiscard]] bool has_ended(const ActivePod& pod, const Container& container);

/// Returns the NUMA nodes of blocks, if all blocks have the same ones and the machine has them.
[[nodiscard]] std::optional<NumaMask> nodes_of(const Machine& machine,
                                               const std::vector<MemoryBlock>& blocks);

/// Returns the free bytes on the NUMA nodes of a block; 0 if one of them does not exist.
[[nodiscard]] std::uint64_t free_bytes(const MemoryState& memory, const MemoryBlock& block);
/// Returns whether the NUMA nodes can form a group, because no other memory is in another group
/// with any of them.
[[nodiscard]] bool can_be_group(const MemoryState& memory, const std::vector<std::int32_t>& ids);

enum class Outcome {
  kPlaced,    ///< every unit has a spot
  kVerbatim,  ///< everything stays unchanged, even against the rules
  kEvicted,
};

/// The decision about one pod.
struct PodChoice {
  Outcome outcome = Outcome::kPlaced;
  /// What each container has afterwards, by name, and what the pod as a whole has.
  std::map<std::string, Part> after;
  Part whole_after;
};

/// Returns what a container or pod has in a state.
[[nodiscard]] Part part_in(const NodeState& state, const ContainerId& id);
[[nodiscard]] Part whole_part_in(const NodeState& state, const PodUid& uid);
/// Returns a part for each container that has something, by name.
[[nodiscard]] std::map<std::string, Part> parts_in(const NodeState& state, const PodUid& uid);
/// Returns what a container had; nothing if it is not listed.
[[nodiscard]] Part part_of(const std::map<std::string, Part>& parts, const std::string& name);

/// Returns the number of CPUs of `after` that are not in `before`; 0 if either has no CPUs.
[[nodiscard]] std::size_t moved_cpus(const Part& before, const Part& after);
/// Returns the bytes of blocks that lose a NUMA node.
[[nodiscard]] std::uint64_t moved_bytes(const Part& before, const Part& after);
/// Returns whether CPUs or NUMA nodes are replaced.
[[nodiscard]] bool is_moved(const Part& before, const Part& after);
/// Returns the cost of the moves of a pod's containers.
[[nodiscard]] PlanCost cost_of_moves(const PodCase& pod, const std::map<std::string, Part>& after);

/// What is left of a node: free CPUs, and memory with the assignments so far.
struct Board {
  CpuSet free;
  MemoryState memory;
  std::set<std::int32_t> new_memory;  ///< NUMA nodes (OS ids) on which the plan has placed memory
};

/// The input of a search.
struct SearchProblem {
  const Node* node = nullptr;
  const NodeState* state = nullptr;     ///< without stale assignments
  std::vector<PodCase> pods;            ///< in the order of their admission
  std::set<PodUid> held_evicted;        ///< held pods that cannot keep what they have
  std::optional<PodUid> held_for_pool;  ///< one of these, whose CPUs go to the shared pool
  Board board;                          ///< before any active pod is placed
};

/// Returns what an unchanged pod has on `node`: nothing from a manager without a static policy.
[[nodiscard]] Part verbatim(const Node& node, const Part& before);
/// Takes a pod's CPUs and memory, unchanged, from the board. Returns false if some are not free;
/// the board may have changed then.
[[nodiscard]] bool take_verbatim(const Node& node, const PodUid& uid,
                                 const std::map<std::string, Part>& parts, const Part& whole,
                                 Board& board);

/// Builds the next state from one choice for each pod.
[[nodiscard]] NodeState assemble(const SearchProblem& problem,
                                 const std::vector<PodChoice>& choices);
/// Returns whether a kubelet starts from the state.
[[nodiscard]] bool starts(const Node& node, const NodeState& state);

}  // namespace pinfold::planning
