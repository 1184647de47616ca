#include "pinfold/agent/reconfiguration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "pinfold/agent/desired.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/decide/fields.hpp"
#include "pinfold/enforce/plan.hpp"
#include "pinfold/types/named.hpp"

// How it works
//
// pinfold::plan_reconfiguration and pinfold::plan_defragmentation search for the next state. This
// file adds what an operator wants to know before it is applied: which configuration fields and
// parts of the machine differ, which containers are parked, and what is written to each cpuset. The
// last two come from the desired layouts before and after, as EnforcedLayout computes them, but
// without kernel facts: only CPUs and NUMA nodes count, and values are left out.
//
// An undo searches for nothing. It decodes the kubelet files that KeptState::replace_node stored,
// on the earlier node, and adds what these files do not hold (devices, providers, pods) from the
// current state. It fails if a pod or held container was admitted or resized since, because the
// earlier state has nothing, or too little, for it; pods that were removed since are released.
//
// open_and_reconfigure() reconfigures at a start if the stored configuration differs, so that a
// crash between installing a configuration file and committing the state is repaired by the next
// start. It never evicts a pod. Afterwards it takes over a change of the machine, but only if every
// container keeps its resources.
//
// Invariants: planning is read-only; only open_and_reconfigure() changes the agent. Cost, besides
// the search: O(n log n) in the number of containers for the layouts, plus one plan of steps.

namespace pinfold::agent {
namespace {

/// Returns the CPUs of a layout's group; `all` if it has its parent's.
CpuSet cpus_in(const enforce::Layout& layout, const ContainerId& id, const CpuSet& all) {
  const auto found = layout.find(enforce::GroupName(id));
  return found == layout.end() || found->second.cpus.empty() ? all : found->second.cpus;
}

AgentState with_node(AgentState state, NodeState node) {
  state.node = std::move(node);
  return state;
}

/// The layouts before and after a plan; only their CPUs and NUMA nodes are meaningful.
struct PlannedLayouts {
  enforce::Layout before;
  enforce::Layout after;
  CpuSet cpus;  ///< of both machines
};

PlannedLayouts layouts_of(const NodeAgent& agent, const Node& to, const ReconfigurationPlan& plan) {
  return {desired_layout(agent.node(), agent.state(), {}),
          desired_layout(to, with_node(agent.state(), plan.next), {}),
          agent.node().machine().all_cpus() & to.machine().all_cpus()};
}

std::vector<ContainerId> find_parked(const PlannedLayouts& layouts,
                                     const ReconfigurationPlan& plan) {
  const auto& [before, after, all] = layouts;
  std::vector<ContainerId> parked;
  for (const PlannedContainer& container : plan.containers) {
    const enforce::GroupName name(container.id);
    if (!before.contains(name) || !after.contains(name)) continue;
    if (!cpus_in(before, container.id, all).intersects(cpus_in(after, container.id, all))) {
      parked.push_back(container.id);
    }
  }
  return parked;
}

/// Returns the writes per container. Empty if no order of steps avoids an overlap; applying the
/// plan then reports that.
ContainerMap<std::vector<std::string>> find_steps(const PlannedLayouts& layouts) {
  ContainerMap<std::vector<std::string>> steps;
  const auto plan = enforce::plan(layouts.before, layouts.after, layouts.cpus);
  if (!plan) return steps;
  for (const enforce::Step& step : *plan) {
    const bool is_set =
        step.kind == enforce::Step::Kind::kCpus || step.kind == enforce::Step::Kind::kMems;
    if (!is_set || step.group.is_pod() || !layouts.before.contains(step.group)) continue;
    const std::size_t prefix = to_string(step.group).size() + 2;  // "pod1/c1: "
    steps[step.group.id()].push_back(to_string(step).substr(prefix));
  }
  return steps;
}

Reconfiguration reconfiguration_of(const NodeAgent& agent, const Node& to,
                                   ReconfigurationPlan plan) {
  const Node& from = agent.node();
  Reconfiguration planned;
  planned.differences = differences(from.machine(), from.config(), to.machine(), to.config());
  const PlannedLayouts layouts = layouts_of(agent, to, plan);
  planned.parked = find_parked(layouts, plan);
  planned.steps = find_steps(layouts);
  planned.plan = std::move(plan);
  planned.pods = names_of_pods(agent.state().node);
  return planned;
}

/// Compares the states of all containers; only those in `moves` have a reason to move.
std::vector<PlannedContainer> all_containers(const NodeState& before, const NodeState& after,
                                             const std::vector<PlannedContainer>& moves) {
  auto containers = compare_states(before, after);
  for (PlannedContainer& container : containers) {
    const auto move = std::find_if(moves.begin(), moves.end(), [&](const PlannedContainer& one) {
      return one.id == container.id;
    });
    container.why = move == moves.end() ? "no other container needs its resources" : move->why;
  }
  return containers;
}

}  // namespace

std::string pod_name(const Reconfiguration& planned, const PodUid& uid) {
  return to_string(ref_of(planned.pods, uid));
}

Result<StoredNode> read_stored_node(const AgentOptions& options) {
  PINFOLD_LET(auto store,
              checkpoint::Store::open_read_only(
                  options.state_dir, checkpoint::owner_check(options.insecure_state_dir)));
  PINFOLD_LET_WRAP(const auto files, store.load(), "read the state");
  const std::string path = fmt::format("'{}/{}'", options.state_dir, checkpoint::kNodeFileName);
  if (!files.node) {
    return fail(ErrorCode::kNotFound,
                path + " does not exist, so the configuration of the state is unknown");
  }
  PINFOLD_LET_WRAP(auto node, decode_node(*files.node), path);
  return node;
}

Result<Reconfiguration> plan_reconfiguration(const NodeAgent& agent, const Node& to,
                                             const PlanOptions& options) {
  if (const CpuSet offline = agent.offline() & to.machine().all_cpus(); !offline.empty()) {
    const std::string_view them = one_or_more(offline, "it", "them");
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} of this node {} offline, but a plan could use {}: bring {} online; "
                            "if {} will not return, stop the service and run 'pinfold reconfigure'",
                            cpus_named(offline), one_or_more(offline, "is", "are"), them, them,
                            one_or_more(offline, "it", "they")));
  }
  PINFOLD_LET(auto plan,
              pinfold::plan_reconfiguration(agent.node(), agent.state().node, to, options));
  return reconfiguration_of(agent, to, std::move(plan));
}

