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

/// Whether another pod has memory on the NUMA nodes of a spot. That makes these nodes a group, and
/// decide() tries no set of NUMA nodes that splits a group.
enum class Neighbours { kNone, kOnTheSameNodes };

/// Asks decide() and the managers of a node what its rules allow. Knows no rule itself; see
/// judge.cpp.
class Judge {
 public:
  /// Borrows both. `state` provides the devices and the states of hint providers.
  Judge(const Node& node, const NodeState& state);

  /// Decides about the pod on a node without other pods. If it is rejected, tries again with only
  /// some NUMA nodes free, because what decide() chooses for the first container can leave too
  /// little for the next. With `neighbours`, each NUMA node is a separate group.
  [[nodiscard]] Decision on_empty_node(const PodSpec& pod,
                                       Neighbours neighbours = Neighbours::kNone) const;
  /// Returns the pod with only one of its containers. Domain: a Guaranteed pod, so that the result
  /// is Guaranteed, too.
  [[nodiscard]] static PodSpec only(const PodSpec& pod, const Container& container);

  /// Decides about a pod with exactly the spots of its units free.
  [[nodiscard]] Decision about(const PodCase& pod, const std::vector<Spot>& spots,
                               Neighbours neighbours = Neighbours::kNone) const;
  /// Returns whether a unit may have a spot, regardless of the other units. Domain: pod.is_joint is
  /// false.
  [[nodiscard]] bool allows(const PodCase& pod, const Unit& unit, const Spot& spot);
  /// Returns whether the units of a pod may have these spots together. Domain: pod.is_joint.
  [[nodiscard]] bool allows_together(const PodCase& pod, const std::vector<Spot>& spots,
                                     Neighbours neighbours = Neighbours::kNone);

  /// Returns the parts of the containers of a pod that is managed as a whole: the old ones with
  /// lost CPUs replaced if the pod is divided as before, else those that decide() gives it.
  [[nodiscard]] std::map<std::string, Part> divide(const PodCase& pod, const Spot& spot) const;

  /// Returns the spot that decide() chooses for a unit among free CPUs and memory; nullopt if none.
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
  /// By container or pod, then by spots.
  std::unordered_map<std::string, std::unordered_map<std::string, bool>> verdicts_;
};

}  // namespace pinfold::planning
