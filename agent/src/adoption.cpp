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
  for (const auto& [name, directory] : state_.adopted) (void)cgroups_->adopt(name, directory);
}

std::optional<Error> NodeAgent::adopt_and_apply(const Adoption* adoption,
                                                const std::string& pod_uid) {
  if (adoption != nullptr && cgroups_) {
    auto adopted = cgroups_->adopt({pod_uid, adoption->container}, adoption->directory);
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

Result<ChangeOutcome> NodeAgent::adopt(const std::string& pod_uid, const Adoption& adoption) {
  if (!cgroups_) return fail(ErrorCode::kUnsupported, "this agent enforces nothing");
  const ActivePod* const pod = state_.node.find(pod_uid);
  if (pod == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("pod '{}' is not active on this node", pod_uid));
  }
  if (!has_container(pod->spec, adoption.container)) {
    return fail(no_container(pod->spec, adoption.container));
  }
  AgentState next = state_;
  next.adopted[{pod_uid, adoption.container}] = adoption.directory;
  PINFOLD_TRY_WRAP(commit(std::move(next)),
                   fmt::format("adopt the group '{}'", adoption.directory));
  return ChangeOutcome{adopt_and_apply(&adoption, pod_uid)};
}

Result<ChangeOutcome> NodeAgent::remove_adopted(const enforce::GroupName& name,
                                                RunningProcesses running) {
  const auto others =
      std::count_if(state_.adopted.begin(), state_.adopted.end(), [&](const auto& group) {
        return group.first.pod_uid == name.pod_uid && group.first != name;
      });
  const bool is_last = others == 0 && state_.ending.contains(name.pod_uid);
  return is_last ? remove_pod(name.pod_uid, running)
                 : remove_container(name.pod_uid, name.container, running);
}

std::vector<enforce::GroupName> NodeAgent::remove_abandoned() {
  std::vector<enforce::GroupName> released;
  if (!cgroups_) return released;
  const auto adopted = state_.adopted;
  for (const auto& [name, directory] : adopted) {
    // What is no longer adopted was removed by its runtime: see Cgroups::observe.
    if (!cgroups_->adopted(name).empty()) {
      auto pids = cgroups_->processes(name);
      if (!pids || !pids->empty()) continue;
    }
    if (!remove_adopted(name, RunningProcesses::kRefuse)) continue;
    log(LogLevel::kWarning,
        fmt::format("{}: its container in '{}' is gone: removed", to_string(name), directory));
    released.push_back(name);
  }
  return released;
}

}  // namespace pinfold::agent
