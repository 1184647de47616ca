#include "enforcer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "own_resources.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/nri_plugin/group_path.hpp"
#include "pinfold/nri_pods/plan.hpp"
#include "pod_quotas.hpp"

// How it works
//
// The enforcer turns each request of the runtime into calls of the agent. Functions named plan_*
// look at `known_` (what the runtime has shown) and at the agent's state and return AgentRequests;
// `execution_` carries those out. The agent then holds the decision, and the answer to the runtime
// is computed from it. All of this runs in turns of the worker, so there are no locks.
//
// A container passes three stages:
// 1. create(): decides the pod, moves everything else off CPUs that become exclusive, and answers
//    with the cpuset. If a step fails, the container is not created and take_back() undoes the
//    decision.
// 2. start(), before the program runs: adopts the group of the container (enforcer_gate.cpp). Only
//    a container that would endanger exclusive CPUs is rejected; an unknown one is admitted first.
// 3. stop and remove events: change_ended() releases what has ended.
// look() also adopts containers whose start no event has reported, and ends pods whose group is
// gone.
//
// Its parts have their own files, and none of them knows the enforcer:
// - enforcer_others.cpp: groups that the runtime has not shown.
// - enforcer_sandboxes.cpp: containers without their own group.
// - enforcer_gate.cpp, above these two: may a container be created and started?
// - enforcer_execution.cpp, above the same two: has the agent carry out plans.
//
// Invariants:
// - Events can be late, repeated or missing. An event counts only for the container whose id is
//   known for its name, and look() finds periodically what no event has reported.
// - A change of other containers' cpusets reaches the runtime with the next answer (add_records),
//   never with a request of our own.
// - An unpinned container is counted once per group, whichever path finds it first
//   (OtherGroups::count_unpinned).
//
// Cost: an event goes through all known containers, plus a few system calls per changed group.

