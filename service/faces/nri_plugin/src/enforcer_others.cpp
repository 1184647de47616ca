#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "enforcer.hpp"
#include "pinfold/agent/offline.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/nri_plugin/group_path.hpp"
#include "pod_quotas.hpp"

// How it works
//
// The agent pins the groups of containers that it has adopted. All other groups below the kubelet's
// directories, of sandboxes and of containers that it does not know, could run on exclusive CPUs.
// This file finds and confines them to the shared pool:
// - others_of() says where to look: the directories of kubelets, and the pods that the runtime
//   shows.
// - confine_others() walks these trees without the adopted groups, and writes the pool to each
//   group that has processes and can run on an exclusive CPU. A group that cannot be confined and
//   is no sandbox has its processes killed.
// - follow_pool() lets confined groups grow with the pool, unless the layout is dirty, that is
//   unless a change of the cgroups is still outstanding.
// - look() also adopts containers whose start no event has reported, and ends pods whose group is
//   gone.
//
// Invariants:
// - Before a container gets exclusive CPUs, groups are confined to what will be left of the pool.
// - A group is never confined because of CPUs that it will own: a container that was created but
//   whose start is not reported yet keeps its desired CPUs.
// - While held pods exist and the runtime has not shown its pods, look() and leave_room() confine
//   nothing: the groups of held pods look like unknown ones.
//
// Cost: a look reads each group in the searched trees once.

