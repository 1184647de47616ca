#include "enforcer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pinfold/nri_plugin/group_path.hpp"

namespace pinfold::nri {
namespace {

using agent::LogLevel;
using agent::NodeAgent;
using agent::RunningProcesses;
using service::ChangeKind;

std::string title_of(const ContainerId& id) {
  return fmt::format("container '{}' of pod '{}'", id.name, id.pod);
}

/// Reads back, and tries once more: a container may have ended while it was written.
Result<void> ensure(NodeAgent& agent, const ContainerId& id) {
  if (agent.verify(id)) return {};
  PINFOLD_TRY(agent.reconcile(agent::PageMoves::kOff));
  return agent.verify(id);
}

/// The CPUs that the kernel has for a group; empty if it cannot be read.
CpuSet cpus_of(const NodeAgent& agent, const std::string& directory) {
  const auto group = agent.enforced()->open_elsewhere(directory);
  return group ? effective_cpus(*group).value_or(CpuSet()) : CpuSet();
}

}  // namespace

CpuSet Enforcer::desired_cpus(const agent::Desired& desired, const ContainerId& id) {
  const auto found = desired.layout.find(id);
  return found == desired.layout.end() ? CpuSet() : found->second.cpus;
}

/// Takes part of the decisions that end something. What fails is tried again with the next event.
void Enforcer::remove(Agent& agent, const AgentRequests& requests) {
  for (const PodUid& uid : requests.remove_pods) {
    const auto removed = agent.remove_pod(uid, RunningProcesses::kRefuse);
    if (removed) {
      add_change(ChangeKind::kRemoved, uid);
    } else {
      log(LogLevel::kWarning,
          fmt::format("NRI: remove pod '{}': {}", uid, removed.error().message));
    }
  }
  for (const ContainerId& id : requests.remove_containers) {
    const auto removed = agent.remove_container(id, RunningProcesses::kRefuse);
    if (removed) {
      add_change(ChangeKind::kRemoved, id.pod, id.name);
    } else {
      log(LogLevel::kWarning,
          fmt::format("NRI: remove {}: {}", title_of(id), removed.error().message));
    }
  }
}

/// Returns the error of the first pod that is rejected; the others are decided all the same.
Result<void> Enforcer::execute(Agent& agent, const AgentRequests& requests) {
  for (const std::string& note : requests.notes) log(LogLevel::kInfo, "NRI: " + note);
  remove(agent, requests);
  if (requests.admit.empty()) return {};
  PINFOLD_LET(const auto outcomes, agent.admit(requests.admit));
  Result<void> result;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const PodSpec& pod = requests.admit[i];
    const auto& rejection = outcomes[i].rejection;
    add_change(rejection ? ChangeKind::kRejected : ChangeKind::kAdmitted, pod.uid);
    if (!rejection) continue;
    Error error{ErrorCode::kUnsupported, 0,
                fmt::format("pod '{}/{}' is rejected, {}: {}", pod.namespace_name, pod.name,
                            rejection->reason, rejection->message)};
    log(LogLevel::kWarning, "NRI: " + error.message);
    if (result) result = fail(std::move(error));
  }
  return result;
}

/// What the runtime has on record follows with an answer to a request of the container `except`.
template <class Response>
void Enforcer::add_records(Agent& agent, const std::string& except, Response& answer) {
  for (auto& update : records_.take(known_, agent.node(), agent.state().node, except)) {
    *answer.add_update() = std::move(update);
  }
}

api::SynchronizeResponse Enforcer::synchronize(Agent& agent,
                                               const api::SynchronizeRequest& request) {
  known_ = KnownPods(request);
  if (!std::exchange(is_synchronized_, true)) {
    const auto recognized = confined_.recognize(*agent.enforced(), others_of(agent));
    if (!recognized) log(LogLevel::kError, "NRI: " + recognized.error().message);
  }
  const auto done = execute(agent, plan_synchronize(known_, premises_, agent.state().node));
  if (!done) log(LogLevel::kWarning, "NRI: synchronize: " + done.error().message);
  adopt_running(agent);
  revert(agent);
  (void)confine_others(agent, desired_now(agent));
  api::SynchronizeResponse answer;
  add_records(agent, "", answer);
  return answer;
}

