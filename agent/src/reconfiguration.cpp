#include "pinfold/agent/reconfiguration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "pinfold/agent/desired.hpp"
#include "pinfold/checkpoint/start.hpp"

namespace pinfold::agent {
namespace {

/// The CPUs of a layout's group; all of them if it has its parent's.
CpuSet cpus_in(const enforce::Layout& layout, const ContainerId& id, const CpuSet& all) {
  const auto found = layout.find(enforce::GroupName(id));
  return found == layout.end() || found->second.cpus.empty() ? all : found->second.cpus;
}

AgentState with_node(AgentState state, NodeState node) {
  state.node = std::move(node);
  return state;
}

std::vector<ContainerId> find_parked(const NodeAgent& agent, const Node& to,
                                     const ReconfigurationPlan& plan) {
  const auto before = desired_layout(agent.node(), agent.state(), {});
  const auto after = desired_layout(to, with_node(agent.state(), plan.next), {});
  const CpuSet all = agent.node().machine().all_cpus() & to.machine().all_cpus();
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

void compare_machines(const Machine& before, const Machine& after, std::vector<std::string>& out) {
  const CpuSet gone = before.all_cpus() - after.all_cpus();
  const CpuSet added = after.all_cpus() - before.all_cpus();
  if (!gone.empty()) out.push_back(fmt::format("machine: CPUs {} are gone", gone.to_string()));
  if (!added.empty()) out.push_back(fmt::format("machine: CPUs {} are new", added.to_string()));
  for (const NumaNode& node : before.numa_nodes()) {
    const auto same = std::find_if(after.numa_nodes().begin(), after.numa_nodes().end(),
                                   [&](const NumaNode& other) { return other.id == node.id; });
    const std::string name = fmt::format("machine: NUMA node {}", node.id.value);
    if (same == after.numa_nodes().end()) {
      out.push_back(name + " is gone");
    } else if (same->memory != node.memory || same->hugepages != node.hugepages) {
      out.push_back(
          fmt::format("{}: memory of {} bytes becomes {}", name, node.memory, same->memory));
    }
  }
  if (out.empty() && before != after) out.emplace_back("machine: another topology");
}

/// What a container has according to a state.
PlannedContainer compare(const ContainerId& id, const NodeState& before, const NodeState& after) {
  PlannedContainer out;
  out.id = id;
  const auto cpus_of = [&](const NodeState& state) {
    const CpuSet* const cpus = state.cpu.assignments.find(id);
    return cpus == nullptr ? std::nullopt : std::optional(*cpus);
  };
  const auto memory_of = [&](const NodeState& state) {
    const auto* const blocks = state.memory.assignments.find(id);
    return blocks == nullptr ? std::vector<MemoryBlock>() : *blocks;
  };
  out.cpus_before = cpus_of(before);
  out.cpus_after = cpus_of(after);
  out.memory_before = memory_of(before);
  out.memory_after = memory_of(after);
  if (out.cpus_before == out.cpus_after && out.memory_before == out.memory_after) return out;
  out.change = Change::kMoved;
  if (out.cpus_before && !out.cpus_after) out.change = Change::kBecomesShared;
  if (!out.cpus_before && out.cpus_after) out.change = Change::kBecomesExclusive;
  if (out.cpus_before && out.cpus_after) {
    out.cpus_moved = (*out.cpus_after - *out.cpus_before).size();
  }
  out.why = "it had this before the last reconfiguration";
  return out;
}

/// The state before the last reconfiguration, with the pods of today.
Result<NodeState> earlier_state(const NodeAgent& agent, const Node& to) {
  checkpoint::KubeletFiles files = agent.before()->files;
  auto started = checkpoint::start(to, files, {});
  if (!started) {
    return fail(ErrorCode::kCorrupt, fmt::format("start: {}: {}", to_string(started.error().stage),
                                                 started.error().error));
  }
  NodeState state = *std::move(started);
  const NodeState& now = agent.state().node;
  state.devices = now.devices;
  state.providers = now.providers;
  state.pods = now.pods;
  state.held = now.held;
  return release_stale(to, std::move(state));
}

}  // namespace

std::vector<std::string> differences(const Machine& machine_before, const Config& config_before,
                                     const Machine& machine_after, const Config& config_after) {
  std::vector<std::string> out;
  compare_machines(machine_before, machine_after, out);
  const auto before = to_json(config_before).flatten();
  const auto after = to_json(config_after).flatten();
  const auto text = [](const nlohmann::json& config, const std::string& key) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) return std::string("not set");
    return found->is_string() ? fmt::format("'{}'", found->get<std::string>()) : found->dump();
  };
  std::set<std::string> keys;
  for (const auto& config : {before, after}) {
    for (const auto& [key, value] : config.items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const std::string was = text(before, key);
    const std::string is = text(after, key);
    if (was == is) continue;
    std::string name = key.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    out.push_back(fmt::format("{}: {} becomes {}", name, was, is));
  }
  return out;
}

Result<StoredNode> read_stored_node(const AgentOptions& options) {
  PINFOLD_LET(auto store,
              checkpoint::Store::open_read_only(
                  options.state_dir, checkpoint::owner_check(options.insecure_state_dir)));
  PINFOLD_LET_WRAP(const auto files, store.load(), "read the state");
  const std::string path = fmt::format("'{}/{}'", options.state_dir, checkpoint::kNodeFileName);
  if (!files.node) {
    return fail(ErrorCode::kNotFound,
                path + " does not exist, so nothing says which configuration the state is for");
  }
  PINFOLD_LET_WRAP(auto node, decode_node(*files.node), path);
  return node;
}

Result<Reconfiguration> plan_reconfiguration(const NodeAgent& agent, const Node& to,
                                             const PlanOptions& options) {
  const Node& from = agent.node();
  PINFOLD_LET(auto plan, pinfold::plan_reconfiguration(from, agent.state().node, to, options));
  auto parked = find_parked(agent, to, plan);
  return Reconfiguration{differences(from.machine(), from.config(), to.machine(), to.config()),
                         std::move(plan), std::move(parked)};
}

Reconfiguration plan_nothing(const NodeAgent& agent) {
  const NodeState& now = agent.state().node;
  ReconfigurationPlan plan;
  plan.next = now;
  for (const ActivePod& pod : now.pods) {
    for (const Container& container : pod.spec.containers) {
      plan.containers.push_back(compare({pod.spec.uid, container.name}, now, now));
    }
  }
  return {{}, std::move(plan), {}, /*is_undo=*/true};
}

Result<Reconfiguration> plan_undo(const NodeAgent& agent, const Node& to) {
  const NodeState& now = agent.state().node;
  for (const ActivePod& pod : now.pods) {
    if (agent.before()->pods.contains(pod.spec.uid)) continue;
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("pod '{}/{}' was admitted after the reconfiguration, so there is no way "
                    "back: reconfigure to the earlier configuration instead",
                    pod.spec.namespace_name, pod.spec.name));
  }
  ReconfigurationPlan plan;
  PINFOLD_LET(plan.next, earlier_state(agent, to));
  for (const ActivePod& pod : now.pods) {
    for (const Container& container : pod.spec.containers) {
      plan.containers.push_back(compare({pod.spec.uid, container.name}, now, plan.next));
      const PlannedContainer& planned = plan.containers.back();
      plan.cost.containers_moved += planned.change == Change::kKept ? 0 : 1;
      plan.cost.cpus_moved += planned.cpus_moved;
    }
  }
  auto parked = find_parked(agent, to, plan);
  const Node& from = agent.node();
  return Reconfiguration{differences(from.machine(), from.config(), to.machine(), to.config()),
                         std::move(plan), std::move(parked), /*is_undo=*/true};
}

