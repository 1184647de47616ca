#include "pinfold/agent/reconcile.hpp"

#include <fmt/format.h>

#include <utility>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/enforce/process_table.hpp"

// How it works
//
// reconcile() brings the kernel to the desired state:
//   1. remove_abandoned() removes or disowns adopted containers that have ended, which changes the
//      state and therefore the desired layout.
//   2. NodeAgent::enforce_again() enforces that layout. EnforcedLayout::reconcile() observes all
//      groups, applies the layout, and returns processes that left their group according to the
//      process list of the last reconciliation. The new list is stored, pages are moved if that is
//      requested, and quiet CPUs and the files of containers are brought up to date.
//   3. The report gets what has ended as drift, and the pods and containers that are gone.
//
// A container has ended when its group has no process. Some end only with their group: those that
// had no process yet when their group was adopted, and all where processes may be hidden. A pod
// that ends with its last adopted container stays as long as processes run in its other groups;
// end_pods() removes it then, at a later reconciliation.
//
// Invariants: it is idempotent. A container is removed only without processes (kRefuse), so a
// container that starts meanwhile is kept. The process list is only a side file: without it,
// strayed processes are not returned.

namespace pinfold::agent {
namespace {

/// Returns whether processes run in other groups of the container's pod.
Result<bool> has_other_processes(const NodeAgent& agent, const ContainerId& container) {
  if (!agent.enforces()) return false;
  PINFOLD_LET(const auto groups, agent.enforced()->groups_of_pod(container.pod));
  for (const enforce::GroupName& name : groups) {
    if (name == enforce::GroupName(container)) continue;
    PINFOLD_LET(const bool runs, agent.enforced()->has_processes(name));
    if (runs) return true;
  }
  return false;
}

/// Returns whether a container has ended although its runtime has not removed it. If its processes
/// may be hidden, it counts as ended only when its group is gone.
bool has_ended(const NodeAgent& agent, const ContainerId& container) {
  const ObservedCgroups& enforced = *agent.enforced();
  if (enforced.has_processes(container).value_or(true)) return false;
  const bool ends_with_group = agent.state().end_with_group.contains(container) ||
                               agent.state().unread.contains(container) ||
                               !enforced.lists_all_processes();
  return !ends_with_group || !enforced.has_group(container).value_or(true);
}

/// Returns whether a process is still making the first container of a pod.
bool is_being_created(const AgentState& state, const PodUid& uid) {
  const auto creator = state.creators.find(uid);
  return creator != state.creators.end() &&
         enforce::identify(creator->second.pid) == creator->second;
}

/// Removes pods that should have ended with their last adopted container, but still had processes
/// in other groups, and those whose first container was never made.
void end_pods(NodeAgent& agent) {
  const auto ending = agent.state().ending;  // a copy: it shrinks
  for (const PodUid& uid : ending) {
    const AgentState& state = agent.state();
    if (state.adopted.contains(uid) || is_being_created(state, uid)) continue;
    (void)agent.remove_pod(uid, RunningProcesses::kRefuse);
  }
}

}  // namespace

Result<ChangeOutcome> remove_adopted(NodeAgent& agent, const ContainerId& container,
                                     RunningProcesses running) {
  ContainerMap<std::string> others = agent.state().adopted;
  others.erase(container);
  const bool is_last =
      !others.contains(container.pod) && agent.state().ending.contains(container.pod);
  PINFOLD_LET(const bool goes_on,
              is_last ? has_other_processes(agent, container) : Result<bool>(true));
  return goes_on ? agent.remove_container(container, running)
                 : agent.remove_pod(container.pod, running);
}

std::vector<ContainerId> remove_abandoned(NodeAgent& agent) {
  std::vector<ContainerId> removed;
  if (!agent.enforces()) return removed;
  agent.look_at_unread();
  const auto adopted = agent.state().adopted;  // a copy: it shrinks
  for (const auto& entry : adopted) {
    const ContainerId container = entry.id();
    if (!has_ended(agent, container)) continue;
    if (agent.options().abandoned == Abandoned::kDisown &&
        !agent.state().ending.contains(container.pod)) {
      (void)agent.disown(container);
      continue;
    }
    if (!remove_adopted(agent, container, RunningProcesses::kRefuse)) continue;
    if (const LogSink& log = agent.options().log) {
      log(LogLevel::kWarning,
          fmt::format("{}: its container in '{}' has ended, but its runtime did not remove it: "
                      "removed",
                      to_string(enforce::GroupName(container)), entry.value));
    }
    removed.push_back(container);
  }
  end_pods(agent);
  return removed;
}

Result<ReconcileReport> reconcile(NodeAgent& agent, std::optional<PageMoves> pages) {
  const auto before = agent.state().node.pods;
  const auto abandoned = remove_abandoned(agent);
  const PageMoves usual = agent.options().move_pages ? PageMoves::kOn : PageMoves::kOff;
  PINFOLD_LET(ReconcileReport report, agent.enforce_again(pages.value_or(usual)));
  std::vector<std::string> removed;
  removed.reserve(abandoned.size());
  for (const ContainerId& container : abandoned) {
    removed.push_back(
        fmt::format("{}: the container that a runtime ran there is gone but was not removed",
                    to_string(enforce::GroupName(container))));
  }
  report.drift.insert(report.drift.begin(), removed.begin(), removed.end());
  const auto is_active = [&](const PodUid& uid) { return agent.state().node.find(uid) != nullptr; };
  for (const ActivePod& pod : before) {
    if (!is_active(pod.spec.uid)) report.removed.emplace_back(pod.spec.uid);
  }
  for (const ContainerId& container : abandoned) {
    if (is_active(container.pod)) report.removed.emplace_back(container);
  }
  return report;
}

}  // namespace pinfold::agent
