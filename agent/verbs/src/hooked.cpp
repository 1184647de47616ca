#include "pinfold/verbs/hooked.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "pinfold/agent/reconcile.hpp"

namespace pinfold::verbs {
namespace {

Refusal refusal_of(Error error) {
  std::string summary =
      error.code == ErrorCode::kBusy
          ? "a container of this name is already running"
          : fmt::format("the container is not admitted ({})", to_string(error.code));
  return {std::move(summary), std::move(error)};
}

/// Summarizes a rejection. The only reason that quotes the pod is the size of missing huge pages.
Refusal refusal_of(const Rejection& rejection) {
  constexpr std::string_view kHugePages = "OutOfhugepages";
  const bool has_size = rejection.reason.starts_with(kHugePages);
  return {fmt::format("rejected, {}", has_size ? kHugePages : rejection.reason),
          {ErrorCode::kUnsupported, 0,
           fmt::format("rejected, {}: {}", rejection.reason, rejection.message)},
          rejection};
}

/// Returns a refusal if another pod with this UID is active.
std::optional<Refusal> check_active(const agent::NodeAgent& agent, const PodSpec& pod) {
  const ActivePod* const active = agent.state().node.find(pod.uid);
  if (active == nullptr || active->spec == pod) return std::nullopt;
  return Refusal{
      "a different pod with its UID is active",
      {ErrorCode::kBusy, 0, fmt::format("a different pod with the UID '{}' is active", pod.uid)}};
}

/// Starts the container after its admission, unless that has.
std::optional<Refusal> start_hooked(agent::NodeAgent& agent, const ContainerId& container,
                                    const agent::AdmitOutcome& outcome,
                                    const std::function<bool()>& has_ended) {
  const char* const summary = "its cpuset cannot be applied";
  if (outcome.not_enforced) return Refusal{summary, *outcome.not_enforced};
  const ActivePod* const pod = agent.state().node.find(container.pod);
  if (pod == nullptr || !pod->started.contains(container.name)) {
    auto started = agent.start(container);
    if (!started) return Refusal{summary, std::move(started).error()};
    if (started->not_enforced) return Refusal{summary, *std::move(started->not_enforced)};
  }
  agent.reset_affinity(container);
  if (!has_ended()) return std::nullopt;
  const char* const ended = "the container's process has ended";
  return Refusal{ended, {ErrorCode::kNotFound, 0, ended}};
}

}  // namespace

PreparedContainer prepare_hooked(agent::NodeAgent& agent, const PrepareHooked& request) {
  (void)remove_abandoned(agent);
  const ContainerId container{request.pod.uid, request.container};
  if (auto refusal = check_active(agent, request.pod)) return *std::move(refusal);
  if (agent.state().node.find(container.pod) == nullptr) {
    agent::FromRuntime shown;
    shown.creator = request.creator;
    auto outcomes = agent.admit({request.pod}, nullptr, shown);
    if (!outcomes) return refusal_of(std::move(outcomes).error());
    if (outcomes->front().rejection) return refusal_of(*outcomes->front().rejection);
  } else if (agent.state().removed.contains(container)) {
    if (auto started = agent.start(container); !started) {
      return refusal_of(std::move(started).error());
    }
  }
  auto directory = agent.publish_assigned(container);
  const auto values =
      agent::assigned_values(agent.node(), agent.state().node, agent.desired(), container);
  if (!directory) return Refusal{"its files cannot be written", std::move(directory).error()};
  return OwnResources{*std::move(directory), values.value()};
}

std::optional<Refusal> admit_hooked(agent::NodeAgent& agent, const AdmitHooked& request,
                                    const std::function<bool()>& has_ended) {
  (void)remove_abandoned(agent);  // containers whose runtime died must not block this one
  const ContainerId container{request.pod.uid, request.adoption.container};
  if (auto refusal = check_active(agent, request.pod)) return refusal;
  auto outcome = agent.admit_adopted(request.pod, request.adoption);
  if (!outcome) return refusal_of(std::move(outcome).error());
  if (outcome->rejection) return refusal_of(*outcome->rejection);
  auto refusal = start_hooked(agent, container, *outcome, has_ended);
  if (!refusal) return std::nullopt;
  // The runtime ends a container whose hook fails. Kill it now, so that nothing runs unpinned.
  if (!remove_adopted(agent, container, agent::RunningProcesses::kKill)) {
    constexpr std::string_view kLeft = "; it is not removed: run 'pinfold reconcile'";
    refusal->summary += kLeft;
    refusal->error.message += kLeft;
  }
  return refusal;
}

std::optional<Refusal> remove_hooked(agent::NodeAgent& agent, const ContainerId& container) {
  const bool is_adopted = agent.state().adopted.contains(container);
  const bool was_never_made = agent.state().creators.contains(container.pod);
  if (!is_adopted && !was_never_made) return std::nullopt;
  auto outcome = is_adopted ? remove_adopted(agent, container, agent::RunningProcesses::kRefuse)
                            : agent.remove_pod(container.pod, agent::RunningProcesses::kRefuse);
  if (!outcome) return Refusal{"processes run in its cgroup", std::move(outcome).error()};
  if (!outcome->not_enforced) return std::nullopt;
  return Refusal{"the cpusets of other containers cannot be applied",
                 *std::move(outcome->not_enforced)};
}

}  // namespace pinfold::verbs
