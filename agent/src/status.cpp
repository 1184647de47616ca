#include "pinfold/agent/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/agent/offline.hpp"

namespace pinfold::agent {
namespace {

using nlohmann::json;

/// Describes how a container differs from the desired settings, and which group above narrows it;
/// "" if it does not differ.
std::string find_problem(const EnforcedLayout& enforced, const std::string& directory,
                         const enforce::GroupSettings& desired, const ObservedContainer& observed) {
  if (!desired.cpus.empty() && observed.effective_cpus != desired.cpus) {
    const std::string by = enforced.narrowed_by(directory, desired.cpus);
    return fmt::format("runs on CPUs {}, expected {}{}{}", observed.effective_cpus.to_string(),
                       desired.cpus.to_string(), by.empty() ? "" : ": ", by);
  }
  if (!desired.mems.empty() && observed.effective_mems != desired.mems) {
    return fmt::format("has memory nodes {}, expected {}", observed.effective_mems.to_string(),
                       desired.mems.to_string());
  }
  return "";
}

/// Joins the drift of a group, without its name: "cpuset.cpus is '0-7', expected '2-3'; ...".
std::string joined(const std::map<enforce::GroupName, std::vector<std::string>>& drift,
                   const enforce::GroupName& name) {
  const auto lines = drift.find(name);
  if (lines == drift.end()) return "";
  const std::string prefix = to_string(name) + ": ";
  std::string text;
  for (const std::string& line : lines->second) {
    if (!text.empty()) text += "; ";
    text += line.starts_with(prefix) ? line.substr(prefix.size()) : line;
  }
  return text;
}

/// Returns why a container has no exclusive CPUs: the note about its pod, else the rule; "" if it
/// has some.
std::string why_shared(const Node& node, const PodSpec& pod, const PodNote* note,
                       const ContainerResources& resources) {
  if (resources.isolation != Isolation::kHost) return "";
  if (note != nullptr && !note->why_shared.empty()) return note->why_shared;
  const Container* const container = pod.find(resources.name);
  return container == nullptr ? "" : node.cpu().why_shared(pod, *container);
}

/// Adds a quota as in the kernel, with -1 for no limit.
void add_quota(const std::optional<enforce::CpuQuota>& quota, const char* name, json& out) {
  if (!quota) return;
  out[name] = {{"quota", quota->quota_us.value_or(-1)}, {"period", quota->period_us}};
}

template <class Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

/// Returns null if no process is known.
json affinity_json(const enforce::Affinity& affinity) {
  if (affinity.main.pid == 0) return {};
  return {{"process", affinity.main.pid},
          {"cpus", affinity.cpus.to_string()},
          {"threads", affinity.threads},
          {"narrowedThreads", affinity.narrowed},
          {"note", limit_of(affinity)}};
}

json to_json(const ContainerStatus& container) {
  const LinuxResources& linux_resources = container.resources.linux_resources;
  json out = {{"name", container.resources.name},
              {"isolation", to_string(container.desired.isolation)},
              {"cpus", container.desired.cpus.to_string()},
              {"exclusiveCpus", container.resources.exclusive_cpus.to_string()},
              {"mems", container.resources.cpuset_mems},
              {"cgroup", container.cgroup},
              {"quota", or_null(linux_resources.cpu_quota)},
              {"period", or_null(linux_resources.cpu_period)},
              {"shares", linux_resources.cpu_shares},
              {"weight", cpu_weight_runtime(linux_resources.cpu_shares)},
              {"memoryLimit", or_null(linux_resources.memory_limit)},
              {"values", container.desired.values},
              {"whyShared", container.why_shared}};
  if (!container.resources.devices.empty()) out["devices"] = container.resources.devices;
  if (!container.cgroup_path.empty()) {
    out["cgroupPath"] = container.cgroup_path;
    out["problem"] = container.problem;
  }
  if (container.observed) {
    out["cpusetCpusEffective"] = container.observed->effective_cpus.to_string();
    out["cpusetMemsEffective"] = container.observed->effective_mems.to_string();
    out["processes"] = container.observed->processes;
    out["pagePlacement"] = container.observed->page_placement;
    out["affinity"] = affinity_json(container.observed->affinity);
    add_quota(container.observed->quota, "cpuQuotaEffective", out);
    add_quota(container.observed->quota_above, "parentCpuQuotaEffective", out);
  }
  return out;
}

}  // namespace

std::optional<PodStatus> desired_pod(const NodeAgent& agent, const AgentState& state,
                                     const PodUid& uid) {
  const ActivePod* const pod = state.node.find(uid);
  if (pod == nullptr) return std::nullopt;
  const Node& node = agent.node();
  const EnforcedLayout* const enforced = agent.enforced();
  const auto path_of = [&](const enforce::GroupName& name) {
    return enforced != nullptr ? enforced->directory(name) : "";
  };
  const enforce::GroupName own(uid);
  const auto found = state.notes.find(uid);
  const PodNote* const note = found == state.notes.end() ? nullptr : &found->second;
  const QosClass qos =
      note != nullptr && note->qos ? *note->qos : qos_class(pod->spec, node.gates());
  PodStatus status{pod->spec, qos, to_string(own), path_of(own), {}, {}};
  std::vector<ContainerResources> containers = all_container_resources(node, state.node, *pod);
  enforce::Layout desired;
  add_pod_layout(node, state, *pod, containers,
                 enforced != nullptr ? enforced->facts() : enforce::KernelFacts{}, desired);
  for (ContainerResources& resources : containers) {
    const enforce::GroupName name = ContainerId{uid, resources.name};
    const auto group = desired.find(name);
    if (group == desired.end()) continue;  // removed
    std::string why = why_shared(node, pod->spec, note, resources);
    status.containers.push_back({std::move(resources),
                                 group->second,
                                 to_string(name),
                                 path_of(name),
                                 {},
                                 std::move(why),
                                 {}});
  }
  return status;
}

std::optional<PodStatus> pod_status(const NodeAgent& agent, const PodUid& uid) {
  return pod_status(agent, uid, agent.desired().layout);
}

std::optional<PodStatus> pod_status(const NodeAgent& agent, const PodUid& uid,
                                    const enforce::Layout& layout) {
  auto status = desired_pod(agent, agent.state(), uid);
  if (!status || !agent.enforces()) return status;
  const auto drift = agent.enforced()->find_drift(layout, uid);
  status->problem = joined(drift, enforce::GroupName(uid));
  for (ContainerStatus& container : status->containers) {
    auto observed = agent.enforced()->observe({uid, container.resources.name});
    if (observed) {
      container.problem =
          find_problem(*agent.enforced(), container.cgroup_path, container.desired, *observed);
      container.observed = *std::move(observed);
    } else {
      container.problem = observed.error().message;
    }
    if (container.problem.empty()) {  // a value, or a wrong set narrowed to the desired one
      container.problem = joined(drift, ContainerId{uid, container.resources.name});
    }
  }
  return status;
}

std::vector<std::string> throttles(const PodStatus& pod) {
  std::vector<std::string> lines;
  for (const ContainerStatus& container : pod.containers) {
    if (container.desired.isolation != Isolation::kContainer || !container.observed) continue;
    const auto add = [&](const std::optional<enforce::CpuQuota>& quota, std::string_view of) {
      if (!quota || !quota->quota_us) return;
      lines.push_back(
          fmt::format("{}/{}/{}: the CFS quota of {} is {} of {} us: it can be throttled",
                      pod.spec.namespace_name, pod.spec.name, container.resources.name, of,
                      *quota->quota_us, quota->period_us));
    };
    add(container.observed->quota, "its group");
    add(container.observed->quota_above, "the group above it");
  }
  return lines;
}

bool is_ok(const PodStatus& pod) {
  return pod.problem.empty() &&
         std::all_of(pod.containers.begin(), pod.containers.end(),
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

Result<PodUid> find_pod_to_remove(const NodeAgent& agent, const std::string& pod) {
  if (agent.state().node.held.contains(PodUid(pod))) return PodUid(pod);
  return find_pod_uid(agent, pod);
}

json to_json(const PodStatus& pod) {
  json containers = json::array();
  for (const ContainerStatus& container : pod.containers) containers.push_back(to_json(container));
  json out = {{"uid", pod.spec.uid.value},
              {"name", pod.spec.name},
              {"namespace", pod.spec.namespace_name},
              {"qosClass", to_string(pod.qos)},
              {"containers", std::move(containers)}};
  if (!pod.cgroup_path.empty()) {
    out["cgroup"] = pod.cgroup;
    out["cgroupPath"] = pod.cgroup_path;
    out["problem"] = pod.problem;
  }
  return out;
}

json cgroups_json(const NodeAgent& agent) {
  const EnforcedLayout* const enforced = agent.enforced();
  if (enforced == nullptr) return nullptr;
  return {
      {"mode", enforced->mode()}, {"root", enforced->root()}, {"warnings", enforced->warnings()}};
}

std::vector<HeldContainer> held_containers(const Desired& desired) {
  std::vector<HeldContainer> held;
  for (const auto& [name, group] : desired.held) {
    held.push_back({name.id(), group.cpus, group.mems});
  }
  return held;
}

Result<NodeStatus> node_status(const NodeAgent& agent) {
  NodeStatus status;
  const Desired desired = agent.desired();
  if (agent.enforces()) {
    PINFOLD_LET(status.foreign, agent.enforced()->find_foreign());
    PINFOLD_LET(status.drift, agent.enforced()->find_drift(desired, status.foreign));
  }
  status.shared_pool = shared_pool(agent.node(), agent.state().node);
  status.reserved = agent.node().cpu().reserved();
  status.offline = agent.offline();
  status.affected = lost_cpus(agent.node(), agent.state(), agent.offline());
  status.machine_changes = agent.machine_changes();
  status.ok = status.drift.empty() && status.offline.empty();
  status.held = held_containers(desired);
  for (const ActivePod& active : agent.state().node.pods) {
    auto pod = pod_status(agent, active.spec.uid, desired.layout);
    if (!pod) continue;
    status.ok = status.ok && is_ok(*pod);
    status.pods.push_back(*std::move(pod));
  }
  return status;
}

json to_json(const NodeStatus& status, const NodeAgent& agent) {
  json out = {{"cgroups", cgroups_json(agent)},
              {"profile", to_string(agent.node().config().profile)},
              {"profileSource", to_string(agent.profile_source())},
              {"sharedPool", status.shared_pool.to_string()},
              {"reserved", status.reserved.to_string()},
              {"pods", json::array()},
              {"held", json::array()},
              {"foreign", json::array()},
              {"drift", status.drift},
              {"offline", status.offline.to_string()},
              {"affected", status.affected},
              {"machineChanges", status.machine_changes},
              {"ok", status.ok}};
  for (const PodStatus& pod : status.pods) out["pods"].push_back(to_json(pod));
  for (const enforce::ForeignGroup& group : status.foreign) {
    out["foreign"].push_back({{"cgroupPath", group.directory},
                              {"cpus", group.cpus.to_string()},
                              {"processes", group.processes}});
  }
  for (const HeldContainer& held : status.held) {
    out["held"].push_back({{"uid", held.id.pod.value},
                           {"container", held.id.name},
                           {"cpus", held.cpus.to_string()},
                           {"mems", held.mems.to_string()}});
  }
  return out;
}

json to_json(const ReconcileReport& report) {
  std::vector<std::string> steps;
  for (const enforce::Step& step : report.done) steps.push_back(to_string(step));
  steps.insert(steps.end(), report.moved.begin(), report.moved.end());
  return {{"drift", report.drift},
          {"steps", steps},
          {"remaining", report.remaining},
          {"notes", report.notes},
          {"ok", report.remaining.empty()}};
}

}  // namespace pinfold::agent
