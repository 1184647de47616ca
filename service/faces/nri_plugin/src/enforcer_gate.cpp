#include "enforcer_gate.hpp"

#include <fmt/format.h>

#include <utility>

#include "pinfold/nri_plugin/group_path.hpp"
#include "pinfold/nri_pods/plan.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::nri {
namespace {

using agent::LogLevel;

}  // namespace

Result<void> Gate::make_room(Agent& agent, const api::PodSandbox& pod, const ContainerId& id) {
  const bool is_exclusive = has_exclusive_cpus(agent.desired(), id);
  if (is_exclusive) {
    PINFOLD_TRY(ensure(agent, [&] { return agent.verify_room(id); }));
  }
  // Leftovers are looked for again at the start.
  (void)others_.confine_others(agent);
  const bool is_declared = sandboxes_.is_declared(pod);
  return is_exclusive && is_declared ? sandboxes_.enter_sandbox(agent, pod, id) : Result<void>();
}

Result<void> Gate::start_exclusive(Agent& agent, const api::StateChangeEvent& event,
                                   const ContainerId& id) {
  PINFOLD_LET(const std::string directory,
              group_directory(options_.mount, event.container().linux().cgroups_path()));
  if (sandboxes_.is_run_by_sandbox(agent, event.pod(), event.container(), directory)) {
    PINFOLD_TRY(sandboxes_.enter_sandbox(agent, event.pod(), id));
  } else {
    PINFOLD_TRY(run(agent, verbs::Adopt{id.pod, {id.name, directory}}));
    PINFOLD_TRY(ensure(agent, [&] { return agent.verify(id); }));
  }
  const CpuSet left = others_.confine_others(agent) & desired_cpus(agent.desired(), id);
  if (left.empty()) return {};
  return fail(ErrorCode::kBusy,
              fmt::format("other groups can run on its exclusive {}", cpus_named(left)));
}

Result<void> Gate::start_shared(Agent& agent, const api::StateChangeEvent& event,
                                const ContainerId& id) {
  const auto directory = group_directory(options_.mount, event.container().linux().cgroups_path());
  const bool has_group =
      directory && !sandboxes_.is_run_by_sandbox(agent, event.pod(), event.container(), *directory);
  if (has_group) {
    const auto adopted = run(agent, verbs::Adopt{id.pod, {id.name, *directory}});
    if (!adopted) {
      log(LogLevel::kWarning, fmt::format("NRI: the group of {} is not managed: {}", title_of(id),
                                          adopted.error().message));
    }
  }
  (void)others_.confine_others(agent, has_group ? *directory : "");
  if (!has_group) return {};
  note_narrowed(agent, id);
  return check_off_exclusive(agent, *directory);
}

/// Errors: kBusy if a group can run on exclusive CPUs because it cannot be confined.
Result<void> Gate::check_off_exclusive(const Agent& agent, const std::string& directory) const {
  const CpuSet exclusive = exclusive_cpus(agent.desired());
  const auto group = agent.enforced()->reader(directory);
  if (!group) return {};  // it has ended
  CpuSet has = group->cpus().value_or(CpuSet());
  if (has.empty()) has = agent.enforced()->cpus_above(directory).value_or(CpuSet());
  if (!has.intersects(exclusive)) return {};
  const auto why = others_.why_unconfined(directory);
  const CpuSet taken = has & exclusive;
  return fail(
      ErrorCode::kBusy,
      fmt::format("'{}' can run on {}, which {} exclusive to other containers, and could not be "
                  "confined: {}",
                  directory, cpus_named(taken), one_or_more(taken, "is", "are"),
                  why.value_or("no CPU is left for it")));
}

/// Logs once why a container has other CPUs than it should.
void Gate::note_narrowed(const Agent& agent, const ContainerId& id) {
  const agent::Desired desired = agent.desired();
  const CpuSet cpus = desired_cpus(desired, id);
  const auto observed = agent.enforced()->observe(id);
  std::string line;
  if (observed && !cpus.empty() && observed->effective_cpus != cpus) {
    const std::string by = agent.enforced()->narrowed_by(agent.enforced()->directory(id), cpus);
    line = fmt::format("NRI: {} runs on {}, expected {}{}{}", title_of(id),
                       cpus_named(observed->effective_cpus), cpus.to_string(),
                       by.empty() ? "" : ": ", by);
  }
  std::erase_if(narrowed_, [&](const auto& entry) {
    return agent.state().node.find(entry.first.pod) == nullptr;
  });
  if (std::exchange(narrowed_[id], line) != line && !line.empty()) log(LogLevel::kWarning, line);
}

/// Returns the CPUs that a shared container can have. On cgroup v1 a group cannot have a CPU that
/// its parent does not have, and a runtime does not start a container whose cpuset the kernel
/// rejects. On v2 a container that can have none of its CPUs would get all of its parent's; it gets
/// those that are exclusive to no container. Empty: those of the parent.
CpuSet Gate::attainable(const Agent& agent, const ContainerId& id, const api::Container& container,
                        const std::string& cpus) const {
  CpuSet desired = CpuSet::parse(cpus).value_or(CpuSet());
  const auto& facts = agent.enforced()->facts();
  const auto version = facts.controllers.find(enforce::Controller::kCpuset);
  const bool is_v2 =
      version != facts.controllers.end() && version->second == enforce::CgroupVersion::kV2;
  if (desired.empty()) return desired;
  const auto directory = group_directory(options_.mount, container.linux().cgroups_path());
  const auto above = directory ? agent.enforced()->cpus_above(*directory) : std::nullopt;
  if (!above || above->contains_all(desired)) return desired;
  const auto own = agent.enforced()->reader(*directory);
  const bool is_partition = own && own->cpus().value_or(CpuSet()).contains_all(desired);
  if (is_partition) return desired;  // it has CPUs that the groups above it lack
  const CpuSet both = desired & *above;
  if (is_v2 && both.empty()) {
    CpuSet free = *above - exclusive_cpus(agent.desired());
    return free.empty() ? desired : free;
  }
  return is_v2 || has_exclusive_cpus(agent.desired(), id) ? desired : both;
}

void Gate::fit(const Agent& agent, const ContainerId& id, const api::Container& container,
               api::LinuxCPU& cpu) const {
  if (cpu.cpus().empty()) return;
  cpu.set_cpus(attainable(agent, id, container, cpu.cpus()).to_string());
}

void Gate::fit(const Agent& agent, api::ContainerUpdate& update) const {
  for (const auto& [sandbox, pod] : known_.all()) {
    for (const KnownContainer& container : pod.containers) {
      if (container.shown.id() != update.container_id()) continue;
      const auto id = find_container(agent.state().node, pod.uid(), container.shown.name());
      if (!id) return;
      return fit(agent, *id, container.shown,
                 *update.mutable_linux()->mutable_resources()->mutable_cpu());
    }
  }
}

}  // namespace pinfold::nri
