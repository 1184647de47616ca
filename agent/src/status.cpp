#include "pinfold/agent/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pinfold::agent {
namespace {

using nlohmann::json;

/// "" or what is wrong with a container.
std::string judge(const enforce::Group& wanted, const SeenContainer& seen) {
  if (!wanted.cpus.empty() && seen.effective_cpus != wanted.cpus) {
    return fmt::format("runs on CPUs {}, expected {}", seen.effective_cpus.to_string(),
                       wanted.cpus.to_string());
  }
  if (!wanted.mems.empty() && seen.effective_mems != wanted.mems) {
    return fmt::format("has memory nodes {}, expected {}", seen.effective_mems.to_string(),
                       wanted.mems.to_string());
  }
  return "";
}

json to_json(const ContainerView& container, NodeAgent& agent) {
  const LinuxResources& linux_resources = container.decided.linux_resources;
  json out = {{"name", container.decided.name},
              {"isolation", to_string(container.wanted.isolation)},
              {"cpus", container.wanted.cpus.to_string()},
              {"exclusive_cpus", container.decided.exclusive_cpus.to_string()},
              {"mems", container.decided.cpuset_mems},
              {"cgroup", container.cgroup},
              {"shares", linux_resources.cpu_shares},
              {"weight", cpu_weight_runtime(linux_resources.cpu_shares)},
              {"values", container.wanted.values}};
  out["quota"] = linux_resources.cpu_quota ? json(*linux_resources.cpu_quota) : json();
  out["period"] = linux_resources.cpu_period ? json(*linux_resources.cpu_period) : json();
  out["memory_limit"] = linux_resources.memory_limit ? json(*linux_resources.memory_limit) : json();
  if (!container.decided.devices.empty()) out["devices"] = container.decided.devices;
  if (agent.enforces()) {
    out["cgroup_path"] = agent.cgroups()->root() + "/" + container.cgroup;
    out["problem"] = container.problem;
  }
  if (container.seen) {
    out["cpuset_cpus_effective"] = container.seen->effective_cpus.to_string();
    out["cpuset_mems_effective"] = container.seen->effective_mems.to_string();
    out["processes"] = container.seen->processes;
    out["pages_in_place"] = container.seen->pages_in_place;
  }
  return out;
}

}  // namespace

std::optional<PodView> decided_pod(const Node& node, const AgentState& state,
                                   const enforce::KernelFacts& facts, const std::string& pod_uid) {
  const ActivePod* const pod = state.node.find(pod_uid);
  if (pod == nullptr) return std::nullopt;
  PodView view;
  view.spec = pod->spec;
  view.qos = qos_class(pod->spec, node.gates().pod_level_resources);
  const enforce::Layout wanted = wanted_layout(node, state, facts);
  for (const Container& container : pod->spec.containers) {
    const enforce::GroupName name{pod_uid, container.name};
    const auto group = wanted.find(name);
    if (group == wanted.end()) continue;  // gone
    auto decided = container_resources(node, state.node, pod_uid, container.name);
    if (!decided) continue;
    view.containers.push_back({*std::move(decided), group->second, to_string(name), {}, {}});
  }
  return view;
}

std::optional<PodView> view_pod(NodeAgent& agent, const std::string& pod_uid) {
  auto view = decided_pod(agent.node(), agent.state(), agent.facts(), pod_uid);
  if (!view || !agent.enforces()) return view;
  for (ContainerView& container : view->containers) {
    auto seen = agent.look({pod_uid, container.decided.name});
    if (seen) {
      container.problem = judge(container.wanted, *seen);
      container.seen = *std::move(seen);
    } else {
      container.problem = seen.error().message;
    }
  }
  return view;
}

bool is_well(const PodView& pod) {
  return std::all_of(pod.containers.begin(), pod.containers.end(),
                     [](const ContainerView& container) { return container.problem.empty(); });
}

Result<std::string> find_pod_uid(const NodeAgent& agent, const std::string& pod) {
  std::vector<std::string> found;
  for (const ActivePod& active : agent.state().node.pods) {
    const PodSpec& spec = active.spec;
    if (spec.uid == pod) return spec.uid;
    if (spec.name == pod || spec.namespace_name + "/" + spec.name == pod) {
      found.push_back(spec.uid);
    }
  }
  if (found.empty()) {
    return fail(
        ErrorCode::kNotFound,
        fmt::format("pod '{}': expected the UID, name or namespace/name of an active pod", pod));
  }
  if (found.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("pod '{}': {} active pods have this name, give the UID: {}", pod,
                            found.size(), fmt::join(found, ", ")));
  }
  return found.front();
}

json to_json(const PodView& pod, NodeAgent& agent) {
  json containers = json::array();
  for (const ContainerView& container : pod.containers) {
    containers.push_back(to_json(container, agent));
  }
  json out = {{"uid", pod.spec.uid},
              {"name", pod.spec.name},
              {"namespace", pod.spec.namespace_name},
              {"qosClass", to_string(pod.qos)},
              {"containers", std::move(containers)}};
  if (agent.enforces()) {
    out["cgroup"] = to_string(enforce::GroupName{pod.spec.uid, ""});
    out["cgroup_path"] = agent.cgroups()->root() + "/" + out["cgroup"].get<std::string>();
  }
  return out;
}

json cgroups_json(NodeAgent& agent) {
  if (!agent.enforces()) return nullptr;
  return {{"mode", agent.cgroups()->mode()},
          {"root", agent.cgroups()->root()},
          {"warnings", agent.cgroups()->warnings()}};
}

Result<NodeView> view_node(NodeAgent& agent) {
  PINFOLD_LET(auto drift, agent.find_drift());
  NodeView view;
  view.shared_pool = shared_pool(agent.node(), agent.state().node);
  view.reserved = agent.node().cpu().reserved();
  view.drift = std::move(drift);
  view.affected = agent.affected();
  view.is_good = view.drift.empty() && agent.offline().empty();
  for (const ActivePod& pod : agent.state().node.pods) {
    auto one = view_pod(agent, pod.spec.uid);
    if (!one) continue;
    view.is_good = view.is_good && is_well(*one);
    view.pods.push_back(*std::move(one));
  }
  return view;
}

json to_json(const NodeView& view, NodeAgent& agent) {
  json out = {{"cgroups", cgroups_json(agent)},
              {"shared_pool", view.shared_pool.to_string()},
              {"reserved", view.reserved.to_string()},
              {"pods", json::array()},
              {"drift", view.drift},
              {"offline", agent.offline().to_string()},
              {"affected", view.affected},
              {"ok", view.is_good}};
  for (const PodView& pod : view.pods) out["pods"].push_back(to_json(pod, agent));
  return out;
}

json to_json(const ReconcileReport& report) {
  std::vector<std::string> steps;
  for (const enforce::Step& step : report.done) steps.push_back(to_string(step));
  steps.insert(steps.end(), report.moved.begin(), report.moved.end());
  return {{"drift", report.drift},
          {"steps", steps},
          {"remaining", report.remaining},
          {"ok", report.remaining.empty()}};
}

}  // namespace pinfold::agent
