#include "enforcer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "pinfold/nri_plugin/group_path.hpp"
#include "pod_quotas.hpp"

// How it works
//
// The enforcer turns each request of the runtime into calls of the agent. Functions named plan_*
// look at `known_` (what the runtime has shown) and at the agent's state and return AgentRequests;
// execute() carries those out. The agent then holds the decision, and the answer to the runtime is
// computed from it. All of this runs in turns of the worker, so there are no locks.
//
// A container passes three stages:
// 1. create(): decides the pod, moves everything else off CPUs that become exclusive, and answers
//    with the cpuset. If a step fails, the container is not created and take_back() undoes the
//    decision.
// 2. start(), before the program runs: adopts the group of the container (enforcer_gate.cpp). Only
//    a container that would endanger exclusive CPUs is rejected; an unknown one is admitted first.
// 3. stop and remove events: change_ended() releases what has ended.
// The files enforcer_gate.cpp and enforcer_others.cpp hold the gate and the unknown groups.
//
// Invariants:
// - Events can be late, repeated or missing. An event counts only for the container whose id is
//   known for its name, and look() finds periodically what no event has reported.
// - A change of other containers' cpusets reaches the runtime with the next answer (add_records),
//   never with a request of our own.
// - An unpinned container is counted once per group, whichever path finds it first (`noted_`).
//
// Cost: an event goes through all known containers, plus a few system calls per changed group.