/// Keeps groups that the runtime does not show off exclusive CPUs.
namespace pinfold::nri {
namespace {

using agent::LogLevel;
using verbs::EventKind;

/// Returns false if the group was removed. A group without a cpuset also exists.
bool exists(const enforce::Group& group) {
  const auto& part = group.cpuset();
  const auto listed = part.fs->children(part.path);
  return listed || !enforce::is_gone(listed.error());
}

}  // namespace

std::vector<pid_t> processes_of(const agent::NodeAgent& agent, const std::string& directory) {
  const auto group = agent.enforced()->open_elsewhere(directory);
  const auto found = group ? processes_below(*group) : Result<std::vector<pid_t>>();
  return found.value_or(std::vector<pid_t>());
}

bool runs_in(const agent::NodeAgent& agent, const std::string& directory) {
  const auto group = agent.enforced()->open_elsewhere(directory);
  if (!group) return !enforce::is_gone(group.error());
  const auto found = processes_below(*group);
  return found ? !found->empty() : !enforce::is_gone(found.error());
}

bool is_group_of(const std::string& directory, const std::string& id) {
  std::string_view name = directory;
  name.remove_prefix(name.rfind('/') + 1);
  if (name.ends_with(".scope")) name.remove_suffix(6);
  if (id.empty() || !name.ends_with(id)) return false;
  name.remove_suffix(id.size());
  return name.empty() || name.ends_with('-') || name.ends_with('_');
}

void Enforcer::look(Agent& agent) {
  if (is_synchronized_) {
    remove_ended_pods(agent);
    adopt_unreported(agent);
    adopt_running(agent);  // groups that could not be stored at their start
    note_unexplained(agent);
    set_pod_quotas(agent);
  }
  confined_.forget_gone(*agent.enforced());
  if (knows_all_pods(agent)) (void)confine_others(agent, desired_now(agent));
}

void Enforcer::set_pod_quotas(const Agent& agent) const {
  for (const auto& [id, pod] : known_.all()) {
    set_pod_quota(agent, options_.mount, pod, options_.log);
  }
}

void Enforcer::leave_room(const Agent& agent, const CpuSet& allowed) {
  if (!knows_all_pods(agent)) return;
  agent::Desired desired = agent.desired();
  desired.pool = allowed;
  (void)confine_others(agent, desired);  // leftovers are looked for again
}

/// Until the runtime has shown its pods, groups of held pods cannot be told from others.
bool Enforcer::knows_all_pods(const Agent& agent) const {
  return is_synchronized_ || agent.state().node.held.empty();
}

/// Ends pods whose group is gone: after a restart of the runtime no event reports the end of a
/// sandbox, but the kubelet removes the group of a pod that has ended.
void Enforcer::remove_ended_pods(Agent& agent) {
  std::vector<api::StateChangeEvent> ends;
  for (const auto& [id, pod] : known_.all()) {
    const auto directory = pod_directory(options_.mount, pod.sandbox.linux().cgroup_parent());
    if (!directory) continue;
    const auto group = agent.enforced()->open_elsewhere(*directory);
    if (group || !enforce::is_gone(group.error())) continue;
    log(LogLevel::kInfo,
        fmt::format("NRI: pod '{}' has ended: '{}' is gone", pod.sandbox.uid(), *directory));
    api::StateChangeEvent& end = ends.emplace_back();
    end.set_event(api::Event::REMOVE_POD_SANDBOX);
    *end.mutable_pod() = pod.sandbox;
  }
  for (const api::StateChangeEvent& end : ends) known_.change(end);
  remove_ended(agent);
}

/// Adopts a container about whose start no plugin was asked: containerd 1.7 starts containers while
/// a plugin synchronizes, and shows them as created or not at all.
void Enforcer::adopt_started(Agent& agent, const api::StateChangeEvent& event) {
  const api::Container& container = event.container();
  const KnownContainer* const known = known_.find_name_of(container);
  const bool is_known = knows(container);
  const auto own = group_directory(options_.mount, container.linux().cgroups_path());
  // An event of an earlier container of the same name arrives late, when its processes have ended.
  // A later container has processes, even if no event has reported the end of the earlier one.
  const bool is_other_known = !is_known && known != nullptr && known->phase != Phase::kStopped;
  if (is_other_known && (!own || processes_of(agent, *own).empty())) return;
  const auto id = find_container(agent.state().node, PodUid(event.pod().uid()), container.name());
  if (!is_known || !id) {
    const auto admitted = admit_unknown(agent, event);
    if (!admitted) {
      log(LogLevel::kError,
          fmt::format("NRI: container '{}' of pod '{}' runs in the shared pool: {}",
                      container.name(), event.pod().uid(), admitted.error().message));
    }
  }
  known_.change(event);
  // The group of an earlier container of the same name does not count.
  const std::string* const has = id ? agent.state().adopted.find(*id) : nullptr;
  if (is_known && has != nullptr && own && *has == *own) return;
  const bool is_placed = id && (has == nullptr ? !has_exclusive_cpus(agent.desired(), *id)
                                               : is_in_sandbox(agent, *id));
  const bool has_own = own && !is_run_by_sandbox(agent, event.pod(), container, *own);
  if (is_known && is_placed && !has_own) return;
  adopt_running(agent);
  revert(agent);
  (void)confine_others(agent, desired_now(agent));
}

/// Finds containers whose start containerd 1.7 never reports, because they started while a plugin
/// synchronized and were shown as created. The runtime makes a group with a process some time
/// before it reports a start, so the group must be found by two looks.
void Enforcer::adopt_unreported(Agent& agent) {
  std::vector<api::StateChangeEvent> starts;
  const std::set<std::string> earlier = std::exchange(unreported_, {});
  for (const auto& [id, pod] : known_.all()) {
    for (const KnownContainer& container : pod.containers) {
      if (container.phase != Phase::kCreated) continue;
      const auto directory =
          group_directory(options_.mount, container.shown.linux().cgroups_path());
      if (!directory) continue;
      const std::vector<pid_t> processes = processes_of(agent, *directory);
      if (processes.empty()) continue;
      unreported_.insert(*directory);
      if (!earlier.contains(*directory)) continue;
      api::StateChangeEvent& start = starts.emplace_back();
      start.set_event(api::Event::POST_START_CONTAINER);
      *start.mutable_pod() = pod.sandbox;
      *start.mutable_container() = container.shown;
      start.mutable_container()->set_pid(static_cast<std::uint32_t>(processes.front()));
    }
  }
  for (const api::StateChangeEvent& start : starts) adopt_started(agent, start);
}

/// Removes pods and containers that have ended, so that their CPUs are free at once.
void Enforcer::remove_ended(Agent& agent) {
  const AgentRequests ended = plan_removal(known_, agent.state().node);
  if (ended.remove_pods.empty() && ended.remove_containers.empty()) return;
  remove(agent, ended);
  follow_pool(agent, desired_now(agent));
}

SharedPlace shared_place(const agent::NodeAgent& agent, const agent::Desired& desired) {
  return {desired.pool, exclusive_cpus(desired), adopted_directories(agent)};
}

std::set<std::string> adopted_directories(const agent::NodeAgent& agent) {
  std::set<std::string> directories;
  for (const auto& entry : agent.state().adopted) directories.insert(entry.value);
  return directories;
}

/// A kubelet's directory stays known after its last pod has ended, and after a restart through its
/// configuration and the adopted groups.
OtherSearch Enforcer::others_of(const Agent& agent) {
  const auto add_kubepods = [this](const std::string& directory) {
    std::string kubepods = kubepods_of(directory);
    const bool is_one = !kubepods.empty();
    if (is_one) kubepods_.insert(std::move(kubepods));
    return is_one;
  };
  OtherSearch search;
  search.adopted = adopted_directories(agent);
  for (const std::string& directory : search.adopted) (void)add_kubepods(directory);
  for (const auto& [id, pod] : known_.all()) {
    const auto directory = pod_directory(options_.mount, pod.sandbox.linux().cgroup_parent());
    if (directory && !add_kubepods(*directory)) search.roots.insert(*directory);
  }
  search.roots.merge(
      std::set<std::string>({options_.mount + "/kubepods", options_.mount + "/kubepods.slice"}));
  search.roots.insert(kubepods_.begin(), kubepods_.end());
  search.roots.insert(options_.kubepods.begin(), options_.kubepods.end());
  return search;
}

/// Returns the desired state with the part of the shared pool that is online. The agent does not
/// know of CPUs that went offline since its start. If none of the pool were left, the kernel would
/// give a group the CPUs of its parent.
agent::Desired Enforcer::desired_now(const Agent& agent) {
  agent::Desired desired = agent.desired();
  const auto cpus = agent.enforced()->machine_cpus();
  if (!cpus || desired.pool.intersects(*cpus)) return desired;
  const CpuSet left = agent::pool_in(*cpus, desired.pool, exclusive_cpus(desired));
  if (!left.empty()) desired.pool = left;
  return desired;
}

/// Confines the groups of sandboxes and of unknown containers to the shared pool, and updates
/// groups that were confined before. Returns the exclusive CPUs on which they can still run.
CpuSet Enforcer::confine_others(const Agent& agent, const agent::Desired& desired) {
  const CpuSet exclusive = exclusive_cpus(desired);
  CpuSet left;
  if (!exclusive.empty()) {
    OtherSearch search = others_of(agent);
    search.without = exclusive;
    search.wanted = [&](const OtherGroup& other) { return other.cpus.intersects(exclusive); };
    const auto others = find_others(*agent.enforced(), search);
    if (!others) {
      log(LogLevel::kError, "NRI: " + others.error().message);
      return exclusive_cpus(desired);
    }
    const SharedPlace place = shared_place(agent, desired);
    // Deepest first: on cgroup v1 a group must contain the CPUs of its children.
    for (auto other = others->rbegin(); other != others->rend(); ++other) {
      confine_other(agent, desired, place, *other, left);
    }
  }
  follow_pool(agent, desired);
  return left & exclusive;
}

/// Gives confined groups the CPUs that the pool has gained. Those CPUs are free: a pod that still
/// runs on them is not removed, and while a change could not be applied the layout is dirty.
void Enforcer::follow_pool(const Agent& agent, const agent::Desired& desired) {
  if (agent.enforced()->is_dirty()) return;
  for (const Error& error : confined_.follow(*agent.enforced(), shared_place(agent, desired))) {
    log(LogLevel::kWarning, "NRI: " + error.message);
  }
}

/// The owner of a group, as far as the runtime has reported it.
struct Enforcer::Owner {
  bool is_sandbox = false;
  bool is_started = false;
  std::optional<ContainerId> container;
};

Enforcer::Owner Enforcer::owner_of(const Agent& agent, const std::string& directory) const {
  Owner owner;
  for (const auto& [id, pod] : known_.all()) {
    owner.is_sandbox = owner.is_sandbox || is_group_of(directory, id);
    for (const KnownContainer& container : pod.containers) {
      if (!is_group_of(directory, container.shown.id())) continue;
      const PodUid uid = pod.uid();
      owner.is_started = container.phase == Phase::kStarted;
      owner.container = find_container(agent.state().node, uid, container.shown.name())
                            .value_or(ContainerId{uid, container.shown.name()});
    }
  }
  return owner;
}

void Enforcer::confine_other(const Agent& agent, const agent::Desired& desired,
                             const SharedPlace& place, const OtherGroup& other, CpuSet& left) {
  constexpr std::chrono::milliseconds kKillTime(2000);
  const std::string& directory = other.group.directory;
  const Owner owner = owner_of(agent, directory);
  if (owner.container && !owner.is_started) {
    // The runtime is about to report its start, and the CPUs belong to it.
    const CpuSet own = desired_cpus(desired, *owner.container);
    if (!own.empty() && own.contains_all(other.cpus)) return;
  }
  if (!owner.is_sandbox && !noted_.contains(directory)) {
    log(LogLevel::kInfo,
        fmt::format("NRI: '{}' could run on CPUs {}: confined to the shared pool {}", directory,
                    other.cpus.to_string(), desired.pool.to_string()));
    if (owner.is_started) {
      note_unknown(agent, directory);
    } else {
      unexplained_.try_emplace(directory, 0);
    }
  }
  const auto confined = confined_.confine(*agent.enforced(), other, place);
  if (confined || !exists(other.group)) {
    unconfined_.erase(directory);
    return;
  }
  if (unconfined_.insert(directory).second) {
    log(LogLevel::kError,
        fmt::format("NRI: '{}' is not confined: {}", directory, confined.error().message));
  }
  if (!owner.is_sandbox) {
    note_unknown(agent, directory);
    ++counters_.stopped;
    const auto killed = kill_processes(other.group, kKillTime);
    log(LogLevel::kError,
        fmt::format("NRI: '{}': {}", directory,
                    killed ? "its processes were killed" : killed.error().message));
    if (killed) return;
  }
  left |= other.cpus;
}

/// Counts confined groups that no event has explained for a whole interval, because the runtime
/// makes a group before it reports the sandbox or the start of the container. Until the runtime has
/// shown its pods, unknown groups cannot be told from sandboxes and have no names.
void Enforcer::note_unexplained(const Agent& agent) {
  constexpr int kLooks = 2;
  for (auto it = unexplained_.begin(); it != unexplained_.end();) {
    const std::string directory = it->first;
    const Owner owner = owner_of(agent, directory);
    const bool is_adopted = owner.container && agent.state().adopted.contains(*owner.container);
    const bool is_gone = !agent.enforced()->open_elsewhere(directory);
    const bool is_due = !owner.is_sandbox && !is_adopted && !is_gone && ++it->second == kLooks;
    if (is_due) note_unknown(agent, directory);
    it = is_due || owner.is_sandbox || is_adopted || is_gone ? unexplained_.erase(it)
                                                             : std::next(it);
  }
}

void Enforcer::note_unknown(const Agent& agent, const std::string& directory) {
  if (noted_.contains(directory)) return;
  const auto container = owner_of(agent, directory).container.value_or(ContainerId{});
  double seconds = 0;
  for (const pid_t process : processes_of(agent, directory)) {
    seconds = std::max(seconds, options_.age(process));
  }
  count_unpinned(directory, container, seconds);
  log(LogLevel::kWarning, fmt::format("NRI: '{}': unknown, runs in the shared pool", directory));
}

}  // namespace pinfold::nri