enforce::Layout earlier_layout(const NodeAgent& agent) {
  if (!agent.before()) return {};
  const auto node = make_node(agent.before()->machine, agent.before()->config);
  if (!node) return {};
  auto state = earlier_state(agent, *node);
  if (!state) return {};
  return desired_layout(*node, with_node(agent.state(), *std::move(state)), {});
}

Result<void> check_all_stay(const Reconfiguration& planned) {
  const auto& evicted = planned.plan.evicted;
  if (evicted.empty()) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the configuration has changed, and pods cannot stay: {}; 'pinfold "
                          "reconfigure --dry-run' prints why",
                          fmt::join(evicted, ", ")));
}

Result<NodeAgent> open_and_reconfigure(Machine machine, Config config, AgentOptions options) {
  const auto stored = read_stored_node(options);
  if (stored && options.profile_source == ProfileSource::kDefault) {
    config.profile = stored->config.profile;
  }
  if (!stored || stored->config == config) {
    return open_agent(std::move(machine), std::move(config), std::move(options));
  }
  const LogSink log = options.log;
  PINFOLD_LET(auto agent, open_agent(std::move(machine), stored->config, std::move(options)));
  PINFOLD_LET(auto to, make_node(agent.node().machine(), std::move(config)));
  PINFOLD_LET(const auto planned, plan_reconfiguration(agent, to, PlanOptions{}));
  PINFOLD_TRY(check_all_stay(planned));
  PINFOLD_TRY(agent.reconfigure(std::move(to), planned.plan.next, RunningProcesses::kRefuse));
  if (!log) return agent;
  for (const std::string& line : planned.differences) log(LogLevel::kInfo, line);
  for (const PlannedContainer& container : planned.plan.containers) {
    if (container.change == Change::kKept) continue;
    log(LogLevel::kInfo, fmt::format("container '{}' of pod '{}': {}: {}", container.id.name,
                                     container.id.pod, to_string(container.change), container.why));
  }
  return agent;
}

}  // namespace pinfold::agent