namespace pinfold::nri {
namespace {

using agent::LogLevel;
using agent::NodeAgent;
using agent::RunningProcesses;
using verbs::EventKind;

agent::FromRuntime from_runtime(const AgentRequests& requests) {
  agent::FromRuntime out;
  out.unstored = agent::Unstored::kIsKept;  // Synchronize shows it again
  for (const auto& [uid, shown] : requests.shown) {
    out.notes[uid] = {shown.qos, shown.why_shared};
    if (!shown.places.empty()) out.places[uid] = shown.places;
  }
  return out;
}

/// Returns the CPUs of a group as the kernel reports them; empty if they cannot be read.
CpuSet cpus_of(const NodeAgent& agent, const std::string& directory) {
  const auto group = agent.enforced()->reader(directory);
  return group ? group->cpus().value_or(CpuSet()) : CpuSet();
}

}  // namespace

CpuSet Enforcer::desired_cpus(const agent::Desired& desired, const ContainerId& id) {
  const auto found = desired.layout.find(id);
  return found == desired.layout.end() ? CpuSet() : found->second.cpus;
}

/// Carries out the removals. A failed one is tried again with the next event.
void Enforcer::remove(Agent& agent, const AgentRequests& requests) {
  for (const PodUid& uid : requests.remove_pods) {
    const auto removed = run(agent, verbs::Remove{uid, "", RunningProcesses::kRefuse});
    if (removed) continue;
    log(LogLevel::kWarning, fmt::format("NRI: remove pod '{}': {}", uid, removed.error().message));
  }
  for (const ContainerId& id : requests.remove_containers) {
    if (is_in_sandbox(agent, id))
      (void)agent.disown(id, agent::LeftProcesses::kAllow);  // the sandbox keeps running
    const auto removed = run(agent, verbs::Remove{id.pod, id.name, RunningProcesses::kRefuse});
    if (removed) continue;
    log(LogLevel::kWarning,
        fmt::format("NRI: remove {}: {}", title_of(id), removed.error().message));
  }
}

/// Adds notes for pods that have none: an earlier version of the service did not keep them.
void Enforcer::note(Agent& agent, const agent::PodNotes& notes) const {
  agent::PodNotes missing;
  for (const auto& [uid, note] : notes) {
    if (!agent.state().notes.contains(uid)) missing.emplace(uid, note);
  }
  const auto noted = agent.note(missing);
  if (!noted) log(LogLevel::kWarning, "NRI: " + noted.error().message);
}

/// Returns the error of the first rejected pod; the other pods are still decided.
Result<void> Enforcer::execute(Agent& agent, const AgentRequests& requests) {
  for (const std::string& note : requests.notes) log(LogLevel::kInfo, "NRI: " + note);
  show_groups(agent);
  remove(agent, requests);
  const agent::FromRuntime shown = from_runtime(requests);
  if (requests.admit.empty()) {
    note(agent, shown.notes);
    return {};
  }
  auto admitted =
      verbs::expect<verbs::Admissions>(run(agent, verbs::Admit{requests.admit, false, shown}));
  note_confined(agent);
  if (!admitted && requests.admit.size() > 1) return execute_each(agent, requests);
  PINFOLD_LET(const auto admissions, std::move(admitted));
  note(agent, shown.notes);
  Result<void> result;
  for (std::size_t i = 0; i < requests.admit.size(); ++i) {
    const PodSpec& pod = requests.admit[i];
    const auto& rejection = admissions.outcomes[i].rejection;
    if (!rejection) continue;
    Error error{ErrorCode::kUnsupported, 0,
                fmt::format("pod '{}/{}' is rejected, {}: {}", pod.namespace_name, pod.name,
                            rejection->reason, rejection->message)};
    log(LogLevel::kWarning, "NRI: " + error.message);
    if (result) result = fail(std::move(error));
  }
  return result;
}

/// Decides each pod by itself, so that an error in one does not stop the others.
Result<void> Enforcer::execute_each(Agent& agent, const AgentRequests& requests) {
  Result<void> result;
  for (const PodSpec& pod : requests.admit) {
    AgentRequests one;
    one.admit = {pod};
    const auto shown = requests.shown.find(pod.uid);
    if (shown != requests.shown.end()) one.shown.insert(*shown);
    const auto done = execute(agent, one);
    if (done) continue;
    if (result) {
      result = fail(done.error());
    } else {
      result.error().message += "; " + done.error().message;
    }
  }
  return result;
}

/// Appends the pending cpuset updates of other containers to this answer.
template <class Response>
void Enforcer::add_records(Agent& agent, const std::string& except, Response& answer) {
  for (auto& update : records_.take(known_, agent.node(), agent.state().node, except)) {
    fit(agent, update);
    *answer.add_update() = std::move(update);
  }
}

api::SynchronizeResponse Enforcer::synchronize(Agent& agent,
                                               const api::SynchronizeRequest& request) {
  known_ = KnownPods(request, age());
  is_synchronized_ = true;
  leave_sandboxes(agent);
  const auto done = execute(agent, plan_synchronize(known_, premises(agent), agent.state().node));
  if (!done) log(LogLevel::kWarning, "NRI: synchronize: " + done.error().message);
  adopt_running(agent);
  revert(agent);
  set_pod_quotas(agent);
  (void)confine_others(agent);
  api::SynchronizeResponse answer;
  add_records(agent, "", answer);
  return answer;
}

/// Disowns the sandbox for containers that have ended without an event.
void Enforcer::leave_sandboxes(Agent& agent) const {
  std::vector<ContainerId> ended;
  for (const auto& entry : agent.state().adopted) {
    const ContainerId id = entry.id();
    if (!is_in_sandbox(agent, id)) continue;
    bool is_known = false;
    for (const auto& [sandbox, pod] : known_.all()) {
      for (const KnownContainer& container : pod.containers) {
        is_known = is_known || (pod.uid() == id.pod && container.shown.name() == id.name &&
                                container.phase != Phase::kStopped);
      }
    }
    if (!is_known) ended.push_back(id);
  }
  for (const ContainerId& id : ended) (void)agent.disown(id, agent::LeftProcesses::kAllow);
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
      auto directory = group_directory(options_.mount, container.shown.linux().cgroups_path());
      if (!directory) log(LogLevel::kError, "NRI: " + directory.error().message);
      const std::string* const has = agent.state().adopted.find(*id);
      if (directory && has != nullptr && *has == *directory) continue;
      const bool is_exclusive = has_exclusive_cpus(desired, *id);
      const bool has_own =
          directory && !is_run_by_sandbox(agent, pod.sandbox, container.shown, *directory);
      if (!has_own && !is_exclusive) continue;  // its sandbox, or nothing, runs in the shared pool
      if (!has_own) directory = sandbox_group(agent, pod.sandbox);
      if (!directory) {
        log(LogLevel::kError, "NRI: " + directory.error().message);
        continue;
      }
      if (has != nullptr && *has == *directory) continue;
      note_unpinned(agent, desired, *id, container.shown, *directory);
      if (has_own) {
        groups.push_back({*id, *directory});
      } else if (const auto entered = enter_sandbox(agent, pod.sandbox, *id); !entered) {
        log(LogLevel::kError, "NRI: " + entered.error().message);
      }
    }
  }
  if (groups.empty()) return;
  const auto adopted = agent.adopt(groups);
  if (!adopted) return log(LogLevel::kError, "NRI: " + adopted.error().message);
  for (const auto& [owner, error] : adopted->refused) {
    log(LogLevel::kError, fmt::format("NRI: {}: {}", title_of(owner.id()), error.message));
  }
}

