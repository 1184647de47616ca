#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "enforcer.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/nri_plugin/group_path.hpp"
#include "pod_quotas.hpp"

// How it works
//
// The agent pins the groups of containers that it has adopted. All other groups below the kubelet's
// directories, of sandboxes and of containers that it does not know, could run on exclusive CPUs. The
// agent finds and confines them, as part of each plan; this file tells it where they are and counts
// what it has done:
// - search_of() says where to look: the directories of kubelets, and the pods that the runtime shows;
//   which groups are those of containers about to start; and whose processes are never killed.
// - confine_others() has the agent look now, without another change.
// - note_confined() logs and counts the groups that were confined or could not be.
// - look() also adopts containers whose start no event has reported, and ends pods whose group is
//   gone.
//
// Invariant: while held pods exist and the runtime has not shown its pods, the agent is told of no
// directory, because the groups of held pods look like unknown ones.
//
// Cost: a look reads each group in the searched trees once.

/// Keeps groups that the runtime does not show off exclusive CPUs.
namespace pinfold::nri {
namespace {

using agent::LogLevel;
using verbs::EventKind;

}  // namespace

std::vector<pid_t> processes_of(const agent::NodeAgent& agent, const std::string& directory) {
  const auto group = agent.enforced()->reader(directory);
  const auto found = group ? group->processes() : Result<std::vector<pid_t>>();
  return found.value_or(std::vector<pid_t>());
}

bool runs_in(const agent::NodeAgent& agent, const std::string& directory) {
  const auto group = agent.enforced()->reader(directory);
  if (!group) return !enforce::is_gone(group.error());
  const auto found = group->processes();
  return found ? !found->empty() : !enforce::is_gone(found.error());
}

void Enforcer::look(Agent& agent) {
  if (is_synchronized_) {
    remove_ended_pods(agent);
    adopt_unreported(agent);
    adopt_running(agent);  // groups that could not be stored at their start
    note_unexplained(agent);
    set_pod_quotas(agent);
  }
  if (knows_all_pods(agent)) (void)confine_others(agent);
}

void Enforcer::set_pod_quotas(Agent& agent) const {
  for (const auto& [id, pod] : known_.all()) {
    set_pod_quota(agent, options_.mount, pod, options_.log);
  }
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
    const auto group = agent.enforced()->reader(*directory);
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
  (void)confine_others(agent);
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
  show_groups(agent);
  remove(agent, ended);
  note_confined(agent);
}

/// A kubelet's directory stays known after its last pod has ended, and after a restart through its
/// configuration and the adopted groups.
enforce::ForeignSearch Enforcer::search_of(const Agent& agent) {
  const auto add_kubepods = [this](const std::string& directory) {
    std::string kubepods = kubepods_of(directory);
    const bool is_one = !kubepods.empty();
    if (is_one) kubepods_.insert(std::move(kubepods));
    return is_one;
  };
  enforce::ForeignSearch search;
  for (const auto& entry : agent.state().adopted) (void)add_kubepods(entry.value);
  for (const auto& [id, pod] : known_.all()) {
    search.sandboxes.insert(id);
    const auto directory = pod_directory(options_.mount, pod.sandbox.linux().cgroup_parent());
    if (directory && !add_kubepods(*directory)) search.roots.insert(*directory);
    for (const KnownContainer& container : pod.containers) {
      if (container.phase == Phase::kStarted) continue;
      search.starting.insert_or_assign(container.shown.id(), id_of(agent, pod, container));
    }
  }
  search.roots.merge(
      std::set<std::string>({options_.mount + "/kubepods", options_.mount + "/kubepods.slice"}));
  search.roots.insert(kubepods_.begin(), kubepods_.end());
  search.roots.insert(options_.kubepods.begin(), options_.kubepods.end());
  return search;
}

void Enforcer::show_groups(Agent& agent) {
  agent.set_foreign_search(knows_all_pods(agent) ? search_of(agent) : enforce::ForeignSearch());
}

/// Keeps the groups of sandboxes and of unknown containers off exclusive CPUs, and `also`, even if
/// it has no processes. Returns the exclusive CPUs on which some can still run.
CpuSet Enforcer::confine_others(Agent& agent, const std::string& also) {
  show_groups(agent);
  const auto left = agent.confine_foreign(also);
  note_confined(agent);
  if (left) return *left;
  log(LogLevel::kError, "NRI: " + left.error().message);
  return exclusive_cpus(agent.desired());
}

ContainerId Enforcer::id_of(const Agent& agent, const KnownPod& pod,
                            const KnownContainer& container) {
  const PodUid uid = pod.uid();
  const std::string& name = container.shown.name();
  return find_container(agent.state().node, uid, name).value_or(ContainerId{uid, name});
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
    owner.is_sandbox = owner.is_sandbox || enforce::is_group_of(directory, id);
    for (const KnownContainer& container : pod.containers) {
      if (!enforce::is_group_of(directory, container.shown.id())) continue;
      owner.is_started = container.phase == Phase::kStarted;
      owner.container = id_of(agent, pod, container);
    }
  }
  return owner;
}

/// Logs and counts what has happened to the runtime's groups. Those below the agent's root are not
/// the runtime's.
void Enforcer::note_confined(Agent& agent) {
  const std::string root = agent.enforced()->root() + "/";
  for (const agent::ConfinedNews& news : agent.take_news()) {
    if (!news.directory.starts_with(root)) note_confined(agent, news);
  }
}

void Enforcer::note_confined(const Agent& agent, const agent::ConfinedNews& news) {
  const std::string& directory = news.directory;
  if (news.only_follows && !news.unconfined) {
    unconfined_.erase(directory);
    return;
  }
  if (news.only_follows) {
    std::string line = fmt::format("NRI: '{}' does not get CPUs {}: {}", directory,
                                   news.gets.to_string(), news.unconfined->message);
    std::string& logged = unconfined_[directory];
    if (logged != line) log(LogLevel::kWarning, line);
    logged = std::move(line);
    return;
  }
  const Owner owner = owner_of(agent, directory);
  if (!owner.is_sandbox && !noted_.contains(directory)) {
    log(LogLevel::kInfo,
        fmt::format("NRI: '{}' could run on CPUs {}: confined to CPUs {} of the shared pool",
                    directory, news.had.to_string(), news.gets.to_string()));
    if (owner.is_started) {
      note_unknown(agent, directory);
    } else {
      unexplained_.try_emplace(directory, 0);
    }
  }
  if (!news.unconfined) {
    unconfined_.erase(directory);
    return;
  }
  const auto [known, is_new] = unconfined_.insert_or_assign(directory, news.unconfined->message);
  if (is_new) {
    log(LogLevel::kError,
        fmt::format("NRI: '{}' is not confined: {}", directory, news.unconfined->message));
  }
  if (owner.is_sandbox) return;
  note_unknown(agent, directory);
  ++counters_.stopped;
  log(LogLevel::kError,
      fmt::format("NRI: '{}': {}", directory,
                  news.was_killed ? "its processes were killed" : "its processes still run"));
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
    const bool is_gone = !agent.enforced()->reader(directory);
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
