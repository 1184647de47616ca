#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "problem.hpp"

namespace pinfold::planning {

/// Who else has memory on the NUMA nodes of a spot: it makes these nodes a group, and decide()
/// tries no set of NUMA nodes that cuts a group.
enum class Neighbours { kNone, kOnTheSameNodes };

/// Asks decide() and the managers of a node what its rules allow; knows no rule itself.
class Judge {
 public:
  /// Borrows both. `state` has the devices and the states of hint providers.
  Judge(const Node& node, const NodeState& state);

  /// Whether a node without other pods admits the pod, and what it gets. Where it rejects the pod,
  /// the same with only some NUMA nodes free: what decide() chooses for the first container can
  /// leave too little for the next.
  /// `neighbours`: each NUMA node is a group of its own.
  [[nodiscard]] Decision on_empty_node(const PodSpec& pod,
                                       Neighbours neighbours = Neighbours::kNone) const;
  /// The pod with only one of its containers. Domain: a Guaranteed pod, so that this is one too.
  [[nodiscard]] static PodSpec only(const PodSpec& pod, const Container& container);

  /// The decision about a pod where exactly the spots of its units are free.
  [[nodiscard]] Decision about(const PodCase& pod, const std::vector<Spot>& spots,
                               Neighbours neighbours = Neighbours::kNone) const;
  /// Whether a unit may have a spot, whatever the other units have. Domain: pod.is_joint is false.
  [[nodiscard]] bool allows(const PodCase& pod, const Unit& unit, const Spot& spot);
  /// Whether the units of a pod may have these spots together. Domain: pod.is_joint.
  [[nodiscard]] bool allows_together(const PodCase& pod, const std::vector<Spot>& spots,
                                     Neighbours neighbours = Neighbours::kNone);

  /// The parts of the containers of a pod that is managed as a whole: its old ones with lost CPUs
  /// replaced where the pod's division is as before, else those that decide() gives it.
  [[nodiscard]] std::map<std::string, Part> divide(const PodCase& pod, const Spot& spot) const;

  /// The spot that decide() chooses for a unit among free CPUs and memory; nullopt if none.
  [[nodiscard]] std::optional<Spot> natural(const PodCase& pod, const Unit& unit,
                                            const Board& board) const;

 private:
  [[nodiscard]] NodeState state_for(const PodSpec& pod, const CpuSet& free,
                                    std::map<std::int32_t, NodeMemory> memory) const;
  [[nodiscard]] std::map<std::int32_t, NodeMemory> no_memory() const;
  void free_exactly(std::map<std::int32_t, NodeMemory>& memory, NumaMask nodes,
                    const Amounts& amounts) const;
  void make_group(std::map<std::int32_t, NodeMemory>& memory, NumaMask nodes) const;
  [[nodiscard]] CpuSet with_cores(const CpuSet& cpus) const;
  [[nodiscard]] Decision about_unit(const PodCase& pod, const Unit& unit, const Spot& spot) const;
  [[nodiscard]] bool is_complete(const Unit& unit, const Spot& spot) const;
  [[nodiscard]] bool admits(const PodCase& pod, const Unit& unit, const Spot& spot) const;

  [[nodiscard]] bool admits_together(const PodCase& pod, const std::vector<Spot>& spots,
                                     Neighbours neighbours) const;

  const Node& node_;
  const NodeState& state_;
  NodeState empty_;
  /// By container, or pod; then by spots.
  std::unordered_map<std::string, std::unordered_map<std::string, bool>> verdicts_;
};

}  // namespace pinfold::planning
