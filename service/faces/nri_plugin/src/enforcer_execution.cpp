#include "enforcer_execution.hpp"

#include <fmt/format.h>

#include <utility>

namespace pinfold::nri {
namespace {

using agent::LogLevel;
using agent::RunningProcesses;

agent::FromRuntime from_runtime(const AgentRequests& requests) {
  agent::FromRuntime out;
  out.unstored = agent::Unstored::kIsKept;  // Synchronize shows it again
  out.release = requests.release;
  for (const auto& [uid, shown] : requests.shown) {
    out.notes[uid] = {shown.qos, shown.why_shared, shown.quiet};
    if (!shown.places.empty()) out.places[uid] = shown.places;
  }
  return out;
}

}  // namespace

Result<void> Execution::execute(Agent& agent, const AgentRequests& requests) {
  for (const std::string& note : requests.notes) log(LogLevel::kInfo, "NRI: " + note);
  others_.show_groups(agent);
  remove(agent, requests);
  const agent::FromRuntime shown = from_runtime(requests);
  if (requests.admit.empty()) {
    note(agent, shown.notes);
    return {};
  }
  auto admitted =
      verbs::expect<verbs::Admissions>(run(agent, verbs::Admit{requests.admit, false, shown}));
  others_.note_confined(agent);
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
Result<void> Execution::execute_each(Agent& agent, const AgentRequests& requests) {
  Result<void> result;
  for (const PodSpec& pod : requests.admit) {
    AgentRequests one;
    one.admit = {pod};
    one.release = requests.release;
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

Result<void> Execution::resize(Agent& agent, const ResizeRequest& request) {
  others_.show_groups(agent);
  PINFOLD_LET(const auto outcome,
              verbs::expect<agent::ResizeOutcome>(run(agent, verbs::Resize{request})));
  others_.note_confined(agent);
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return fail(code, fmt::format("{} is not resized to {} CPUs, {}", title_of(request.container),
                                  request.cpu.to_string(), why));
  };
  if (outcome.refused) return refuse(ErrorCode::kUnsupported, describe(*outcome.refused));
  if (outcome.not_enforced) return refuse(ErrorCode::kBusy, outcome.not_enforced->message);
  return {};
}

void Execution::remove(Agent& agent, const AgentRequests& requests) {
  for (const PodUid& uid : requests.remove_pods) {
    const auto removed = run(agent, verbs::Remove{uid, "", RunningProcesses::kRefuse});
    if (removed) continue;
    log(LogLevel::kWarning, fmt::format("NRI: remove pod '{}': {}", uid, removed.error().message));
  }
  for (const ContainerId& id : requests.remove_containers) {
    sandboxes_.leave_sandbox(agent, id);
    const auto removed = run(agent, verbs::Remove{id.pod, id.name, RunningProcesses::kRefuse});
    if (removed) continue;
    log(LogLevel::kWarning,
        fmt::format("NRI: remove {}: {}", title_of(id), removed.error().message));
  }
}

void Execution::take_back(Agent& agent, const api::PodSandbox& pod, const ContainerId& id) {
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
    if (!has_others || container.name == id.name) sandboxes_.leave_sandbox(agent, one);
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
    log(LogLevel::kWarning,
        fmt::format("NRI: {} could not be removed again and keeps its resources: {}", title_of(id),
                    done.error().message));
  }
}

/// Adds notes for pods that have none: an earlier version of the service did not keep them.
void Execution::note(Agent& agent, const agent::PodNotes& notes) const {
  agent::PodNotes added;
  for (const auto& [uid, note] : notes) {
    if (!agent.state().notes.contains(uid)) added.emplace(uid, note);
  }
  if (added.empty()) return;
  const auto noted = agent.note(added);
  if (!noted) log(LogLevel::kWarning, "NRI: " + noted.error().message);
}

}  // namespace pinfold::nri
