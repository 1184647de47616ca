#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/memory/count_again.hpp"
#include "pinfold/reconfigure/reconfigure.hpp"
#include "pinfold/types/numa_mask.hpp"

/// Finds the best of all placements, for tests of plans: no search strategy, no bound except the
/// best cost so far, and no equivalent CPUs. For two NUMA nodes, few CPUs, pods of app containers,
/// profile `fixed`.
namespace pinfold::test {

struct Place {
  CpuSet cpus;
  NumaMask memory;
};

struct Had {
  std::optional<CpuSet> cpus;
  std::vector<MemoryBlock> memory;
};

/// A possible placement of a pod: a place for each container with its memory in bytes.
struct Way {
  CpuSet cpus;
  std::vector<std::pair<NumaMask, std::uint64_t>> memory;
  PlanCost cost;
};

inline NumaMask nodes_of_blocks(const Machine& machine, const std::vector<MemoryBlock>& blocks) {
  NumaMask mask;
  for (const MemoryBlock& block : blocks) {
    for (const auto id : block.numa_affinity) {
      mask = mask | NumaMask::of(machine.numa_position(NumaId{id}).value());
    }
  }
  return mask;
}

/// Combines all placements of all pods that decide() admits if exactly those resources are free.
class BruteForce {
 public:
  BruteForce(const Node& from, const NodeState& state, const Node& to, bool evict)
      : from_(from), state_(state), to_(to), evict_(evict), empty_(empty_state(to)) {
    for (const ActivePod& pod : state.pods) ways_.push_back(ways_of(pod.spec));
  }

  PlanCost best() {
    best_ = kNoPlan;
    search(0, {}, {}, {});
    return best_;
  }

  /// Returns the lowest cost of a placement after which the node admits another pod; each pod stays
  /// or moves somewhere that the rules allow. kNoPlan: there is none.
  PlanCost best_that_admits(const PodSpec& pod) {
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      std::erase_if(ways_[i], [](const Way& way) { return way.cost.pods_evicted > 0; });
      for (Way& way : ways_[i]) way.cost.pods_against_rules = 0;
    }
    admits_ = pod;
    return best();
  }

  static constexpr PlanCost kNoPlan{99, 99, 99, 99, 99};

 private:
  [[nodiscard]] Had had(const PodSpec& pod, const Container& container) const {
    Had result;
    const ContainerId id{pod.uid, container.name};
    if (const auto* cpus = state_.cpu.assignments.find(id)) result.cpus = *cpus;
    if (const auto* blocks = state_.memory.assignments.find(id)) result.memory = *blocks;
    return result;
  }

