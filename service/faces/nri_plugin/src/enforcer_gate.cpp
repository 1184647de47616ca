#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "enforcer.hpp"
#include "pinfold/nri_plugin/group_path.hpp"

/// Decides whether a container may be created and started. Strict only where exclusive CPUs are at
/// stake.
namespace pinfold::nri {
namespace {

using agent::LogLevel;
using agent::NodeAgent;

/// Checks, and if that fails reconciles and checks once more: a container may have ended during the
/// first write.
template <class Check>
Result<void> ensure(NodeAgent& agent, Check check) {
  if (check()) return {};
  (void)verbs::execute(agent, verbs::Reconcile{});
  return check();
}

/// Returns whether a handler is known to make no group per container. For messages only.
bool is_sandboxed_by_name(std::string_view handler) {
  return handler.starts_with("kata") || handler == "runsc" || handler == "gvisor";
}

/// "runtime class 'kata-qemu' has no group for each container".
std::string lack_of_groups(const api::PodSandbox& pod, bool is_declared) {
  const std::string& handler = pod.runtime_handler();
  const bool is_sure = is_declared || is_sandboxed_by_name(handler);
  return fmt::format("runtime class '{}' {} no group for each container",
                     handler.empty() ? "(default)" : handler, is_sure ? "has" : "seems to have");
}

bool is_in_list(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

std::string title_of(const ContainerId& id) {
  return fmt::format("container '{}' of pod '{}'", id.name, id.pod);
}

bool has_exclusive_cpus(const agent::Desired& desired, const ContainerId& id) {
  const auto found = desired.layout.find(id);
  return found != desired.layout.end() && found->second.isolation != Isolation::kHost;
}

/// Makes sure that nothing else can run on the CPUs that become exclusive to a container, before it
/// is created. Its own group does not exist yet.
Result<void> Enforcer::make_room(Agent& agent, const api::PodSandbox& pod, const ContainerId& id) {
  const bool is_exclusive = has_exclusive_cpus(agent.desired(), id);
  if (is_exclusive) {
    PINFOLD_TRY(ensure(agent, [&] { return agent.verify_room(id); }));
  }
  // Leftovers are looked for again at the start.
  (void)confine_others(agent);
  const bool is_declared = is_in_list(options_.handlers_without_groups, pod.runtime_handler());
  return is_exclusive && is_declared ? enter_sandbox(agent, pod, id) : Result<void>();
}

Result<void> Enforcer::start_exclusive(Agent& agent, const api::StateChangeEvent& event,
                                       const ContainerId& id) {
  PINFOLD_LET(const std::string directory,
              group_directory(options_.mount, event.container().linux().cgroups_path()));
  if (is_run_by_sandbox(agent, event.pod(), event.container(), directory)) {
    PINFOLD_TRY(enter_sandbox(agent, event.pod(), id));
  } else {
    PINFOLD_TRY(adopt(agent, {{id.pod, id.name}, directory}));
    PINFOLD_TRY(ensure(agent, [&] { return agent.verify(id); }));
  }
  const CpuSet left = confine_others(agent) & desired_cpus(agent.desired(), id);
  if (left.empty()) return {};
  return fail(ErrorCode::kBusy,
              fmt::format("other groups can run on its exclusive CPUs {}", left.to_string()));
}

/// A container in the shared pool may have fewer CPUs than it should, or no group, since that harms
/// no other container.
Result<void> Enforcer::start_shared(Agent& agent, const api::StateChangeEvent& event,
                                    const ContainerId& id) {
  const auto directory = group_directory(options_.mount, event.container().linux().cgroups_path());
  const bool has_group =
      directory && !is_run_by_sandbox(agent, event.pod(), event.container(), *directory);
  if (has_group) {
    const auto adopted = adopt(agent, {{id.pod, id.name}, *directory});
    if (!adopted) {
      log(LogLevel::kWarning, fmt::format("NRI: the group of {} is not managed: {}", title_of(id),
                                          adopted.error().message));
    }
  }
  (void)confine_others(agent, has_group ? *directory : "");
  if (!has_group) return {};
  note_narrowed(agent, id);
  return check_off_exclusive(agent, *directory);
}

/// Errors: kBusy if a group can run on exclusive CPUs because it cannot be confined.
Result<void> Enforcer::check_off_exclusive(const Agent& agent, const std::string& directory) const {
  const CpuSet exclusive = exclusive_cpus(agent.desired());
  const auto group = agent.enforced()->reader(directory);
  if (!group) return {};  // it has ended
  CpuSet has = group->cpus().value_or(CpuSet());
  if (has.empty()) has = agent.enforced()->cpus_above(directory).value_or(CpuSet());
  if (!has.intersects(exclusive)) return {};
  const auto known = unconfined_.find(directory);
  return fail(
      ErrorCode::kBusy,
      fmt::format("'{}' can run on CPUs {}, which are exclusive to other containers, and could "
                  "not be confined: {}",
                  directory, (has & exclusive).to_string(),
                  known == unconfined_.end() ? "no CPU is left for it" : known->second));
}

/// Logs once why a container has other CPUs than it should.
void Enforcer::note_narrowed(const Agent& agent, const ContainerId& id) {
  const agent::Desired desired = agent.desired();
  const CpuSet cpus = desired_cpus(desired, id);
  const auto observed = agent.enforced()->observe(id);
  std::string line;
  if (observed && !cpus.empty() && observed->effective_cpus != cpus) {
    const std::string by = agent.enforced()->narrowed_by(agent.enforced()->directory(id), cpus);
    line = fmt::format("NRI: {} runs on CPUs {}, expected {}{}{}", title_of(id),
                       observed->effective_cpus.to_string(), cpus.to_string(),
                       by.empty() ? "" : ": ", by);
  }
  std::erase_if(narrowed_, [&](const auto& entry) {
    return agent.state().node.find(entry.first.pod) == nullptr;
  });
  if (std::exchange(narrowed_[id], line) != line && !line.empty()) log(LogLevel::kWarning, line);
}

/// Returns whether a container has no process of its own on this node. A group without processes
/// may also be that of a container that has just ended. `directory` is the container's group.
bool Enforcer::is_run_by_sandbox(const Agent& agent, const api::PodSandbox& pod,
                                 const api::Container& container,
                                 const std::string& directory) const {
  if (runs_in(agent, directory)) return false;
  const std::string& handler = pod.runtime_handler();
  const bool is_sandboxed =
      is_in_list(options_.handlers_without_groups, handler) || is_sandboxed_by_name(handler);
  if (is_sandboxed || !agent.enforced()->reader(directory)) return true;
  const auto sandbox = sandbox_group(agent, pod);
  if (!sandbox || container.pid() == 0) return false;
  const auto pids = processes_of(agent, *sandbox);
  return std::find(pids.begin(), pids.end(), static_cast<pid_t>(container.pid())) != pids.end();
}

/// Returns the group of a sandbox, whose processes run its containers.
Result<std::string> Enforcer::sandbox_group(const Agent& agent, const api::PodSandbox& pod) const {
  PINFOLD_LET(const std::string above, pod_directory(options_.mount, pod.linux().cgroup_parent()));
  const auto group = agent.enforced()->reader(above);
  const auto children = group ? group->children() : Result<std::vector<std::string>>();
  for (const std::string& name : children.value_or(std::vector<std::string>())) {
    std::string directory = fmt::format("{}/{}", above, name);
    if (enforce::is_group_of(directory, pod.id()) && runs_in(agent, directory)) return directory;
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' has no group of sandbox '{}' with processes", above, pod.id()));
}

bool Enforcer::is_in_sandbox(const Agent& agent, const ContainerId& id) const {
  const std::string* const directory = agent.state().adopted.find(id);
  return directory != nullptr &&
         std::any_of(known_.all().begin(), known_.all().end(), [&](const auto& entry) {
           return entry.second.uid() == id.pod && enforce::is_group_of(*directory, entry.first);
         });
}

/// Gives the sandbox's group the exclusive CPUs of all containers of the pod, and no shared ones,
/// because all of them run in it.
Result<void> Enforcer::enter_sandbox(Agent& agent, const api::PodSandbox& pod,
                                     const ContainerId& id) {
  const std::string lack =
      lack_of_groups(pod, is_in_list(options_.handlers_without_groups, pod.runtime_handler()));
  const std::string intent = lack + ", and its pods get no exclusive CPUs";
  PINFOLD_LET_WRAP(const std::string directory, sandbox_group(agent, pod), intent);
  PINFOLD_TRY_WRAP(adopt(agent, {enforce::GroupName(id.pod), directory}), intent);
  PINFOLD_TRY_WRAP(ensure(agent, [&] { return agent.verify(id); }), intent);
  log(LogLevel::kInfo,
      fmt::format("NRI: {}: {}: its CPUs {} are given to its sandbox, '{}'", title_of(id), lack,
                  desired_cpus(agent.desired(), id).to_string(), directory));
  return {};
}

/// Releases what was decided for a container that was not created or has not started. A pod without
/// any other container is removed; it is decided again when one is created.
void Enforcer::take_back(Agent& agent, const api::PodSandbox& pod, const ContainerId& id) {
  const ActivePod* const active = agent.state().node.find(id.pod);
  if (active == nullptr) return;
  bool has_others = false;
  for (const auto& [sandbox, known] : known_.all()) {
    if (known.uid() != id.pod) continue;
    for (const KnownContainer& other : known.containers) {
      has_others = has_others || (other.shown.name() != id.name && other.phase != Phase::kStopped);
    }
  }
  // The pod is decided as a whole, so its resources also belong to the others.
  if (has_others && pod.annotations().contains(std::string(kResourcesAnnotation))) return;
  const PodSpec before = active->spec;
  for (const Container& container : before.containers) {
    const ContainerId one{id.pod, container.name};
    const bool leaves = !has_others || container.name == id.name;
    if (leaves && is_in_sandbox(agent, one)) (void)agent.disown(one, agent::LeftProcesses::kAllow);
  }
  AgentRequests requests;
  if (has_others) {
    requests.remove_containers = {id};
    PodSpec rest = before;
    std::erase_if(rest.containers, [&](const Container& one) { return one.name == id.name; });
    requests.admit.push_back(std::move(rest));
  } else {
    requests.remove_pods = {id.pod};
  }
  if (const auto done = execute(agent, requests); !done) {
    log(LogLevel::kWarning, fmt::format("NRI: {} could not be removed again and keeps its "
                                        "resources: {}",
                                        title_of(id), done.error().message));
  }
}

/// Returns the CPUs that a shared container can have. On cgroup v1 a group cannot have a CPU that
/// its parent does not have, and a runtime does not start a container whose cpuset the kernel
/// rejects. On v2 a container that can have none of its CPUs would get all of its parent's; it gets
/// those that are exclusive to no container. Empty: those of the parent.
CpuSet Enforcer::attainable(const Agent& agent, const ContainerId& id,
                            const api::Container& container, const std::string& cpus) const {
  CpuSet desired = CpuSet::parse(cpus).value_or(CpuSet());
  const auto& facts = agent.enforced()->facts();
  const auto version = facts.controllers.find(enforce::Controller::kCpuset);
  const bool is_v2 =
      version != facts.controllers.end() && version->second == enforce::CgroupVersion::kV2;
  if (desired.empty()) return desired;
  const auto directory = group_directory(options_.mount, container.linux().cgroups_path());
  const auto above = directory ? agent.enforced()->cpus_above(*directory) : std::nullopt;
  if (!above || above->contains_all(desired)) return desired;
  const CpuSet both = desired & *above;
  if (is_v2 && both.empty()) {
    CpuSet free = *above - exclusive_cpus(agent.desired());
    return free.empty() ? desired : free;
  }
  return is_v2 || has_exclusive_cpus(agent.desired(), id) ? desired : both;
}

void Enforcer::fit(const Agent& agent, const ContainerId& id, const api::Container& container,
                   api::LinuxCPU& cpu) const {
  if (cpu.cpus().empty()) return;
  cpu.set_cpus(attainable(agent, id, container, cpu.cpus()).to_string());
}

void Enforcer::fit(const Agent& agent, api::ContainerUpdate& update) const {
  for (const auto& [sandbox, pod] : known_.all()) {
    for (const KnownContainer& container : pod.containers) {
      if (container.shown.id() != update.container_id()) continue;
      const auto id = find_container(agent.state().node, pod.uid(), container.shown.name());
      if (!id) return;
      return fit(agent, *id, container.shown,
                 *update.mutable_linux()->mutable_resources()->mutable_cpu());
    }
  }
}

}  // namespace pinfold::nri
