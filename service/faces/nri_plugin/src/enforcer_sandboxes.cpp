#include "enforcer_sandboxes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/enforce/foreign.hpp"
#include "pinfold/enforce/processes.hpp"
#include "pinfold/nri_plugin/group_path.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::nri {
namespace {

using agent::LogLevel;

/// Returns whether a handler is known to make no group per container. For messages only.
bool is_sandboxed_by_name(std::string_view handler) {
  return handler.starts_with("kata") || handler == "runsc" || handler == "gvisor";
}

/// "runtime class 'kata-qemu' creates no group per container".
std::string lack_of_groups(const api::PodSandbox& pod, bool is_declared) {
  const std::string& handler = pod.runtime_handler();
  const bool is_sure = is_declared || is_sandboxed_by_name(handler);
  return fmt::format("runtime class '{}' {} no group per container",
                     handler.empty() ? "(default)" : handler,
                     is_sure ? "creates" : "seems to create");
}

}  // namespace

bool Sandboxes::is_declared(const api::PodSandbox& pod) const {
  const std::vector<std::string>& list = options_.handlers_without_groups;
  return std::find(list.begin(), list.end(), pod.runtime_handler()) != list.end();
}

bool Sandboxes::is_run_by_sandbox(const Agent& agent, const api::PodSandbox& pod,
                                  const api::Container& container,
                                  const std::string& directory) const {
  if (runs_in(agent, directory)) return false;
  const bool is_sandboxed = is_declared(pod) || is_sandboxed_by_name(pod.runtime_handler());
  if (is_sandboxed || !agent.enforced()->reader(directory)) return true;
  const auto sandbox = sandbox_group(agent, pod);
  if (!sandbox || container.pid() == 0) return false;
  const auto pids = processes_of(agent, *sandbox);
  return std::find(pids.begin(), pids.end(), static_cast<pid_t>(container.pid())) != pids.end();
}

Result<std::string> Sandboxes::sandbox_group(const Agent& agent, const api::PodSandbox& pod) const {
  PINFOLD_LET(const std::string above, pod_directory(options_.mount, pod.linux().cgroup_parent()));
  const auto group = agent.enforced()->reader(above);
  const auto children = group ? group->children() : Result<std::vector<std::string>>();
  for (const std::string& name : children.value_or(std::vector<std::string>())) {
    std::string directory = fmt::format("{}/{}", above, name);
    if (enforce::is_group_of(directory, pod.id()) && runs_in(agent, directory)) return directory;
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' has no group of sandbox '{}' with processes", above, pod.id()));
}

bool Sandboxes::is_in_sandbox(const Agent& agent, const ContainerId& id) const {
  const std::string* const directory = agent.state().adopted.find(id);
  return directory != nullptr &&
         std::any_of(known_.all().begin(), known_.all().end(), [&](const auto& entry) {
           return entry.second.uid() == id.pod && enforce::is_group_of(*directory, entry.first);
         });
}

Result<void> Sandboxes::enter_sandbox(Agent& agent, const api::PodSandbox& pod,
                                      const ContainerId& id) const {
  const std::string lack = lack_of_groups(pod, is_declared(pod));
  const std::string intent = lack + ", and its pods get no exclusive CPUs";
  PINFOLD_LET_WRAP(const std::string directory, sandbox_group(agent, pod), intent);
  const bool is_new = !is_in_sandbox(agent, id);
  const std::vector<agent::AdoptedGroup> groups = {{enforce::GroupName(id.pod), directory}};
  PINFOLD_LET_WRAP(const auto adopted, agent.adopt(groups), intent);
  if (!adopted.refused.empty()) {
    return fail(Error(adopted.refused.front().second).wrap(intent));
  }
  if (is_new) verbs::add_events(groups, adopted, events_);
  PINFOLD_TRY_WRAP(ensure(agent, [&] { return agent.verify(id); }), intent);
  const CpuSet cpus = desired_cpus(agent.desired(), id);
  log(LogLevel::kInfo,
      fmt::format("NRI: {}: {}: its {} {} given to its sandbox, '{}'", title_of(id), lack,
                  cpus_named(cpus), one_or_more(cpus, "is", "are"), directory));
  return {};
}

void Sandboxes::leave_sandbox(Agent& agent, const ContainerId& id) const {
  if (is_in_sandbox(agent, id)) (void)agent.disown(id, agent::LeftProcesses::kAllow);
}

void Sandboxes::leave_sandboxes(Agent& agent) const {
  std::vector<ContainerId> ended;
  for (const auto& entry : agent.state().adopted) {
    const ContainerId id = entry.id();
    bool is_known = false;
    for (const auto& [sandbox, pod] : known_.all()) {
      for (const KnownContainer& container : pod.containers) {
        is_known = is_known || (pod.uid() == id.pod && container.shown.name() == id.name &&
                                container.phase != Phase::kStopped);
      }
    }
    if (!is_known) ended.push_back(id);
  }
  for (const ContainerId& id : ended) leave_sandbox(agent, id);
}

}  // namespace pinfold::nri
