// NodeAgent: the end of containers whose group a container runtime made.

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

Result<ChangeOutcome> NodeAgent::remove_adopted(const ContainerId& container,
                                                RunningProcesses running) {
  ContainerMap<std::string> others = state().adopted;
  others.erase(container);
  const bool is_last = !others.contains(container.pod) && state().ending.contains(container.pod);
  PINFOLD_LET(const bool goes_on, is_last ? runs_beside(container) : Result<bool>(true));
  return goes_on ? remove_container(container, running) : remove_pod(container.pod, running);
}

/// Whether processes run in other groups of its pod.
Result<bool> NodeAgent::runs_beside(const ContainerId& container) const {
  if (!enforced_) return false;
  PINFOLD_LET(const auto groups, enforced_->groups_of_pod(container.pod));
  for (const enforce::GroupName& name : groups) {
    if (name == enforce::GroupName(container)) continue;
    PINFOLD_LET(const bool runs, enforced_->has_processes(name));
    if (runs) return true;
  }
  return false;
}

/// Pods that should have ended with their last adopted container, but others still ran in them.
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