Result<Reconfiguration> plan_defragmentation(const NodeAgent& agent, const PodSpec& pod,
                                             PlanOptions options) {
  const std::string name = pod.namespace_name + "/" + pod.name;
  if (!agent.offline().empty()) {
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("pod '{}': {} of this node {} offline: no container is moved until {} "
                    "back",
                    name, cpus_named(agent.offline()), one_or_more(agent.offline(), "is", "are"),
                    one_or_more(agent.offline(), "it is", "they are")));
  }
  options.checks = AdmissionChecks::kManagersAndRequests;
  const NodeState& now = agent.state().node;
  PINFOLD_LET(auto found, pinfold::plan_defragmentation(agent.node(), now, pod, options));
  ReconfigurationPlan plan;
  plan.containers = all_containers(now, found.next, found.moves);
  plan.cost = found.cost;
  plan.optimal = found.optimal;
  plan.next = std::move(found.next);
  Reconfiguration planned = reconfiguration_of(agent, agent.node(), std::move(plan));
  planned.room = Room{ref_of(pod), std::move(found.rejection), found.possible, /*is_active=*/false,
                      std::move(found.limit)};
  return planned;
}

Reconfiguration plan_nothing(const NodeAgent& agent) {
  const NodeState& now = agent.state().node;
  ReconfigurationPlan plan;
  plan.next = now;
  plan.containers = compare_states(now, now);
  for (PlannedContainer& container : plan.containers) container.why = "nothing was committed";
  Reconfiguration planned = reconfiguration_of(agent, agent.node(), std::move(plan));
  planned.is_undo = true;
  return planned;
}

Result<Reconfiguration> plan_undo(const NodeAgent& agent, const Node& to) {
  const NodeState& now = agent.state().node;
  for (const ActivePod& pod : now.pods) {
    if (agent.before()->pods.contains(pod.spec.uid)) continue;
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("pod '{}/{}' was admitted after the reconfiguration, so it cannot be undone: "
                    "reconfigure to the earlier configuration instead",
                    pod.spec.namespace_name, pod.spec.name));
  }
  ReconfigurationPlan plan;
  PINFOLD_LET(plan.next, earlier_state(*agent.before(), agent.state().node, to));
  for (const auto& [uid, name, cpus] : now.cpu.assignments) {
    const CpuSet* const had = plan.next.cpu.assignments.find({uid, name});
    // Containers that divide the CPUs of their pod are not resized.
    const bool divides = now.cpu.pods.contains(uid) || plan.next.cpu.pods.contains(uid);
    if (divides || had == nullptr || had->size() == cpus.size()) continue;
    return fail(ErrorCode::kUnsupported,
                fmt::format("container '{}' of pod '{}' was resized after the reconfiguration, so "
                            "it cannot be undone: reconfigure to the earlier configuration instead",
                            name, uid));
  }
  plan.containers = compare_states(now, plan.next);
  for (PlannedContainer& container : plan.containers) {
    container.why = container.change == Change::kKept
                        ? "the same as before the last reconfiguration"
                        : "restored from before the last reconfiguration";
  }
  for (const PodUid& uid : now.held) {
    const auto earlier = containers_with_assignments(plan.next, uid);
    for (const ContainerId& id : containers_with_assignments(now, uid)) {
      if (std::find(earlier.begin(), earlier.end(), id) != earlier.end()) continue;
      return fail(ErrorCode::kUnsupported,
                  fmt::format("container '{}' of the held pod '{}' was admitted after the "
                              "reconfiguration, so it cannot be undone: reconfigure to the "
                              "earlier configuration instead",
                              id.name, id.pod));
    }
  }
  plan.cost = cost_of(plan.containers);
  Reconfiguration planned = reconfiguration_of(agent, to, std::move(plan));
  planned.is_undo = true;
  return planned;
}

