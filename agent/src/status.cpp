#include "pinfold/agent/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/agent/offline.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::agent {
namespace {

/// Describes how a container differs from the desired settings, and which group above narrows it;
/// "" if it does not differ.
std::string find_problem(const ObservedCgroups& enforced, const std::string& directory,
                         const enforce::GroupSettings& desired, const ObservedContainer& observed) {
  if (!desired.cpus.empty() && observed.effective_cpus != desired.cpus) {
    const std::string by = enforced.narrowed_by(directory, desired.cpus);
    return fmt::format("runs on {}, expected {}{}{}", cpus_named(observed.effective_cpus),
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

}  // namespace

std::optional<PodStatus> desired_pod(const NodeAgent& agent, const AgentState& state,
                                     const PodUid& uid) {
  const ActivePod* const pod = state.node.find(uid);
  if (pod == nullptr) return std::nullopt;
  const Node& node = agent.node();
  const ObservedCgroups* const enforced = agent.enforced();
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
  if (!desired.contains(own)) status.cgroup_path.clear();
  for (ContainerResources& resources : containers) {
    const enforce::GroupName name = ContainerId{uid, resources.name};
    const auto group = desired.find(name);
    if (group == desired.end()) continue;  // removed
    std::string why = why_shared(node, pod->spec, note, resources);
    const bool is_started = pod->started.contains(resources.name);
    status.containers.push_back({std::move(resources),
                                 is_started,
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
    add(container.observed->quota_above, "its parent group");
  }
  return lines;
}

bool is_ok(const PodStatus& pod) {
  return pod.problem.empty() &&
         std::all_of(pod.containers.begin(), pod.containers.end(),
                     [](const ContainerStatus& container) { return container.problem.empty(); });
}

Result<PodUid> find_pod_uid(const NodeState& state, const std::string& pod) {
  std::vector<PodUid> found;
  for (const ActivePod& active : state.pods) {
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

Result<PodUid> find_pod_uid(const NodeAgent& agent, const std::string& pod) {
  return find_pod_uid(agent.state().node, pod);
}

Result<PodUid> find_pod_to_remove(const NodeAgent& agent, const std::string& pod) {
  if (agent.state().node.held.contains(PodUid(pod))) return PodUid(pod);
  return find_pod_uid(agent.state().node, pod);
}

PodStatus pod_without_groups(const NodeAgent& agent, const PodSpec& spec) {
  PodStatus pod;
  pod.spec = spec;
  pod.qos = qos_class(spec, agent.node().gates());
  return pod;
}

DecidedPod decided_pod(const NodeAgent& agent, const AgentState& state, const PodSpec& spec,
                       std::optional<Rejection> rejection) {
  DecidedPod pod;
  auto status = rejection ? std::nullopt : desired_pod(agent, state, spec.uid);
  static_cast<PodStatus&>(pod) = status ? *std::move(status) : pod_without_groups(agent, spec);
  pod.rejection = std::move(rejection);
  return pod;
}

std::vector<DecidedPod> decided_pods(const NodeAgent& agent) {
  const AgentState& state = agent.state();
  std::vector<DecidedPod> pods;
  for (const ActivePod& pod : state.node.pods) {
    pods.push_back(decided_pod(agent, state, pod.spec, std::nullopt));
  }
  std::map<PodUid, DecidedPod> held;
  for (const PodUid& uid : state.node.held) {
    const PodRef known = ref_of(state.node, uid);
    DecidedPod& pod = held[uid];
    pod.spec.uid = uid;
    pod.spec.namespace_name = known.namespace_name;
    pod.spec.name = known.name;
    pod.is_held = true;
  }
  for (const HeldContainer& container : held_containers(agent.desired(), state.node)) {
    ContainerStatus& status = held[container.container.pod.uid].containers.emplace_back();
    status.resources.name = container.container.container;
    status.resources.cpuset_mems = container.mems.to_string();
    status.resources.exclusive_cpus = container.cpus;
    status.desired.cpus = container.cpus;
    status.desired.isolation = Isolation::kContainer;
  }
  for (auto& [uid, pod] : held) pods.push_back(std::move(pod));
  return pods;
}

std::optional<CgroupsStatus> cgroups_status(const NodeAgent& agent) {
  const ObservedCgroups* const enforced = agent.enforced();
  if (enforced == nullptr) return std::nullopt;
  return CgroupsStatus{std::string(enforced->mode()), enforced->root(), enforced->warnings()};
}

std::vector<HeldContainer> held_containers(const Desired& desired, const NodeState& state) {
  std::vector<HeldContainer> held;
  for (const auto& [name, group] : desired.held) {
    held.push_back({{ref_of(state, name.pod), name.id().name}, group.cpus, group.mems});
  }
  return held;
}

namespace {

/// Sums the requests; leaves out sizes of huge pages for which the machine reserves no memory.
std::vector<RequestSum> request_sums(const Node& node, const NodeState& state) {
  const ResourceList requested = requests_of_pods(node.gates(), state);
  std::vector<RequestSum> sums;
  for (const auto& [resource, most] : allocatable(node)) {
    if (most.is_zero() && is_huge_page_resource(resource)) continue;
    sums.push_back({resource, amount_of(requested, resource), most});
  }
  return sums;
}

}  // namespace

Result<NodeStatus> node_status(const NodeAgent& agent) {
  NodeStatus status;
  const Desired desired = agent.desired();
  status.cgroups = cgroups_status(agent);
  status.profile = agent.node().config().profile;
  status.profile_source = agent.options().profile_source;
  if (agent.enforces()) {
    PINFOLD_LET(status.foreign, agent.enforced()->find_foreign());
    PINFOLD_LET(status.drift, agent.enforced()->find_drift(desired, status.foreign));
  }
  status.shared_pool = shared_pool(agent.node(), agent.state().node);
  status.reserved = agent.node().cpu().reserved();
  status.offline = agent.offline();
  status.requests = request_sums(agent.node(), agent.state().node);
  status.affected = lost_cpus(agent.node(), agent.state(), agent.offline());
  status.machine_changes = agent.machine_changes();
  status.ok = status.drift.empty() && status.offline.empty();
  status.held = held_containers(desired, agent.state().node);
  for (const ActivePod& active : agent.state().node.pods) {
    auto pod = pod_status(agent, active.spec.uid, desired.layout);
    if (!pod) continue;
    status.ok = status.ok && is_ok(*pod);
    status.pods.push_back(*std::move(pod));
  }
  return status;
}

}  // namespace pinfold::agent
