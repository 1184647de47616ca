#include "enforcer_others.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/followed_runtime.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/nri_plugin/group_path.hpp"
#include "pinfold/nri_pods/plan.hpp"
#include "pinfold/types/named.hpp"

// How it works
//
// The agent pins the groups of containers that it has adopted. All other groups below the kubelet's
// directories, of sandboxes and of containers that it does not know, could run on exclusive CPUs.
// The agent finds and confines them, as part of each plan; this file passes it their locations and
// counts what it has done:
// - search_of() says where to look: the directories of kubelets, and the pods that the runtime
//   shows; which groups are those of containers about to start; and whose processes are never
//   killed.
// - confine_others() has the agent look now, without another change.
// - note_confined() logs and counts the groups that were confined or could not be.
//
// Invariant: while held pods exist and the runtime has not shown its pods, the agent is told of no
// directory, because the groups of held pods look like unknown ones.
//
// Cost: a look reads each group in the searched trees once.

namespace pinfold::nri {
namespace {

using agent::LogLevel;
using verbs::EventKind;

/// Returns the CPUs of a group as the kernel reports them; empty if they cannot be read.
CpuSet cpus_of(const agent::NodeAgent& agent, const std::string& directory) {
  const auto group = agent.enforced()->reader(directory);
  return group ? group->cpus().value_or(CpuSet()) : CpuSet();
}

}  // namespace

bool OtherGroups::knows_all_pods(const Agent& agent) const {
  return is_synchronized_ || agent.state().node.held.empty();
}

/// A kubelet's directory stays known after its last pod has ended, and after a restart through its
/// configuration and the adopted groups.
enforce::ForeignSearch OtherGroups::search_of(const Agent& agent) {
  const auto add_kubepods = [this](const std::string& directory) {
    std::string kubepods = enforce::kubepods_of(directory);
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

void OtherGroups::show_groups(Agent& agent) {
  agent::FollowedRuntime(agent).set_search(knows_all_pods(agent) ? search_of(agent)
                                                                 : enforce::ForeignSearch());
}

CpuSet OtherGroups::confine_others(Agent& agent, const std::string& also) {
  show_groups(agent);
  const auto left = agent::FollowedRuntime(agent).confine(also);
  note_confined(agent);
  if (left) return *left;
  log(LogLevel::kError, "NRI: " + left.error().message);
  return exclusive_cpus(agent.desired());
}

ContainerId OtherGroups::id_of(const Agent& agent, const KnownPod& pod,
                               const KnownContainer& container) {
  const PodUid uid = pod.uid();
  const std::string& name = container.shown.name();
  return find_container(agent.state().node, uid, name).value_or(ContainerId{uid, name});
}

/// The owner of a group, as far as the runtime has reported it.
struct OtherGroups::Owner {
  bool is_sandbox = false;
  bool is_started = false;
  std::optional<ContainerId> container;
};

OtherGroups::Owner OtherGroups::owner_of(const Agent& agent, const std::string& directory) const {
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

void OtherGroups::note_confined(Agent& agent) {
  const std::string root = agent.enforced()->root() + "/";
  for (const agent::ConfinedNews& news : agent::FollowedRuntime(agent).take_news()) {
    if (!news.directory.starts_with(root)) note_confined(agent, news);
  }
}

void OtherGroups::note_confined(const Agent& agent, const agent::ConfinedNews& news) {
  const std::string& directory = news.directory;
  if (news.only_follows && !news.unconfined) {
    unconfined_.erase(directory);
    return;
  }
  if (news.only_follows) {
    std::string line = fmt::format("NRI: '{}' does not get {}: {}", directory,
                                   cpus_named(news.gets), news.unconfined->message);
    std::string& logged = unconfined_[directory];
    if (logged != line) log(LogLevel::kWarning, line);
    logged = std::move(line);
    return;
  }
  const Owner owner = owner_of(agent, directory);
  if (!owner.is_sandbox && !noted_.contains(directory)) {
    log(LogLevel::kInfo, fmt::format("NRI: '{}' could run on {}: confined to {} of the shared pool",
                                     directory, cpus_named(news.had), cpus_named(news.gets)));
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

std::optional<std::string> OtherGroups::why_unconfined(const std::string& directory) const {
  const auto found = unconfined_.find(directory);
  return found == unconfined_.end() ? std::nullopt : std::optional(found->second);
}

void OtherGroups::note_unexplained(const Agent& agent) {
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

void OtherGroups::note_unknown(const Agent& agent, const std::string& directory) {
  if (noted_.contains(directory)) return;
  const auto container = owner_of(agent, directory).container.value_or(ContainerId{});
  double seconds = 0;
  for (const pid_t process : processes_of(agent, directory)) {
    seconds = std::max(seconds, options_.age(process));
  }
  count_unpinned(directory, container, seconds);
  log(LogLevel::kWarning, fmt::format("NRI: '{}': unknown, runs in the shared pool", directory));
}

/// Returns whether a container unknown to the agent was pinned nevertheless, for example by a
/// kubelet: it cannot run on the whole machine, nor on the exclusive CPUs of containers that the
/// agent knew.
bool OtherGroups::is_pinned_elsewhere(const Agent& agent, const agent::Desired& desired,
                                      const ContainerId& id, const CpuSet& cpus) {
  const auto own = desired.layout.find(id);
  const auto all = agent.enforced()->machine_cpus();
  if (own == desired.layout.end() || !all || cpus.empty() || cpus.contains_all(*all)) return false;
  const bool is_exclusive = own->second.isolation != Isolation::kHost;
  if (is_exclusive && cpus.size() != own->second.cpus.size()) return false;
  CpuSet others = agent::exclusive_cpus(desired.held);
  for (const auto& [name, settings] : desired.layout) {
    const bool counts = !name.is_pod() && settings.isolation != Isolation::kHost &&
                        name.id() != id && agent.state().adopted.contains(name.id());
    if (counts) others |= settings.cpus;
  }
  return !cpus.intersects(others);
}

void OtherGroups::note_unpinned(const Agent& agent, const agent::Desired& desired,
                                const ContainerId& id, const api::Container& container,
                                const std::string& directory) {
  const CpuSet has = cpus_of(agent, directory);
  const CpuSet own = desired_cpus(desired, id);
  const auto noted = noted_.find(directory);
  const bool was_confined =
      unexplained_.erase(directory) != 0 || (noted != noted_.end() && !noted->second.is_named);
  if (!was_confined && (own.empty() || own.contains_all(has))) return;
  if (!was_confined && is_pinned_elsewhere(agent, desired, id, has)) {
    return log(LogLevel::kInfo,
               fmt::format("NRI: {} could run on {} of another container, and now runs on {}",
                           title_of(id), cpus_named(has), own.to_string()));
  }
  const double seconds = options_.age(static_cast<pid_t>(container.pid()));
  count_unpinned(directory, id, seconds);
  log(LogLevel::kWarning,
      fmt::format("NRI: {}: {} {}, expected {}, for at most {:.0f} s", title_of(id),
                  was_confined ? "unknown container, was confined to" : "ran on", cpus_named(has),
                  own.to_string(), seconds));
}

void OtherGroups::count_unpinned(const std::string& directory, const ContainerId& id,
                                 double seconds) {
  const auto [entry, is_new] = noted_.try_emplace(directory);
  Noted& noted = entry->second;
  counters_.unpinned_seconds += std::max(0.0, seconds - noted.seconds);
  noted.seconds = std::max(noted.seconds, seconds);
  const bool gets_name = !noted.is_named && !id.name.empty();
  noted.is_named = noted.is_named || gets_name;
  if (is_new) ++counters_.found_unpinned;
  if (is_new || gets_name) events_.push_back({EventKind::kFoundUnpinned, id.pod, id.name});
}

}  // namespace pinfold::nri
