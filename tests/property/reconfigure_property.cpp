// For any small machine, pods and change: a plan costs as little as the best of all placements, and
// is a state of which everything holds that holds of a node's states.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "draw.hpp"
#include "pinfold/types/numa_mask.hpp"
#include "plan_fixture.hpp"

namespace pinfold::test {
namespace {

constexpr std::size_t kManySteps = 2'000'000;

template <class T>
T one_of(std::initializer_list<T> values) {
  return *(values.begin() + draw(0, static_cast<int>(values.size()) - 1));
}

/// 8 CPUs on two NUMA nodes with 8 GiB each.
Machine any_machine() {
  if (draw(0, 1) == 0) return smt_machine(2, 8);
  return machine_of({.numa = 2, .cpus = one_of({3, 4}), .gib = one_of({6, 8})});
}

Config any_config(Profile profile) {
  Config config = aligning_config(
      one_of<std::string>({"none", "best-effort", "restricted", "single-numa-node"}),
      one_of<std::string>({"container", "pod"}));
  config.profile = profile;
  config.reserved_system_cpus = one_of<std::string>({"0", "1", "0-1", "3", "0,4"});
  if (draw(0, 2) > 0) config = with_memory_manager(config);
  if (config.memory_manager_policy == "Static" && draw(0, 1) == 0) {
    config.reserved_memory = {{1, {{"memory", "1Gi"}}}};
  }
  if (draw(0, 4) == 0) {
    config.cpu_manager_policy = "none";
    return config;
  }
  for (const char* option :
       {"full-pcpus-only", "strict-cpu-reservation", "distribute-cpus-across-numa"}) {
    if (draw(0, 3) == 0) config.cpu_manager_policy_options[option] = "true";
  }
  return config;
}

Node any_node(Profile profile, const std::function<Config(Profile)>& config = any_config) {
  for (;;) {
    auto node = Node::make(any_machine(), config(profile));
    if (node) return std::move(*node);
  }
}

PodSpec small_pod(int number) {
  std::vector<Container> containers;
  const int count = draw(0, 3) == 0 ? 2 : 1;
  for (int i = 0; i < count; ++i) {
    const std::string cpus = count == 2 ? "1" : std::to_string(draw(1, 4));
    containers.push_back(container("c" + std::to_string(i),
                                   {{"cpu", cpus}, {"memory", std::to_string(draw(1, 5)) + "Gi"}}));
  }
  return pod_of("pod-" + std::to_string(number), std::move(containers));
}

/// The pods of those that the node admits, some removed again.
NodeState any_state(const Node& node, int pods, const std::function<PodSpec(int)>& make) {
  NodeState state = empty_state(node);
  for (int i = 0; i < pods; ++i) {
    const PodSpec spec = make(i);
    Decision decision = decide(node, state, spec);
    if (auto* const admitted = std::get_if<Admitted>(&decision)) state = std::move(admitted->next);
  }
  if (!state.pods.empty() && draw(0, 1) == 0) {
    const auto index = static_cast<std::size_t>(draw(0, static_cast<int>(state.pods.size()) - 1));
    const PodUid uid = state.pods[index].spec.uid;
    state = remove_pod(node, std::move(state), uid);
  }
  return release_stale(node, std::move(state));
}

// All placements.

struct Place {
  CpuSet cpus;
  NumaMask memory;
};

struct Had {
  std::optional<CpuSet> cpus;
  std::vector<MemoryBlock> memory;
};

/// One way in which a pod can go on: a place for each container with its memory in bytes.
struct Way {
  CpuSet cpus;
  std::vector<std::pair<NumaMask, std::uint64_t>> memory;
  PlanCost cost;
};

NumaMask nodes_of_blocks(const Machine& machine, const std::vector<MemoryBlock>& blocks) {
  NumaMask mask;
  for (const MemoryBlock& block : blocks) {
    for (const auto id : block.numa_affinity) {
      mask = mask | NumaMask::of(machine.numa_position(NumaId{id}).value());
    }
  }
  return mask;
}

/// Every placement that decide() admits where exactly it is free, of every pod, one with another.
class BruteForce {
 public:
  BruteForce(const Node& from, const NodeState& state, const Node& to, bool evict)
      : from_(from), state_(state), to_(to), evict_(evict), empty_(empty_state(to)) {
    for (const ActivePod& pod : state.pods) ways_.push_back(ways_of(pod.spec));
  }

  PlanCost best() {
    best_ = {99, 99, 99, 99, 99};
    search(0, {}, {}, {});
    return best_;
  }

