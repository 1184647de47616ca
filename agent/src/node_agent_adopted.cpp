// NodeAgent: containers whose group a container runtime made, mainly how they end.

#include <fmt/format.h>

#include <set>
#include <utility>

#include "pinfold/agent/node_agent.hpp"

namespace pinfold::agent {

Result<ChangeOutcome> NodeAgent::disown(const ContainerId& container) {
  if (!state().adopted.contains(container)) {
    return fail(ErrorCode::kNotFound, fmt::format("container '{}' of pod '{}' has no adopted group",
                                                  container.name, container.pod));
  }
  if (enforced_) {
    PINFOLD_TRY(enforced_->make_empty({container}, RunningProcesses::kRefuse));
  }
  AgentState next = state();
  next.adopted.erase(container);
  return change(std::move(next), fmt::format("disown the group of container '{}'", container.name),
                std::set{container.pod});
}

Result<ChangeOutcome> NodeAgent::adopt_sandbox(const PodUid& uid, const std::string& directory) {
  if (!enforced_) {
    return fail(ErrorCode::kUnsupported, "this agent enforces nothing: it has no control groups");
  }
  AgentState next = state();
  std::vector<ContainerId> added;
  bool is_checked = false;  // true if a container of the pod has adopted this group before
  for (const auto& [name, settings] : desired().layout) {
    if (name.pod != uid || name.is_pod() || settings.isolation == Isolation::kHost) continue;
    const std::string* const has = state().adopted.find(name.id());
    is_checked = is_checked || (has != nullptr && *has == directory);
    added.push_back(name.id());
  }
  if (added.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("no container of pod '{}' has exclusive CPUs", uid));
  }
  std::string real = directory;
  if (!is_checked) {
    PINFOLD_LET(real, enforced_->check_adoptable(added.front(), directory));
  }
  for (const ContainerId& container : added) next.adopted[container] = real;
  PINFOLD_TRY_WRAP(store(std::move(next)), fmt::format("adopt the group '{}'", real));
  const Desired target = desired();
  for (const ContainerId& container : added) {
    auto adopted = enforced_->adopt(target, container);
    if (!adopted) return ChangeOutcome{std::move(adopted).error()};
  }
  return ChangeOutcome{apply(std::set{uid})};
}

Result<ChangeOutcome> NodeAgent::disown_sandbox(const ContainerId& container) {
  AgentState next = state();
  if (!next.adopted.erase(container)) {
    return fail(ErrorCode::kNotFound, fmt::format("container '{}' of pod '{}' has no adopted group",
                                                  container.name, container.pod));
  }
  return change(std::move(next), fmt::format("disown the group of container '{}'", container.name),
                std::set{container.pod});
}

Result<ChangeOutcome> NodeAgent::remove_adopted(const ContainerId& container,
                                                RunningProcesses running) {
  ContainerMap<std::string> others = state().adopted;
  others.erase(container);
  const bool is_last = !others.contains(container.pod) && state().ending.contains(container.pod);
  PINFOLD_LET(const bool goes_on, is_last ? has_other_processes(container) : Result<bool>(true));
  return goes_on ? remove_container(container, running) : remove_pod(container.pod, running);
}

/// Returns whether processes run in other groups of the container's pod.
Result<bool> NodeAgent::has_other_processes(const ContainerId& container) const {
  if (!enforced_) return false;
  PINFOLD_LET(const auto groups, enforced_->groups_of_pod(container.pod));
  for (const enforce::GroupName& name : groups) {
    if (name == enforce::GroupName(container)) continue;
    PINFOLD_LET(const bool runs, enforced_->has_processes(name));
    if (runs) return true;
  }
  return false;
}

/// Removes pods that should have ended with their last adopted container, but still had processes
/// in other groups.
void NodeAgent::end_pods() {
  for (const PodUid& uid : std::set(state().ending)) {
    if (!state().adopted.contains(uid)) (void)remove_pod(uid, RunningProcesses::kRefuse);
  }
}

std::vector<ContainerId> NodeAgent::remove_abandoned() {
  std::vector<ContainerId> removed;
  if (!enforced_) return removed;
  const auto adopted = state().adopted;  // a copy: it shrinks
  for (const auto& entry : adopted) {
    const ContainerId container = entry.id();
    if (enforced_->has_processes(container).value_or(true)) continue;
    if (options_.abandoned == Abandoned::kDisown && !state().ending.contains(container.pod)) {
      (void)disown(container);
      continue;
    }
    if (!remove_adopted(container, RunningProcesses::kRefuse)) continue;
    log(LogLevel::kWarning,
        fmt::format("{}: its container in '{}' has ended, and its runtime did not remove it: "
                    "removed",
                    to_string(enforce::GroupName(container)), entry.value));
    removed.push_back(container);
  }
  end_pods();
  return removed;
}

}  // namespace pinfold::agent