/// Returns whether a container unknown to the agent was pinned nevertheless, for example by a
/// kubelet: it cannot run on the whole machine, nor on the exclusive CPUs of containers that the
/// agent knew.
bool Enforcer::is_pinned_elsewhere(const Agent& agent, const agent::Desired& desired,
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

/// Counts a running container that was unknown to the agent, if it has, or had until it was
/// confined, other CPUs than it should. If it was counted before the runtime showed it, adds its
/// name.
void Enforcer::note_unpinned(const Agent& agent, const agent::Desired& desired,
                             const ContainerId& id, const api::Container& container,
                             const std::string& directory) {
  const CpuSet has = cpus_of(agent, directory);
  const CpuSet own = desired_cpus(desired, id);
  const auto noted = noted_.find(directory);
  const bool was_confined =
      unexplained_.erase(directory) != 0 || (noted != noted_.end() && !noted->second.is_named);
  if (!was_confined && (own.empty() || own.contains_all(has))) return;
  if (!was_confined && is_pinned_elsewhere(agent, desired, id, has)) {
    return log(LogLevel::kInfo, fmt::format("NRI: {} had CPUs {} of another container, now has {}",
                                            title_of(id), has.to_string(), own.to_string()));
  }
  const double seconds = options_.age(static_cast<pid_t>(container.pid()));
  count_unpinned(directory, id, seconds);
  log(LogLevel::kWarning,
      fmt::format("NRI: {}: {} CPUs {}, expected {}, for {:.0f} s at most", title_of(id),
                  was_confined ? "unknown container, was confined to" : "ran on", has.to_string(),
                  own.to_string(), seconds));
}

/// Counts the container of a group once, and each second of its time once.
void Enforcer::count_unpinned(const std::string& directory, const ContainerId& id, double seconds) {
  const auto [entry, is_new] = noted_.try_emplace(directory);
  Noted& noted = entry->second;
  counters_.unpinned_seconds += std::max(0.0, seconds - noted.seconds);
  noted.seconds = std::max(noted.seconds, seconds);
  const bool gets_name = !noted.is_named && !id.name.empty();
  noted.is_named = noted.is_named || gets_name;
  if (is_new) ++counters_.found_unpinned;
  if (is_new || gets_name) events_.push_back({EventKind::kFoundUnpinned, id.pod, id.name});
}

Result<api::CreateContainerResponse> Enforcer::create(Agent& agent,
                                                      const api::CreateContainerRequest& request) {
  std::optional<ContainerId> id;  // set once it is decided
  auto answer = [&]() -> Result<api::CreateContainerResponse> {
    PINFOLD_LET(const auto plan, plan_create(known_, request, premises(agent), agent.state().node));
    PINFOLD_TRY(execute(agent, plan.requests));
    id = plan.container;
    known_.create(request.pod(), request.container());
    PINFOLD_TRY(make_room(agent, request.pod(), *id));
    PINFOLD_LET(auto created, answer_create(agent.node(), agent.state().node, *id));
    fit(agent, *id, request.container(),
        *created.mutable_adjust()->mutable_linux()->mutable_resources()->mutable_cpu());
    add_records(agent, request.container().id(), created);
    return created;
  }();
  if (!answer) {
    ++counters_.create_refusals;
    log(LogLevel::kError,
        fmt::format("NRI: container '{}' of pod '{}' is not created: {}",
                    request.container().name(), request.pod().uid(), answer.error().message));
    if (id) take_back(agent, request.pod(), *id);
    api::StateChangeEvent end;
    end.set_event(api::Event::REMOVE_CONTAINER);
    *end.mutable_pod() = request.pod();
    *end.mutable_container() = request.container();
    known_.change(end);
  }
  return answer;
}

api::UpdateContainerResponse Enforcer::update(Agent& agent,
                                              const api::UpdateContainerRequest& request) {
  auto answer = answer_update(request, agent.node(), agent.state().node);
  for (auto& update : *answer.mutable_update()) fit(agent, update);
  const std::string& cpus = request.linux_resources().cpu().cpus();
  if (!cpus.empty() && answer.update_size() > 0) {
    const std::string& own = answer.update(0).linux().resources().cpu().cpus();
    if (cpus != own && !own.empty()) {
      ++counters_.reverted;
      log(LogLevel::kWarning,
          fmt::format("NRI: container '{}' of pod '{}': an update to CPUs {} became {}",
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
      (void)confine_others(agent);
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
      if (is_synchronized_) adopt_started(agent, event);
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
  known_.change(event);
  if (was_refused && id) take_back(agent, event.pod(), *id);
  if (is_synchronized_) remove_ended(agent);
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
    remove(agent, ended);
  }
  const auto plan = plan_sandbox(sandbox, premises(agent), agent.state().node);
  if (!plan) return log(LogLevel::kError, "NRI: " + plan.error().message);
  (void)execute(agent, *plan);  // a rejection is logged
}

/// The gate, before the container's program runs. Rejects only containers that could use exclusive
/// CPUs of others or would not get their own.
Result<ContainerId> Enforcer::start(Agent& agent, const api::StateChangeEvent& event) {
  const api::Container& container = event.container();
  auto id = find_container(agent.state().node, PodUid(event.pod().uid()), container.name());
  if (!id) {
    PINFOLD_LET(id, admit_unknown(agent, event));
    const auto directory = group_directory(options_.mount, container.linux().cgroups_path());
    count_unpinned(directory.value_or(container.id()), *id,
                   options_.age(static_cast<pid_t>(container.pid())));
    log(LogLevel::kWarning,
        fmt::format("NRI: {}: created without Pinfold, pinned when it started", title_of(*id)));
  } else if (!knows(container)) {
    // Created before Synchronize, which has missed it.
    known_.create(event.pod(), container);
  }
  known_.change(event);
  show_groups(agent);
  const verbs::Action action = verbs::Start{*id};
  const auto noted = verbs::execute(agent, action);
  if (has_exclusive_cpus(agent.desired(), *id)) {
    PINFOLD_TRY(noted);
    PINFOLD_TRY(start_exclusive(agent, event, *id));
  } else {
    if (!noted) log(LogLevel::kWarning, fmt::format("NRI: {}", noted.error().message));
    PINFOLD_TRY(start_shared(agent, event, *id));
  }
  verbs::add_events(action, noted.value_or(verbs::Done()), events_);  // only now it may start
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
  PINFOLD_TRY(execute(agent, plan.requests));
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
  if (is_in_sandbox(agent, *id)) return;  // the sandbox keeps running
  const auto disowned = agent.disown(*id);
  if (!disowned) {
    log(LogLevel::kWarning,
        fmt::format("NRI: {} has stopped: {}", title_of(*id), disowned.error().message));
  }
}

/// Executes an action and keeps its events.
Result<verbs::Answer> Enforcer::run(Agent& agent, const verbs::Action& action) {
  auto answer = verbs::execute(agent, action);
  if (answer) verbs::add_events(action, *answer, events_);
  return answer;
}

/// Brings the cgroups back to the desired state after someone else may have changed them.
void Enforcer::revert(Agent& agent) {
  show_groups(agent);
  const auto report =
      verbs::expect<agent::ReconcileReport>(verbs::execute(agent, verbs::Reconcile{}));
  note_confined(agent);
  if (!report) return log(LogLevel::kError, "NRI: " + report.error().message);
  counters_.reverted += report->drift.size();
  for (const std::string& line : report->drift) log(LogLevel::kWarning, "drift: " + line);
  for (const std::string& line : report->remaining) {
    if (!remaining_.contains(line)) log(LogLevel::kError, "remaining: " + line);
  }
  remaining_ = {report->remaining.begin(), report->remaining.end()};
}

}  // namespace pinfold::nri