  NodeState exactly(const std::vector<Place>& places, const std::vector<std::uint64_t>& bytes) {
    NodeState state = empty_;
    if (to_.cpu().is_static()) {
      state.cpu.default_set = empty_.cpu.default_set & to_.cpu().reserved();
      for (const Place& place : places) {
        state.cpu.default_set |= place.cpus;
        if (!to_.cpu().options().full_pcpus_only) continue;
        for (const auto& core : to_.machine().cores()) {
          if (core.cpus.intersects(place.cpus)) {
            state.cpu.default_set |= core.cpus - to_.cpu().reserved();
          }
        }
      }
    }
    for (auto& [id, node] : state.memory.machine_state) node.tables["memory"].free = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto ids = to_.machine().numa_ids(places[i].memory);
      if (ids.empty()) continue;
      for (const auto id : ids) ++state.memory.machine_state[id].tables["memory"].free;
      state.memory.machine_state[ids.front()].tables["memory"].free += bytes[i] - ids.size();
    }
    return state;
  }

  /// Returns true if decide() gives the containers of the pod these places.
  bool allowed(const PodSpec& pod, const std::vector<Place>& places,
               const std::vector<std::uint64_t>& bytes) {
    const Decision decision = decide(to_, exactly(places, bytes), pod);
    const auto* const admitted = std::get_if<Admitted>(&decision);
    if (admitted == nullptr) return false;
    CpuSet all;
    CpuSet given;
    for (std::size_t i = 0; i < places.size(); ++i) {
      all |= places[i].cpus;
      const auto* const cpus =
          admitted->next.cpu.assignments.find({pod.uid, pod.containers[i].name});
      if ((cpus == nullptr ? 0 : cpus->size()) != places[i].cpus.size()) return false;
      if (cpus != nullptr) given |= *cpus;
    }
    return given == all;
  }

  [[nodiscard]] bool is_pod_scope() const {
    return to_.topology().policy() != TopologyPolicy::kNone &&
           to_.topology().scope() == TopologyScope::kPod;
  }

  static PodSpec only(const PodSpec& pod, std::size_t index) {
    PodSpec part = pod;
    part.containers = {pod.containers[index]};
    return part;
  }

  /// Returns all places with as many CPUs and as much memory as the container gets.
  [[nodiscard]] std::vector<Place> all_places(std::size_t cpus, bool memory) const {
    std::vector<Place> places;
    const CpuSet allocatable = to_.cpu().is_static() ? to_.cpu().allocatable() : CpuSet{};
    const std::vector<CpuId> ids(allocatable.begin(), allocatable.end());
    for (std::uint32_t bits = 0; bits < (std::uint32_t{1} << ids.size()); ++bits) {
      if (static_cast<std::size_t>(std::popcount(bits)) != cpus) continue;
      CpuSet set;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (((bits >> i) & 1U) != 0) set.insert(ids[i]);
      }
      if (!memory) places.push_back({set, {}});
      if (memory) {
        for (std::uint64_t mask = 1; mask < 4; ++mask) places.push_back({set, NumaMask(mask)});
      }
    }
    return places;
  }

  [[nodiscard]] PlanCost cost(const PodSpec& pod, const std::vector<Place>& places) const {
    PlanCost sum;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Had before = had(pod, pod.containers[i]);
      const bool cpus = before.cpus && !places[i].cpus.empty() && *before.cpus != places[i].cpus;
      const NumaMask nodes = nodes_of_blocks(from_.machine(), before.memory);
      const bool memory = !nodes.empty() && !places[i].memory.empty() && nodes != places[i].memory;
      if (cpus || memory) ++sum.containers_moved;
      if (cpus) sum.cpus_moved += (places[i].cpus - *before.cpus).size();
      if (memory && !places[i].memory.contains_all(nodes)) {
        for (const MemoryBlock& block : before.memory) sum.bytes_moved += block.size;
      }
    }
    return sum;
  }

  /// Returns the state in which the pod has an empty node, or a single NUMA node, to itself.
  [[nodiscard]] std::optional<NodeState> admitted_somewhere(const PodSpec& pod) const {
    for (const int only : {-1, 0, 1}) {
      NodeState state = empty_;
      for (int numa = 0; numa < 2; ++numa) {
        if (only == -1 || only == numa) continue;
        state.cpu.default_set -= to_.machine().cpus_of_numa(numa) - to_.cpu().reserved();
        if (to_.memory().is_static()) state.memory.machine_state[numa].tables["memory"].free = 0;
      }
      Decision decision = decide(to_, std::move(state), pod);
      if (auto* const admitted = std::get_if<Admitted>(&decision)) return std::move(admitted->next);
    }
    return std::nullopt;
  }

  std::vector<Way> ways_of(const PodSpec& pod) {
    std::vector<Way> ways;
    if (const auto admitted = admitted_somewhere(pod)) add_places(pod, *admitted, ways);
    Way stays;
    stays.cost.pods_against_rules = 1;
    bool can_stay = !evict_;
    for (const Container& container : pod.containers) {
      const Had before = had(pod, container);
      if (before.cpus && to_.cpu().is_static()) stays.cpus |= *before.cpus;
      for (const MemoryBlock& block : before.memory) {
        if (!to_.memory().is_static()) continue;
        stays.memory.emplace_back(nodes_of_blocks(from_.machine(), {block}), block.size);
      }
    }
    if (to_.cpu().is_static()) {
      can_stay = can_stay && to_.cpu().allocatable().contains_all(stays.cpus);
    }
    if (can_stay) ways.push_back(stays);
    ways.push_back({{}, {}, {1, 0, 0, 0, 0}});
    return ways;
  }

  void add_places(const PodSpec& pod, const NodeState& admitted, std::vector<Way>& ways) {
    std::vector<std::vector<Place>> places;
    std::vector<std::uint64_t> bytes;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
      const ContainerId id{pod.uid, pod.containers[i].name};
      const auto* const cpus = admitted.cpu.assignments.find(id);
      const auto* const blocks = admitted.memory.assignments.find(id);
      bytes.push_back(blocks == nullptr ? 0 : blocks->front().size);
      places.push_back(all_places(cpus == nullptr ? 0 : cpus->size(), blocks != nullptr));
      if (is_pod_scope()) continue;
      std::erase_if(places.back(), [&](const Place& place) {
        return !allowed(only(pod, i), {place}, {bytes.back()});
      });
    }
    std::vector<Place> chosen;
    combine(pod, places, bytes, chosen, ways);
  }

  void combine(const PodSpec& pod, const std::vector<std::vector<Place>>& places,
               const std::vector<std::uint64_t>& bytes, std::vector<Place>& chosen,
               std::vector<Way>& ways) {
    if (chosen.size() < places.size()) {
      for (const Place& place : places[chosen.size()]) {
        const bool overlaps = std::any_of(chosen.begin(), chosen.end(), [&](const Place& other) {
          return other.cpus.intersects(place.cpus);
        });
        if (overlaps) continue;
        chosen.push_back(place);
        combine(pod, places, bytes, chosen, ways);
        chosen.pop_back();
      }
      return;
    }
    if (is_pod_scope() && !allowed(pod, chosen, bytes)) return;
    if (is_pod_scope() && to_.cpu().options().full_pcpus_only) {
      // each container must have whole cores
      for (const Place& place : chosen) {
        for (const auto& core : to_.machine().cores()) {
          if (core.cpus.intersects(place.cpus) && !place.cpus.contains_all(core.cpus)) return;
        }
      }
    }
    Way way;
    way.cost = cost(pod, chosen);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      way.cpus |= chosen[i].cpus;
      if (!chosen[i].memory.empty()) way.memory.emplace_back(chosen[i].memory, bytes[i]);
    }
    ways.push_back(std::move(way));
  }

  /// Returns true if every NUMA node belongs to one group only, and no group exceeds the memory of
  /// its nodes.
  [[nodiscard]] bool fits(const std::vector<std::pair<NumaMask, std::uint64_t>>& memory) const {
    std::map<NumaMask, std::uint64_t> used;
    for (const auto& [mask, size] : memory) used[mask] += size;
    for (const auto& [mask, size] : used) {
      std::uint64_t capacity = 0;
      for (const auto id : to_.machine().numa_ids(mask)) {
        capacity += empty_.memory.machine_state.at(id).tables.at("memory").allocatable;
      }
      if (size > capacity) return false;
      for (const auto& [other, bytes] : used) {
        if (other != mask && !(other & mask).empty()) return false;
      }
    }
    return true;
  }

  static PlanCost sum(const PlanCost& a, const PlanCost& b) {
    return {a.pods_evicted + b.pods_evicted, a.pods_against_rules + b.pods_against_rules,
            a.containers_moved + b.containers_moved, a.cpus_moved + b.cpus_moved,
            a.bytes_moved + b.bytes_moved};
  }

  /// Returns true if the node admits the pod while these CPUs and this memory are taken.
  [[nodiscard]] bool admits_with(
      const CpuSet& taken, const std::vector<std::pair<NumaMask, std::uint64_t>>& memory) const {
    NodeState state = empty_;
    state.cpu.default_set -= taken;
    for (const auto& [mask, size] : memory) {
      take_blocks(state.memory.machine_state, {{to_.machine().numa_ids(mask), "memory", size}});
    }
    return std::holds_alternative<Admitted>(decide(to_, std::move(state), *admits_));
  }

  void search(std::size_t index, const CpuSet& taken,
              const std::vector<std::pair<NumaMask, std::uint64_t>>& memory, const PlanCost& cost) {
    if (!(cost < best_)) return;
    if (index == ways_.size()) {
      if (!admits_ || admits_with(taken, memory)) best_ = cost;
      return;
    }
    for (const Way& way : ways_[index]) {
      if (way.cpus.intersects(taken)) continue;
      auto all = memory;
      all.insert(all.end(), way.memory.begin(), way.memory.end());
      if (!fits(all)) continue;
      search(index + 1, taken | way.cpus, all, sum(cost, way.cost));
    }
  }

  const Node& from_;
  const NodeState& state_;
  const Node& to_;
  bool evict_;
  NodeState empty_;
  std::vector<std::vector<Way>> ways_;
  std::optional<PodSpec> admits_;
  PlanCost best_;
};

}  // namespace pinfold::test
