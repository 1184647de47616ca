#include "pinfold/agent/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pinfold::agent {
namespace {

using nlohmann::json;

/// "" or what is wrong with a container.
std::string judge(const enforce::GroupSettings& desired, const ObservedContainer& observed) {
  if (!desired.cpus.empty() && observed.effective_cpus != desired.cpus) {
    return fmt::format("runs on CPUs {}, expected {}", observed.effective_cpus.to_string(),
                       desired.cpus.to_string());
  }
  if (!desired.mems.empty() && observed.effective_mems != desired.mems) {
    return fmt::format("has memory nodes {}, expected {}", observed.effective_mems.to_string(),
                       desired.mems.to_string());
  }
  return "";
}

json to_json(const ContainerStatus& container, NodeAgent& agent) {
  const LinuxResources& linux_resources = container.resources.linux_resources;
  json out = {{"name", container.resources.name},
              {"isolation", to_string(container.desired.isolation)},
              {"cpus", container.desired.cpus.to_string()},
              {"exclusive_cpus", container.resources.exclusive_cpus.to_string()},
              {"mems", container.resources.cpuset_mems},
              {"cgroup", container.cgroup},
              {"shares", linux_resources.cpu_shares},
              {"weight", cpu_weight_runtime(linux_resources.cpu_shares)},
              {"values", container.desired.values}};
  out["quota"] = linux_resources.cpu_quota ? json(*linux_resources.cpu_quota) : json();
  out["period"] = linux_resources.cpu_period ? json(*linux_resources.cpu_period) : json();
  out["memory_limit"] = linux_resources.memory_limit ? json(*linux_resources.memory_limit) : json();
  if (!container.resources.devices.empty()) out["devices"] = container.resources.devices;
  if (agent.enforces()) {
    out["cgroup_path"] = agent.cgroups()->root() + "/" + container.cgroup;
    out["problem"] = container.problem;
  }
  if (container.observed) {
    out["cpuset_cpus_effective"] = container.observed->effective_cpus.to_string();
    out["cpuset_mems_effective"] = container.observed->effective_mems.to_string();
    out["processes"] = container.observed->processes;
    out["pages_in_place"] = container.observed->page_placement;
  }
  return out;
}

}  // namespace

std::optional<PodStatus> desired_pod(const Node& node, const AgentState& state,
                                     const enforce::KernelFacts& facts, const PodUid& uid) {
  const ActivePod* const pod = state.node.find(uid);
  if (pod == nullptr) return std::nullopt;
  PodStatus view;
  view.spec = pod->spec;
  view.qos = qos_class(pod->spec, node.gates().pod_level_resources);
  const enforce::Layout desired = desired_layout(node, state, facts);
  for (const Container& container : pod->spec.containers) {
    const ContainerId id{uid, container.name};
    const auto group = desired.find(id);
    if (group == desired.end()) continue;  // gone
    auto decided = container_resources(node, state.node, id);
    if (!decided) continue;
    view.containers.push_back(
        {*std::move(decided), group->second, to_string(group->first), {}, {}});
  }
  return view;
}

std::optional<PodStatus> pod_status(NodeAgent& agent, const PodUid& uid) {
  auto view = desired_pod(agent.node(), agent.state(), agent.facts(), uid);
  if (!view || !agent.enforces()) return view;
  for (ContainerStatus& container : view->containers) {
    auto observed = agent.look({uid, container.resources.name});
    if (observed) {
      container.problem = judge(container.desired, *observed);
      container.observed = *std::move(observed);
    } else {
      container.problem = observed.error().message;
    }
  }
  return view;
}

bool is_ok(const PodStatus& pod) {
  return std::all_of(pod.containers.begin(), pod.containers.end(),
                     [](const ContainerStatus& container) { return container.problem.empty(); });
}

Result<PodUid> find_pod_uid(const NodeAgent& agent, const std::string& pod) {
  std::vector<PodUid> found;
  for (const ActivePod& active : agent.state().node.pods) {
    const PodSpec& spec = active.spec;
    if (spec.uid.value == pod) return spec.uid;
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

json to_json(const PodStatus& pod, NodeAgent& agent) {
  json containers = json::array();
  for (const ContainerStatus& container : pod.containers) {
    containers.push_back(to_json(container, agent));
  }
  json out = {{"uid", pod.spec.uid.value},
              {"name", pod.spec.name},
              {"namespace", pod.spec.namespace_name},
              {"qosClass", to_string(pod.qos)},
              {"containers", std::move(containers)}};
  if (agent.enforces()) {
    out["cgroup"] = to_string(enforce::GroupName(pod.spec.uid));
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

Result<NodeStatus> node_status(NodeAgent& agent) {
  PINFOLD_LET(auto drift, agent.find_drift());
  NodeStatus view;
  view.shared_pool = shared_pool(agent.node(), agent.state().node);
  view.reserved = agent.node().cpu().reserved();
  view.drift = std::move(drift);
  view.affected = agent.affected();
  view.ok = view.drift.empty() && agent.offline().empty();
  for (const ActivePod& pod : agent.state().node.pods) {
    auto one = pod_status(agent, pod.spec.uid);
    if (!one) continue;
    view.ok = view.ok && is_ok(*one);
    view.pods.push_back(*std::move(one));
  }
  return view;
}

json to_json(const NodeStatus& view, NodeAgent& agent) {
  json out = {{"cgroups", cgroups_json(agent)},
              {"shared_pool", view.shared_pool.to_string()},
              {"reserved", view.reserved.to_string()},
              {"pods", json::array()},
              {"drift", view.drift},
              {"offline", agent.offline().to_string()},
              {"affected", view.affected},
              {"ok", view.ok}};
  for (const PodStatus& pod : view.pods) out["pods"].push_back(to_json(pod, agent));
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