Result<void> check_all_stay(const Reconfiguration& planned) {
  const auto& evicted = planned.plan.evicted;
  if (evicted.empty()) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the configuration has changed, and pods no longer fit: {}; 'pinfold "
                          "reconfigure --dry-run' prints why",
                          fmt::join(evicted, ", ")));
}

namespace {

/// Adapts the node to a changed machine if no container has to move, so that hot-added memory needs
/// no command. Otherwise changes nothing.
void take_machine_over(NodeAgent& agent) {
  if (agent.machine_changes().empty() || !agent.offline().empty()) return;
  auto to = make_node(*agent.observed(), agent.node().config());
  if (!to) return;
  const auto planned = plan_reconfiguration(agent, *to, PlanOptions{});
  if (!planned) return;
  const auto& containers = planned->plan.containers;
  const bool all_stay =
      planned->plan.evicted.empty() && planned->plan.short_of_requests.empty() &&
      std::all_of(containers.begin(), containers.end(), [](const PlannedContainer& container) {
        return container.change == Change::kKept;
      });
  if (!all_stay) return;
  const auto done =
      agent.reconfigure(*std::move(to), planned->plan.next, RunningProcesses::kRefuse);
  if (const LogSink& log = agent.options().log; log && done) {
    log(LogLevel::kInfo, fmt::format("adapted the state to the changed machine, no container "
                                     "moves: {}",
                                     fmt::join(planned->differences, "; ")));
  }
}

/// Changes the configuration if all pods can stay.
Result<void> take_configuration_over(NodeAgent& agent, const Config& config) {
  PINFOLD_LET(auto&& to, make_node(agent.node().machine(), config));
  PINFOLD_LET(auto&& planned, plan_reconfiguration(agent, to, PlanOptions{}));
  PINFOLD_TRY(check_all_stay(planned));
  PINFOLD_TRY(agent.reconfigure(std::move(to), planned.plan.next, RunningProcesses::kRefuse));
  const LogSink& log = agent.options().log;
  if (!log) return {};
  for (const std::string& line : planned.differences) log(LogLevel::kInfo, line);
  for (const auto& [pod, why] : planned.plan.short_of_requests) {
    log(LogLevel::kWarning,
        fmt::format("pod '{}': a kubelet that starts would reject it: {}", pod, why.message));
  }
  for (const PlannedContainer& container : planned.plan.containers) {
    if (container.change == Change::kKept) continue;
    log(LogLevel::kInfo, fmt::format("container '{}' of pod '{}': {}: {}", container.id.name,
                                     container.id.pod, to_string(container.change), container.why));
  }
  return {};
}

/// The configuration of the state directory, and the one to use.
struct Configurations {
  std::optional<Config> stored;
  Config desired;
};

Configurations configurations_of(Config config, const AgentOptions& options) {
  auto stored = read_stored_node(options);
  if (!stored) return {std::nullopt, std::move(config)};
  Config desired = with_profile_of(stored->config, std::move(config), options.profile_source);
  return {std::move(stored->config), std::move(desired)};
}

}  // namespace

Result<NodeAgent> open_and_reconfigure(Machine machine, Config config, AgentOptions options) {
  const auto configs =
      std::make_unique<const Configurations>(configurations_of(std::move(config), options));
  const auto& [stored, desired] = *configs;
  PINFOLD_LET(auto agent,
              open_agent(std::move(machine), stored ? *stored : desired, std::move(options)));
  if (stored && *stored != desired) PINFOLD_TRY(take_configuration_over(agent, desired));
  take_machine_over(agent);
  return agent;
}

}  // namespace pinfold::agent