namespace pinfold::nri {
namespace {

using agent::LogLevel;

}  // namespace

/// Appends the pending cpuset updates of other containers to this answer.
template <class Response>
void Enforcer::add_records(Agent& agent, const std::string& except, Response& answer) {
  for (auto& update : records_.take(known_, agent.node(), agent.state().node, except)) {
    gate_.fit(agent, update);
    *answer.add_update() = std::move(update);
  }
}

api::SynchronizeResponse Enforcer::synchronize(Agent& agent,
                                               const api::SynchronizeRequest& request) {
  known_ = KnownPods(request, age());
  had_own_group_.clear();
  others_.set_synchronized();
  sandboxes_.leave_sandboxes(agent);
  const auto done =
      execution_.execute(agent, plan_synchronize(known_, premises(agent), agent.state().node));
  if (!done) log(LogLevel::kWarning, "NRI: synchronize: " + done.error().message);
  adopt_running(agent);
  revert(agent);
  set_pod_quotas(agent);
  (void)others_.confine_others(agent);
  api::SynchronizeResponse answer;
  add_records(agent, "", answer);
  return answer;
}

/// Returns the group that a started container has to itself and that is not adopted yet. One that
/// runs in the group of its sandbox enters that instead.
std::optional<agent::AdoptedGroup> Enforcer::find_unadopted(Agent& agent,
                                                            const agent::Desired& desired,
                                                            const api::PodSandbox& sandbox,
                                                            const api::Container& shown,
                                                            const ContainerId& id) {
  auto directory = group_directory(options_.mount, shown.linux().cgroups_path());
  if (!directory) log(LogLevel::kError, "NRI: " + directory.error().message);
  const std::string* const has = agent.state().adopted.find(id);
  if (directory && has != nullptr && *has == *directory) {
    had_own_group_.insert(shown.id());
    return std::nullopt;
  }
  // A container that had its own group and no longer has one ended while no runtime could report
  // it.
  const bool runs = directory && runs_in(agent, *directory);
  if (!runs && had_own_group_.contains(shown.id())) return std::nullopt;
  if (runs) had_own_group_.insert(shown.id());
  const bool has_own =
      runs || (directory && !sandboxes_.is_run_by_sandbox(agent, sandbox, shown, *directory));
  // Without one its sandbox, or nothing, runs in the shared pool.
  if (!has_own && !has_exclusive_cpus(desired, id)) return std::nullopt;
  if (!has_own) directory = sandboxes_.sandbox_group(agent, sandbox);
  if (!directory) {
    log(LogLevel::kError, "NRI: " + directory.error().message);
    return std::nullopt;
  }
  if (has != nullptr && *has == *directory) return std::nullopt;
  others_.note_unpinned(agent, desired, id, shown, *directory);
  if (has_own) return agent::AdoptedGroup{id, *directory};
  if (const auto entered = sandboxes_.enter_sandbox(agent, sandbox, id); !entered) {
    log(LogLevel::kError, "NRI: " + entered.error().message);
  }
  return std::nullopt;
}

/// Adopts the groups of all started containers. A group that cannot be adopted counts as another's
/// and is confined.
void Enforcer::adopt_running(Agent& agent) {
  std::vector<agent::AdoptedGroup> groups;
  const agent::Desired desired = agent.desired();
  for (const auto& [sandbox, pod] : known_.all()) {
    for (const KnownContainer& container : pod.containers) {
      if (container.phase != Phase::kStarted) continue;
      const auto id = find_container(agent.state().node, pod.uid(), container.shown.name());
      if (!id) continue;
      auto group = find_unadopted(agent, desired, pod.sandbox, container.shown, *id);
      if (group) groups.push_back(*std::move(group));
    }
  }
  if (groups.empty()) return;
  const auto adopted = agent.adopt(groups);
  if (!adopted) return log(LogLevel::kError, "NRI: " + adopted.error().message);
  verbs::add_events(groups, *adopted, events_);
  for (const auto& [owner, error] : adopted->refused) {
    log(LogLevel::kError, fmt::format("NRI: {}: {}", title_of(owner.id()), error.message));
  }
}

Result<api::CreateContainerResponse> Enforcer::create(Agent& agent,
                                                      const api::CreateContainerRequest& request) {
  std::optional<ContainerId> id;  // set once it is decided
  auto answer = [&]() -> Result<api::CreateContainerResponse> {
    PINFOLD_LET(const auto plan, plan_create(known_, request, premises(agent), agent.state().node));
    PINFOLD_TRY(execution_.execute(agent, plan.requests));
    id = plan.container;
    known_.create(request.pod(), request.container());
    PINFOLD_TRY(gate_.make_room(agent, request.pod(), *id));
    PINFOLD_LET(auto created, answer_create(agent.node(), agent.state().node, *id));
    gate_.fit(agent, *id, request.container(),
              *created.mutable_adjust()->mutable_linux()->mutable_resources()->mutable_cpu());
    PINFOLD_TRY(
        add_own_resources(agent, options_.assigned_for, request, *id, *created.mutable_adjust()));
    add_records(agent, request.container().id(), created);
    return created;
  }();
  if (!answer) {
    ++counters_.create_refusals;
    log(LogLevel::kError,
        fmt::format("NRI: container '{}' of pod '{}' is not created: {}",
                    request.container().name(), request.pod().uid(), answer.error().message));
    if (id) execution_.take_back(agent, request.pod(), *id);
    api::StateChangeEvent end;
    end.set_event(api::Event::REMOVE_CONTAINER);
    *end.mutable_pod() = request.pod();
    *end.mutable_container() = request.container();
    known_.change(end);
  }
  return answer;
}

Result<api::UpdateContainerResponse> Enforcer::update(Agent& agent,
                                                      const api::UpdateContainerRequest& request) {
  if (const auto resize = find_resize(request, agent.node(), agent.state().node)) {
    if (auto resized = execution_.resize(agent, *resize); !resized) {
      ++counters_.resize_refusals;
      log(LogLevel::kError, "NRI: " + resized.error().message);
      return fail(std::move(resized).error());
    }
    api::ContainerUpdate shown;  // the amounts that the runtime now has on record
    shown.set_container_id(request.container().id());
    *shown.mutable_linux()->mutable_resources()->mutable_cpu() = request.linux_resources().cpu();
    shown.mutable_linux()->mutable_resources()->mutable_cpu()->clear_cpus();
    shown.mutable_linux()->mutable_resources()->mutable_cpu()->clear_mems();
    known_.update(shown);
  }
  auto answer = answer_update(request, agent.node(), agent.state().node);
  for (auto& update : *answer.mutable_update()) gate_.fit(agent, update);
  const std::string& cpus = request.linux_resources().cpu().cpus();
  if (!cpus.empty() && answer.update_size() > 0) {
    const std::string& own = answer.update(0).linux().resources().cpu().cpus();
    if (cpus != own && !own.empty()) {
      ++counters_.reverted;
      log(LogLevel::kWarning,
          fmt::format("NRI: container '{}' of pod '{}': an update asked for CPUs {} and got {}",
                      request.container().name(), request.pod().uid(), cpus, own));
    }
  }
  add_records(agent, request.container().id(), answer);
  return answer;
}

api::StopContainerResponse Enforcer::stop(Agent& agent, const api::StopContainerRequest& request) {
  change_ended(agent, event_of(request));
  api::StopContainerResponse answer;
  add_records(agent, request.container().id(), answer);
  return answer;
}

Result<void> Enforcer::change(Agent& agent, const api::StateChangeEvent& event) {
  switch (event.event()) {
    case api::Event::RUN_POD_SANDBOX:
      known_.change(event);
      run_sandbox(agent, event.pod());
      (void)others_.confine_others(agent);
      return {};
    case api::Event::START_CONTAINER: {
      auto started = start(agent, event);
      if (started) return {};
      ++counters_.start_refusals;
      log(LogLevel::kError,
          fmt::format("NRI: container '{}' of pod '{}' does not start: {}",
                      event.container().name(), event.pod().uid(), started.error().message));
      refused_.insert(event.container().id());
      return fail(started.error());
    }
    case api::Event::POST_START_CONTAINER:
      if (others_.is_synchronized()) adopt_started(agent, event);
      return {};
    case api::Event::POST_UPDATE_CONTAINER:
      known_.change(event);
      revert(agent);
      return {};
    default:
      change_ended(agent, event);
      return {};
  }
}

void Enforcer::change_ended(Agent& agent, const api::StateChangeEvent& event) {
  const bool is_end =
      event.event() == api::Event::STOP_CONTAINER || event.event() == api::Event::REMOVE_CONTAINER;
  if (is_end) note_stop(agent, event.container());
  const auto id =
      find_container(agent.state().node, PodUid(event.pod().uid()), event.container().name());
  const bool was_refused = is_end && refused_.erase(event.container().id()) != 0;
  if (is_end) had_own_group_.erase(event.container().id());
  known_.change(event);
  if (was_refused && id) execution_.take_back(agent, event.pod(), *id);
  if (others_.is_synchronized()) remove_ended(agent);
}

/// The runtime would ignore an error here or leave a sandbox behind. So a pod that is rejected here
/// fails with its first container.
void Enforcer::run_sandbox(Agent& agent, const api::PodSandbox& sandbox) {
  const PodUid uid(sandbox.uid());
  const ActivePod* const active = agent.state().node.find(uid);
  // Init containers run again; their groups are gone once a later container has started.
  const bool has_init = active != nullptr &&
                        std::any_of(active->spec.containers.begin(), active->spec.containers.end(),
                                    [](const Container& container) {
                                      return container.kind == ContainerKind::kInit;
                                    });
  if (has_init) {
    AgentRequests ended;
    ended.remove_pods = {uid};
    execution_.remove(agent, ended);
  }
  const auto plan = plan_sandbox(sandbox, premises(agent), agent.state().node);
  if (!plan) return log(LogLevel::kError, "NRI: " + plan.error().message);
  (void)execution_.execute(agent, *plan);  // a rejection is logged
}

/// The gate, before the container's program runs. Rejects only containers that could use exclusive
/// CPUs of others or would not get their own.
Result<ContainerId> Enforcer::start(Agent& agent, const api::StateChangeEvent& event) {
  const api::Container& container = event.container();
  auto id = find_container(agent.state().node, PodUid(event.pod().uid()), container.name());
  if (!id) {
    PINFOLD_LET(id, admit_unknown(agent, event));
    const auto directory = group_directory(options_.mount, container.linux().cgroups_path());
    others_.count_unpinned(directory.value_or(container.id()), *id,
                           options_.age(static_cast<pid_t>(container.pid())));
    log(LogLevel::kWarning,
        fmt::format("NRI: {}: created without Pinfold, pinned when it started", title_of(*id)));
  } else if (!knows(container)) {
    // Created before Synchronize, which has missed it.
    known_.create(event.pod(), container);
  }
  known_.change(event);
  others_.show_groups(agent);
  const verbs::Action action = verbs::Start{*id};
  const auto noted = verbs::execute(agent, action);
  if (has_exclusive_cpus(agent.desired(), *id)) {
    PINFOLD_TRY(noted);
    PINFOLD_TRY(gate_.start_exclusive(agent, event, *id));
  } else {
    if (!noted) log(LogLevel::kWarning, fmt::format("NRI: {}", noted.error().message));
    PINFOLD_TRY(gate_.start_shared(agent, event, *id));
  }
  if (noted) verbs::add_events(action, *noted, events_);  // only now it may start
  if (agent.state().adopted.contains(*id) && !sandboxes_.is_in_sandbox(agent, *id)) {
    had_own_group_.insert(container.id());
  }
  if (const KnownPod* const pod = known_.find(container.pod_sandbox_id())) {
    set_pod_quota(agent, options_.mount, *pod, options_.log);
  }
  agent.reset_affinity(*id);
  return *id;
}

/// Admits a container that was created while no plugin was connected.
Result<ContainerId> Enforcer::admit_unknown(Agent& agent, const api::StateChangeEvent& event) {
  api::CreateContainerRequest request;
  *request.mutable_pod() = event.pod();
  *request.mutable_container() = event.container();
  PINFOLD_LET(const auto plan, plan_create(known_, request, premises(agent), agent.state().node));
  PINFOLD_TRY(execution_.execute(agent, plan.requests));
  known_.create(event.pod(), event.container());
  return plan.container;
}

bool Enforcer::knows(const api::Container& container) const {
  const KnownContainer* const known = known_.find_name_of(container);
  return known != nullptr && known->shown.id() == container.id();
}

void Enforcer::note_stop(Agent& agent, const api::Container& container) {
  // Events of an earlier container of the same name arrive late.
  if (!knows(container)) return;
  const PodUid uid = known_.find(container.pod_sandbox_id())->uid();
  const auto id = find_container(agent.state().node, uid, container.name());
  if (!id || !agent.state().adopted.contains(*id)) return;
  if (sandboxes_.is_in_sandbox(agent, *id)) return;  // the sandbox keeps running
  const auto disowned = agent.disown(*id);
  if (!disowned) {
    log(LogLevel::kWarning,
        fmt::format("NRI: {} has stopped: {}", title_of(*id), disowned.error().message));
  }
}

/// Brings the cgroups back to the desired state after someone else may have changed them.
void Enforcer::revert(Agent& agent) {
  others_.show_groups(agent);
  const auto report =
      verbs::expect<agent::ReconcileReport>(execution_.run(agent, verbs::Reconcile{}));
  others_.note_confined(agent);
  if (!report) return log(LogLevel::kError, "NRI: " + report.error().message);
  counters_.reverted += report->drift.size();
  for (const std::string& line : report->drift) log(LogLevel::kWarning, "drift: " + line);
  for (const std::string& line : report->remaining) {
    if (!remaining_.contains(line)) log(LogLevel::kError, "remaining: " + line);
  }
  remaining_ = {report->remaining.begin(), report->remaining.end()};
}

void Enforcer::look(Agent& agent) {
  if (others_.is_synchronized()) {
    remove_ended_pods(agent);
    adopt_unreported(agent);
    adopt_running(agent);  // groups that could not be stored at their start
    others_.note_unexplained(agent);
    set_pod_quotas(agent);
  }
  if (others_.knows_all_pods(agent)) (void)others_.confine_others(agent);
}

void Enforcer::set_pod_quotas(Agent& agent) const {
  for (const auto& [id, pod] : known_.all()) {
    set_pod_quota(agent, options_.mount, pod, options_.log);
  }
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
                                               : sandboxes_.is_in_sandbox(agent, *id));
  const bool has_own = own && !sandboxes_.is_run_by_sandbox(agent, event.pod(), container, *own);
  if (is_known && is_placed && !has_own) return;
  adopt_running(agent);
  revert(agent);
  (void)others_.confine_others(agent);
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
  others_.show_groups(agent);
  execution_.remove(agent, ended);
  others_.note_confined(agent);
}

}  // namespace pinfold::nri