/// Adopts the groups of all started containers. What cannot be adopted is another's group, and
/// confined.
void Enforcer::adopt_running(Agent& agent) {
  std::vector<agent::AdoptedGroup> groups;
  const agent::Desired desired = agent.desired();
  for (const auto& [sandbox, pod] : known_.all()) {
    for (const KnownContainer& container : pod.containers) {
      if (container.phase != Phase::kStarted) continue;
      const auto id = find_container(agent.state().node, pod.uid(), container.shown.name());
      const auto directory =
          group_directory(options_.mount, container.shown.linux().cgroups_path());
      if (!directory) log(LogLevel::kError, "NRI: " + directory.error().message);
      if (!id || !directory) continue;
      const std::string* const has = agent.state().adopted.find(*id);
      if (has != nullptr && *has == *directory) continue;
      note_unpinned(*id, container.shown, desired_cpus(desired, *id), *directory,
                    cpus_of(agent, *directory));
      groups.push_back({*id, *directory});
    }
  }
  if (groups.empty()) return;
  const auto adopted = agent.adopt(groups);
  if (!adopted) return log(LogLevel::kError, "NRI: " + adopted.error().message);
  for (const auto& [id, error] : adopted->refused) {
    log(LogLevel::kError, fmt::format("NRI: {}: {}", title_of(id), error.message));
  }
}

/// Counts a running container of which the agent did not know, if it has other CPUs than it should
/// or had them until it was confined. One that was counted before the runtime showed it gets its
/// name.
void Enforcer::note_unpinned(const ContainerId& id, const api::Container& container,
                             const CpuSet& desired, const std::string& directory,
                             const CpuSet& has) {
  const auto noted = noted_.find(directory);
  const bool was_confined =
      unexplained_.erase(directory) != 0 || (noted != noted_.end() && !noted->second.is_named);
  if (!was_confined && (desired.empty() || desired.contains_all(has))) return;
  const double seconds = options_.age(static_cast<pid_t>(container.pid()));
  count_unpinned(directory, id, seconds);
  log(LogLevel::kWarning,
      fmt::format("NRI: {}: {} CPUs {}, expected {}, for {:.0f} s at most", title_of(id),
                  was_confined ? "unknown, was confined to" : "ran on", has.to_string(),
                  desired.to_string(), seconds));
}

/// Counts the container of a group once, and all of its time until now once.
void Enforcer::count_unpinned(const std::string& directory, const ContainerId& id, double seconds) {
  const auto [entry, is_new] = noted_.try_emplace(directory);
  Noted& noted = entry->second;
  counters_.unpinned_seconds += std::max(0.0, seconds - noted.seconds);
  noted.seconds = std::max(noted.seconds, seconds);
  const bool gets_name = !noted.is_named && !id.name.empty();
  noted.is_named = noted.is_named || gets_name;
  if (is_new) ++counters_.found_unpinned;
  if (is_new || gets_name) add_change(ChangeKind::kFoundUnpinned, id.pod, id.name);
}

Result<api::CreateContainerResponse> Enforcer::create(Agent& agent,
                                                      const api::CreateContainerRequest& request) {
  auto answer = [&]() -> Result<api::CreateContainerResponse> {
    PINFOLD_LET(const auto plan, plan_create(known_, request, premises_, agent.state().node));
    PINFOLD_TRY(execute(agent, plan.requests));
    known_.create(request.pod(), request.container());
    PINFOLD_TRY(ensure(agent, plan.container));
    // What is left is looked for again at the start.
    (void)confine_others(agent, desired_now(agent));
    PINFOLD_LET(auto created, answer_create(agent.node(), agent.state().node, plan.container));
    add_records(agent, request.container().id(), created);
    return created;
  }();
  if (!answer) {
    ++counters_.create_refusals;
    log(LogLevel::kError,
        fmt::format("NRI: container '{}' of pod '{}' is not created: {}",
                    request.container().name(), request.pod().uid(), answer.error().message));
  }
  return answer;
}