 private:
  Had had(const PodSpec& pod, const Container& container) const {
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

  /// Whether decide() gives the containers of the pod these places.
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

  bool is_pod_scope() const {
    return to_.topology().policy() != TopologyPolicy::kNone &&
           to_.topology().scope() == TopologyScope::kPod;
  }

  static PodSpec only(const PodSpec& pod, std::size_t index) {
    PodSpec part = pod;
    part.containers = {pod.containers[index]};
    return part;
  }

  /// All places that have as many CPUs and memory as the container gets.
  std::vector<Place> all_places(std::size_t cpus, bool memory) const {
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

  PlanCost cost(const PodSpec& pod, const std::vector<Place>& places) const {
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

  /// The state in which the pod has an empty node, or one NUMA node of it.
  std::optional<NodeState> admitted_somewhere(const PodSpec& pod) const {
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
      // Each container has whole cores.
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

  /// NUMA nodes belong to one group, and a group has as much memory as its nodes.
  bool fits(const std::vector<std::pair<NumaMask, std::uint64_t>>& memory) const {
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

  void search(std::size_t index, const CpuSet& taken,
              const std::vector<std::pair<NumaMask, std::uint64_t>>& memory, const PlanCost& cost) {
    if (!(cost < best_)) return;
    if (index == ways_.size()) {
      best_ = cost;
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
  PlanCost best_;
};

std::string text_of(const Config& config) {
  std::string text = "cpu " + config.cpu_manager_policy + ", memory " +
                     config.memory_manager_policy + ", topology " + config.topology_manager_policy +
                     "/" + config.topology_manager_scope + ", reserved " +
                     config.reserved_system_cpus;
  for (const auto& [option, value] : config.cpu_manager_policy_options) text += ", " + option;
  for (const auto& entry : config.reserved_memory) {
    text += ", memory reserved on " + std::to_string(entry.numa_node);
  }
  return text;
}

std::string text_of(const NodeState& state) {
  std::string text;
  for (const ActivePod& pod : state.pods) {
    text += pod.spec.uid.value + ":";
    if (pod.spec.resources) {
      for (const auto& [name, amount] : pod.spec.resources->requests) {
        text += " " + name + " " + amount.to_string();
      }
    }
    for (const Container& container : pod.spec.containers) {
      text += "; " + container.name;
      if (container.kind == ContainerKind::kInit) text += " (init)";
      if (container.kind == ContainerKind::kSidecar) text += " (sidecar)";
      for (const auto& [name, amount] : container.resources.requests) {
        text += " " + name + " " + amount.to_string();
      }
      if (pod.started.contains(container.name)) text += " started";
    }
    text += "\n";
  }
  for (const auto& [uid, name, blocks] : state.memory.assignments) {
    for (const MemoryBlock& block : blocks) {
      text += uid.value + "/" + name + " has " + std::to_string(block.size >> 20U) + " Mi\n";
    }
  }
  return text;
}

void log(const Node& from, const NodeState& state, const Node& to,
         const ReconfigurationPlan& plan) {
  RC_LOG() << "from " << from.machine().cpus().size() << " CPUs, " << text_of(from.config())
           << "\nto " << to.machine().cpus().size() << " CPUs, " << text_of(to.config())
           << ", profile " << to_string(to.config().profile) << "\n"
           << text_of(state) << describe(plan);
}

RC_GTEST_PROP(ReconfigureProperty, CostsAsLittleAsTheBestOfAllPlacements, ()) {
  const Node from = any_node(Profile::kFixed);
  const Node to = any_node(Profile::kFixed);
  const NodeState state = any_state(from, 3, small_pod);
  const bool evict = draw(0, 3) == 0;
  const auto plan = plan_reconfiguration(from, state, to, {evict, kManySteps});
  RC_ASSERT(plan.has_value());
  log(from, state, to, *plan);
  RC_ASSERT(plan->optimal);
  BruteForce all(from, state, to, evict);
  const PlanCost best = all.best();
  RC_LOG() << "brute force: evicted " << best.pods_evicted << ", against "
           << best.pods_against_rules << ", moved " << best.containers_moved << ", CPUs "
           << best.cpus_moved << ", bytes " << best.bytes_moved << "\n";
  RC_CLASSIFY(best.pods_evicted > 0, "evicts");
  RC_CLASSIFY(best.pods_against_rules > 0, "against rules");
  RC_CLASSIFY(best.containers_moved > 0, "moves");
  RC_CLASSIFY(best.containers_moved > 1, "moves two");
  RC_CLASSIFY(best.bytes_moved > 0, "moves memory");
  RC_ASSERT(plan->cost == best);
}

// Any pods: with init containers, sidecars and pod-level resources.

Container any_kind_of_container(int number) {
  const auto kind = one_of(
      {ContainerKind::kApp, ContainerKind::kApp, ContainerKind::kInit, ContainerKind::kSidecar});
  const std::string memory = std::to_string(draw(1, 3)) + "Gi";
  const std::string cpus = one_of<std::string>({"1", "1", "2", "500m"});
  return container("c" + std::to_string(number), {{"cpu", cpus}, {"memory", memory}}, kind);
}

PodSpec any_kind_of_pod(int number) {
  std::vector<Container> containers;
  const int count = draw(1, 3);
  for (int i = 0; i < count; ++i) containers.push_back(any_kind_of_container(i));
  std::stable_partition(containers.begin(), containers.end(),
                        [](const Container& spec) { return spec.kind != ContainerKind::kApp; });
  PodSpec spec = pod_of("pod-" + std::to_string(number), std::move(containers));
  if (draw(0, 2) == 0) {
    spec.resources = container("", {{"cpu", std::to_string(draw(1, 3))},
                                    {"memory", std::to_string(draw(2, 5)) + "Gi"}})
                         .resources;
  }
  return spec;
}

Config any_config_with_pod_level(Profile profile) {
  Config config = any_config(profile);
  config.feature_gates["PodLevelResourceManagers"] = draw(0, 1) == 0;
  return config;
}

Profile any_profile() { return one_of({Profile::kKubelet136, Profile::kFixed}); }

/// Starts the containers of each pod up to one of them; makes some pods held.
NodeState with_starts(const Node& node, NodeState state) {
  for (const ActivePod& pod : SharedVector<ActivePod>(state.pods)) {
    int started = draw(0, static_cast<int>(pod.spec.containers.size()));
    for (const Container& container : pod.spec.containers) {
      if (started-- <= 0) break;
      (void)start_in_place(node, state, {pod.spec.uid, container.name});
    }
  }
  if (!state.pods.empty() && draw(0, 3) == 0) {
    state.held.insert(state.pods.front().spec.uid);
    state.pods.erase(state.pods.begin());
  }
  return state;
}

/// The sum of what the containers of a plan cost, but for the pods.
PlanCost cost_of_containers(const ReconfigurationPlan& plan) {
  PlanCost cost;
  for (const PlannedContainer& container : plan.containers) {
    if (container.change != Change::kMoved) continue;
    ++cost.containers_moved;
    cost.cpus_moved += container.cpus_moved;
    cost.bytes_moved += container.bytes_moved;
  }
  return cost;
}

void check_plan(const Node& to, const ReconfigurationPlan& plan) {
  RC_ASSERT(start_error(to, plan.next) == "");
  RC_ASSERT(overlap(to, plan.next) == "");
  RC_ASSERT(plan.evicted.size() == plan.cost.pods_evicted);
  const PlanCost sum = cost_of_containers(plan);
  RC_ASSERT(sum.containers_moved == plan.cost.containers_moved);
  RC_ASSERT(sum.cpus_moved == plan.cost.cpus_moved);
  RC_ASSERT(sum.bytes_moved == plan.cost.bytes_moved);
  for (const PlannedContainer& container : plan.containers) RC_ASSERT(!container.why.empty());
}

RC_GTEST_PROP(ReconfigureProperty, StartsWithoutOverlapAndPlansNothingMoreAfterwards, ()) {
  const Node from = any_node(any_profile(), any_config_with_pod_level);
  const Node to = any_node(any_profile(), any_config_with_pod_level);
  const NodeState state = with_starts(from, any_state(from, 3, any_kind_of_pod));
  const auto plan = plan_reconfiguration(from, state, to);
  RC_ASSERT(plan.has_value());
  log(from, state, to, *plan);
  check_plan(to, *plan);
  RC_CLASSIFY(plan->optimal, "optimal");
  RC_CLASSIFY(plan->cost.containers_moved > 0, "moves");
  if (!plan->optimal) return;

  // Not from `to`: then nothing would be judged.
  const auto again = plan_reconfiguration(from, plan->next, to);
  RC_ASSERT(again.has_value());
  RC_LOG() << "again\n" << describe(*again);
  RC_ASSERT(again->cost.containers_moved == 0U);
  RC_ASSERT(again->cost.pods_evicted == 0U);
  RC_ASSERT(again->cost.pods_against_rules == plan->cost.pods_against_rules);
  RC_ASSERT(again->next.cpu == plan->next.cpu);
  RC_ASSERT(again->next.memory == plan->next.memory);
}

RC_GTEST_PROP(ReconfigureProperty, MovesNothingForTheSameConfiguration, ()) {
  const Node node = any_node(any_profile(), any_config_with_pod_level);
  const NodeState state = with_starts(node, any_state(node, 4, any_kind_of_pod));
  // A kubelet can admit pods until it does not start any more: empty_shared_pool_prevents_start.
  RC_PRE(start_error(node, state) == "");
  const auto plan = plan_reconfiguration(node, state, node);
  RC_ASSERT(plan.has_value());
  log(node, state, node, *plan);
  RC_ASSERT(plan->optimal);
  RC_ASSERT(plan->cost == PlanCost{});
  RC_ASSERT(plan->next.cpu.checkpoint() == state.cpu.checkpoint());
  RC_ASSERT(plan->next.memory.assignments == state.memory.assignments);
}

}  // namespace
}  // namespace pinfold::test
