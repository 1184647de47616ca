// For any small machine, pods and change: a plan costs no more than the best of all placements, and
// its result satisfies everything that holds for a node's states.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "all_placements.hpp"
#include "draw.hpp"
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

/// Returns a state with those pods that the node admits, some of them removed again.
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

NodeState state_with_pod(const PodSpec& pod) {
  NodeState state;
  state.pods.push_back({pod, {}});
  return state;
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

RC_GTEST_PROP(DefragmentProperty, AdmitsThePodAfterTheFewestMovesThatDo, ()) {
  const Node node = any_node(Profile::kFixed);
  const NodeState state = any_state(node, 3, small_pod);
  const PodSpec pod = small_pod(9);
  const auto plan = plan_defragmentation(node, state, pod, {false, kManySteps});
  RC_ASSERT(plan.has_value());
  RC_LOG() << text_of(node.config()) << "\n"
           << text_of(state) << "wanted: " << text_of(state_with_pod(pod));
  for (const PlannedContainer& move : plan->moves) {
    RC_LOG() << to_string(move.id) << ": " << move.why << "\n";
  }
  const Decision now = decide(node, state, pod);
  const bool is_admitted = std::holds_alternative<Admitted>(now);
  RC_CLASSIFY(!is_admitted && plan->possible, "moves");
  RC_CLASSIFY(!plan->possible, "impossible");
  RC_ASSERT(plan->optimal);
  RC_ASSERT(plan->rejection.has_value() == !is_admitted);
  if (is_admitted) {
    RC_ASSERT(plan->possible && plan->moves.empty());
    RC_ASSERT(plan->next == state);
    return;
  }
  const PlanCost best = BruteForce(node, state, node, false).best_that_admits(pod);
  RC_ASSERT(plan->possible == (best != BruteForce::kNoPlan));
  if (!plan->possible) return;
  RC_ASSERT(plan->cost == best);
  RC_ASSERT(plan->moves.size() == plan->cost.containers_moved);
  RC_ASSERT(start_error(node, plan->next) == "");
  RC_ASSERT(overlap(node, plan->next) == "");
  RC_ASSERT(std::holds_alternative<Admitted>(decide(node, plan->next, pod)));
}

// Returns any pods: with init containers, sidecars and pod-level resources.

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

/// Starts the containers of each pod up to one of them, and turns some pods into held ones.
NodeState with_starts(const Node& node, NodeState state) {
  for (const ActivePod& pod : ActivePods(state.pods)) {
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

/// Returns the sum of the containers' costs in a plan, without the costs of pods.
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

  // Not from `to`: the plan would then judge nothing.
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
  // A kubelet can admit pods until it no longer starts: empty_shared_pool_prevents_start.
  RC_PRE(start_error(node, state) == "");
  const auto plan = plan_reconfiguration(node, state, node);
  RC_ASSERT(plan.has_value());
  log(node, state, node, *plan);
  RC_ASSERT(plan->optimal);
  RC_ASSERT(plan->cost == PlanCost{});
  RC_ASSERT(plan->next.cpu.checkpoint() == state.cpu.checkpoint());
  RC_ASSERT(plan->next.memory.assignments == state.memory.assignments);
}

// The files that a kubelet starts from, before and after.

Profile any_kubelet() {
  return one_of({Profile::kKubelet136, Profile::kKubelet137, Profile::kKubelet138});
}

/// Reads the state files of a node. Each pod that they name is held.
std::optional<NodeState> read_files(const Node& node, checkpoint::KubeletFiles& files) {
  auto started = checkpoint::start(node, files, {});
  if (!started) return std::nullopt;
  NodeState state = *std::move(started);
  for (const auto& [uid, containers] : state.cpu.assignments.by_pod()) state.held.insert(uid);
  for (const auto& [uid, containers] : state.memory.assignments.by_pod()) state.held.insert(uid);
  for (const auto& [uid, cpus] : state.cpu.pods) state.held.insert(uid);
  for (const auto& [uid, blocks] : state.memory.pods) state.held.insert(uid);
  return state;
}

/// A kubelet admits its pods again. A pod that the new rules still permit keeps its CPUs and memory
/// from the files.
void admit_again(const Node& to, const NodeState& before, NodeState state) {
  const NodeState files = state;
  const bool takes_again = to.config().quirks().readmitted_pod_takes_cpus_again;
  for (const ActivePod& pod : before.pods) {
    const bool is_whole = files.cpu.pods.contains(pod.spec.uid);
    if (pod.spec.resources && (takes_again || !is_whole)) continue;  // it takes CPUs for the pod
    Decision decision = decide(to, state, pod.spec);
    auto* const admitted = std::get_if<Admitted>(&decision);
    if (admitted == nullptr) continue;
    state = std::move(admitted->next);
    for (const Container& container : pod.spec.containers) {
      const ContainerId id{pod.spec.uid, container.name};
      const CpuSet* const had = files.cpu.assignments.find(id);
      const CpuSet* const has = state.cpu.assignments.find(id);
      const CpuSet expected = had == nullptr ? CpuSet{} : *had;
      const CpuSet actual = has == nullptr ? CpuSet{} : *has;
      RC_LOG() << to_string(id) << " had " << expected.to_string() << ", has " << actual.to_string()
               << "\n";
      const bool is_kept = had == nullptr || actual == expected;
      RC_ASSERT(is_kept);
    }
  }
}

RC_GTEST_PROP(ReconfigureProperty, AKubeletStartsFromTheFilesAsTheyAre, ()) {
  const Node from = any_node(any_kubelet(), any_config_with_pod_level);
  const Node to = any_node(any_kubelet(), any_config_with_pod_level);
  const NodeState running = any_state(from, 4, any_kind_of_pod);
  checkpoint::KubeletFiles files = checkpoint::encode_files(from, running);
  const auto state = read_files(from, files);
  RC_PRE(state.has_value());  // empty_shared_pool_prevents_start
  const auto plan = plan_reconfiguration(from, *state, to);
  RC_ASSERT(plan.has_value());
  log(from, running, to, *plan);
  const checkpoint::KubeletFiles written = checkpoint::encode_files(to, plan->next);
  checkpoint::KubeletFiles after = written;
  const auto started = read_files(to, after);
  RC_ASSERT(started.has_value());
  RC_ASSERT(after == written);
  RC_ASSERT(checkpoint::encode_files(to, *started) == written);
  RC_CLASSIFY(!plan->evicted.empty(), "evicts");
  for (const PlannedContainer& container : plan->containers) {
    if (container.change != Change::kKept || !container.cpus_before) continue;
    const CpuSet* const has = started->cpu.assignments.find(container.id);
    const bool is_kept = has != nullptr && *has == *container.cpus_before;
    RC_ASSERT(is_kept);
  }
  admit_again(to, running, *started);
}

}  // namespace
}  // namespace pinfold::test