api::UpdateContainerResponse Enforcer::update(Agent& agent,
                                              const api::UpdateContainerRequest& request) {
  auto answer = answer_update(request, agent.node(), agent.state().node);
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
      (void)confine_others(agent, desired_now(agent));
      return {};
    case api::Event::START_CONTAINER: {
      auto started = start(agent, event);
      if (started) return {};
      ++counters_.start_refusals;
      log(LogLevel::kError,
          fmt::format("NRI: container '{}' of pod '{}' does not start: {}",
                      event.container().name(), event.pod().uid(), started.error().message));
      return started;
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
  known_.change(event);
  if (is_synchronized_) remove_ended(agent);
}

/// An answer with an error would be ignored, or leave a sandbox behind: a pod that is rejected here
/// is refused with its first container.
void Enforcer::run_sandbox(Agent& agent, const api::PodSandbox& sandbox) {
  const PodUid uid(sandbox.uid());
  const ActivePod* const active = agent.state().node.find(uid);
  // Its init containers run again: they have no group any more once a later container has started.
  const bool has_init = active != nullptr &&
                        std::any_of(active->spec.containers.begin(), active->spec.containers.end(),
                                    [](const Container& container) {
                                      return container.kind == ContainerKind::kInit;
                                    });
  if (has_init) remove(agent, {{uid}, {}, {}, {}});
  const auto plan = plan_sandbox(sandbox, premises_, agent.state().node);
  if (!plan) return log(LogLevel::kError, "NRI: " + plan.error().message);
  (void)execute(agent, *plan);  // a rejection is in the log
}

/// The gate: the group exists, and the container's program does not run yet.
Result<void> Enforcer::start(Agent& agent, const api::StateChangeEvent& event) {
  const api::Container& container = event.container();
  PINFOLD_LET(const std::string directory,
              group_directory(options_.mount, container.linux().cgroups_path()));
  auto id = find_container(agent.state().node, PodUid(event.pod().uid()), container.name());
  if (!id) {
    PINFOLD_LET(id, admit_unknown(agent, event));
    count_unpinned(directory, *id, options_.age(static_cast<pid_t>(container.pid())));
    log(LogLevel::kWarning,
        fmt::format("NRI: {}: created without Pinfold, pinned at its start", title_of(*id)));
  } else if (!knows(container)) {
    // Created before Synchronize, which has missed it: what its pod asks for next is beside it.
    known_.create(event.pod(), container);
  }
  known_.change(event);
  PINFOLD_TRY(agent.start(*id));
  PINFOLD_TRY(agent.adopt(id->pod, {id->name, directory}));
  add_change(ChangeKind::kStarted, id->pod, id->name);
  PINFOLD_TRY(ensure(agent, *id));
  agent.reset_affinity(*id);
  const agent::Desired desired = desired_now(agent);
  const CpuSet left = confine_others(agent, desired);
  const auto own = desired.layout.find(*id);
  const bool is_exclusive =
      own != desired.layout.end() && own->second.isolation != Isolation::kHost;
  if (!is_exclusive || !left.intersects(own->second.cpus)) return {};
  return fail(ErrorCode::kBusy, fmt::format("other groups can run on its exclusive CPUs {}",
                                            (left & own->second.cpus).to_string()));
}

/// A container that was created while no plugin was connected.
Result<ContainerId> Enforcer::admit_unknown(Agent& agent, const api::StateChangeEvent& event) {
  api::CreateContainerRequest request;
  *request.mutable_pod() = event.pod();
  *request.mutable_container() = event.container();
  PINFOLD_LET(const auto plan, plan_create(known_, request, premises_, agent.state().node));
  PINFOLD_TRY(execute(agent, plan.requests));
  known_.create(event.pod(), event.container());
  return plan.container;
}

bool Enforcer::knows(const api::Container& container) const {
  const KnownContainer* const known = known_.find_name_of(container);
  return known != nullptr && known->shown.id() == container.id();
}

void Enforcer::note_stop(Agent& agent, const api::Container& container) {
  // Events of an earlier container of the same name come late.
  if (!knows(container)) return;
  const PodUid uid = known_.find(container.pod_sandbox_id())->uid();
  const auto id = find_container(agent.state().node, uid, container.name());
  if (!id || !agent.state().adopted.contains(*id)) return;
  const auto disowned = agent.disown(*id);
  if (!disowned) {
    log(LogLevel::kWarning,
        fmt::format("NRI: {} has stopped: {}", title_of(*id), disowned.error().message));
  }
}

/// Makes the kernel what is desired, after another one may have changed it.
void Enforcer::revert(Agent& agent) {
  const auto report = agent.reconcile(agent::PageMoves::kOff);
  if (!report) return log(LogLevel::kError, "NRI: " + report.error().message);
  counters_.reverted += report->drift.size();
  for (const std::string& line : report->drift) log(LogLevel::kWarning, "drift: " + line);
  for (const std::string& line : report->remaining) log(LogLevel::kError, "remaining: " + line);
}

}  // namespace pinfold::nri
