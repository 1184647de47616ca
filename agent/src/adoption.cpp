#include <fmt/format.h>

#include <algorithm>

#include "pinfold/agent/node_agent.hpp"

/// The part of NodeAgent for groups that container runtimes made.
namespace pinfold::agent {
namespace {

bool has_container(const PodSpec& pod, const std::string& name) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [&](const Container& container) { return container.name == name; });
}

Error no_container(const PodSpec& pod, const std::string& name) {
  return {ErrorCode::kNotFound, 0,
          fmt::format("container '{}': pod '{}' has none of this name", name, pod.name)};
}

}  // namespace

/// Takes up again what was adopted before this agent was opened. A group that is gone is left to
/// remove_abandoned().
void NodeAgent::adopt_known() {
  for (const auto& entry : state_.adopted) (void)cgroups_->adopt(entry.id(), entry.value);
}

std::optional<Error> NodeAgent::adopt_and_apply(const Adoption* adoption, const PodUid& pod) {
  if (adoption != nullptr && cgroups_) {
    auto adopted = cgroups_->adopt({pod, adoption->container}, adoption->directory);
    if (!adopted) return std::move(adopted).error();
    dirty_ = true;  // the group is there, with what its runtime gave it
  }
  return apply();
}

Result<AdmitOutcome> NodeAgent::admit_adopted(const PodSpec& pod, const Adoption& adoption) {
  if (!has_container(pod, adoption.container)) return fail(no_container(pod, adoption.container));
  if (state_.node.find(pod.uid) == nullptr) {
    PINFOLD_LET(auto outcomes, admit_with({pod}, nullptr, &adoption));
    return std::move(outcomes.front());
  }
  PINFOLD_LET(auto adopted, adopt(pod.uid, adoption));
  return AdmitOutcome{std::nullopt, std::move(adopted.not_enforced)};
}

Result<ChangeOutcome> NodeAgent::adopt(const PodUid& uid, const Adoption& adoption) {
  if (!cgroups_) return fail(ErrorCode::kUnsupported, "this agent enforces nothing");
  const ActivePod* const pod = state_.node.find(uid);
  if (pod == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("pod '{}' is not active on this node", uid));
  }
  if (!has_container(pod->spec, adoption.container)) {
    return fail(no_container(pod->spec, adoption.container));
  }
  AgentState next = state_;
  next.adopted[{uid, adoption.container}] = adoption.directory;
  PINFOLD_TRY_WRAP(commit(std::move(next)),
                   fmt::format("adopt the group '{}'", adoption.directory));
  return ChangeOutcome{adopt_and_apply(&adoption, uid)};
}

Result<ChangeOutcome> NodeAgent::remove_adopted(const ContainerId& container,
                                                RunningProcesses running) {
  ContainerMap<std::string> others = state_.adopted;
  others.erase(container);
  const bool is_last = !others.contains(container.pod) && state_.ending.contains(container.pod);
  return is_last ? remove_pod(container.pod, running) : remove_container(container, running);
}

std::vector<ContainerId> NodeAgent::remove_abandoned() {
  std::vector<ContainerId> removed;
  if (!cgroups_) return removed;
  const auto adopted = state_.adopted;
  for (const auto& entry : adopted) {
    const ContainerId id = entry.id();
    // What is no longer adopted was removed by its runtime: see Cgroups::observe.
    if (!cgroups_->adopted(id).empty()) {
      auto pids = cgroups_->processes(id);
      if (!pids || !pids->empty()) continue;
    }
    if (!remove_adopted(id, RunningProcesses::kRefuse)) continue;
    log(LogLevel::kWarning, fmt::format("{}: its container in '{}' is gone: removed",
                                        to_string(enforce::GroupName(id)), entry.value));
    removed.push_back(id);
  }
  return removed;
}

}  // namespace pinfold::agent
