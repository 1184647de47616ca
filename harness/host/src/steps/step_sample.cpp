#include "steps/step_sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scenario/cgroup_paths.hpp"
#include "steps/step_product.hpp"
#include "steps/step_result.hpp"

namespace pinfold::harness {
namespace {

/// Returns judged_root() relative to the root of the hierarchy.
std::string judged_folder(const Scenario& scenario, CgroupMode mode) {
  const std::string root = judged_root(scenario, mode);
  return root.substr(std::min(cpuset_mount(mode).size() + 1, root.size()));
}

/// Replaces control groups with the names of their containers, if these still exist.
void name_containers(Timeline& timeline, const std::vector<DesiredContainer>& containers,
                     const std::string& root) {
  for (const DesiredContainer& container : containers) {
    if (!container.cgroup.starts_with(root)) continue;
    const std::string group = container.cgroup.substr(root.size());
    const std::string owner = " of " + group;
    for (TimelineSpan& span : timeline.spans) {
      if (span.group == group) span.group = container.name;
      const std::size_t at = span.overlap.find(owner);
      if (at != std::string::npos) span.overlap.replace(at + 4, group.size(), container.name);
    }
  }
}

}  // namespace

std::string judged_root(const Scenario& scenario, CgroupMode mode) {
  if (!scenario.runtime.empty()) return cpuset_mount(mode) + "/kubepods";
  return needs_product(scenario) ? product_root(mode) : cpuset_mount(mode);
}

VmResult<void> make_judged_root(StepContext& context) {
  if (context.scenario.runtime.empty()) return {};
  return context
      .ask({{"op", "mkdir"}, {"path", judged_root(context.scenario, context.cgroup_mode())}})
      .map([](const Json&) {});
}

VmResult<StepResult> act(StepContext& context, const StartSamplingStep&) {
  context.exclusive.clear();
  const bool has_runtime = !context.scenario.runtime.empty();
  PINFOLD_TRY(make_judged_root(context));
  // A killed runtime leaves groups without processes behind.
  PINFOLD_LET(const auto reply,
              context.ask({{"op", "sample"},
                           {"root", cpuset_mount(context.cgroup_mode())},
                           {"file", effective_file(context.cgroup_mode(), "cpus")},
                           {"onlyInUse", has_runtime}}));
  context.sampling = reply.value("ok", false);
  return as_result(reply);
}

VmResult<ExclusiveCpus> exclusive_now(StepContext& context, StepResult& result) {
  ExclusiveCpus exclusive;
  if (!needs_product(context.scenario)) return exclusive;
  std::string problem;
  PINFOLD_LET(const auto containers, desired(context, problem));
  if (!problem.empty() && result.ok) result = failure(problem);
  const std::string root = judged_root(context.scenario, context.cgroup_mode()) + "/";
  for (const DesiredContainer& container : containers) {
    const auto cpus = CpuSet::parse(container.cpus);
    if (!cpus || !container.cgroup.starts_with(root)) continue;
    const std::string group = container.cgroup.substr(root.size());
    if (container.isolation == "container") exclusive[group] |= *cpus;
    if (container.isolation == "pod") exclusive[group.substr(0, group.find('/'))] |= *cpus;
  }
  return exclusive;
}

VmResult<void> note_exclusive(StepContext& context, StepResult& result) {
  PINFOLD_LET(const auto exclusive, exclusive_now(context, result));
  for (const auto& [group, cpus] : exclusive) context.exclusive[group] |= cpus;
  return {};
}

VmResult<StepResult> act(StepContext& context, const StopSamplingStep& step) {
  context.sampling = false;
  PINFOLD_LET(const auto reply, context.ask({{"op", "samples"}}));
  StepResult result = as_result(reply);
  if (!result.ok) return result;
  const auto looks = reply.value("looks", std::uint64_t{0});
  result.checks.push_back({"samples", fmt::format("at least {}", step.at_least),
                           std::to_string(looks), looks >= step.at_least});
  result.checks.push_back({"every state was recorded", "true",
                           reply.value("overflow", true) ? "false" : "true",
                           !reply.value("overflow", true)});
  if (!step.exclusive.empty()) {
    PINFOLD_LET(const auto text, context.read_one(step.exclusive));
    auto named = parse_exclusive(text);
    if (!named) return failure(std::move(named).error().wrap(step.exclusive).message);
    for (const auto& [group, cpus] : *named) context.exclusive[group] |= cpus;
  }
  SplitChanges changes = split_changes(reply.value("changes", ""),
                                       judged_folder(context.scenario, context.cgroup_mode()));
  if (!context.scenario.runtime.empty()) {
    changes.below = changes_of_runtime(changes.below, context.exclusive, step.never_pinned);
  }
  const auto overlaps = overlaps_seen(changes.below, context.exclusive);
  result.timeline = timeline_of(changes, reply.value("timesMs", std::vector<std::int64_t>{}),
                                reply.value("elapsedMs", std::int64_t{0}), context.exclusive);
  if (needs_product(context.scenario)) {
    std::string problem;  // not a failure: the groups then keep their names
    PINFOLD_LET(const auto containers, desired(context, problem));
    name_containers(*result.timeline, containers,
                    judged_root(context.scenario, context.cgroup_mode()) + "/");
  }
  std::string first = overlaps.empty() ? "" : overlaps.front();
  if (overlaps.size() > 1) first += fmt::format(", and {} more", overlaps.size() - 1);
  result.checks.push_back(
      {fmt::format("exclusive CPUs of {} groups were in other groups' cpusets, in {} states",
                   context.exclusive.size(), reply.value("states", std::uint64_t{0})),
       "", first, overlaps.empty()});
  return concluded(std::move(result));
}

}  // namespace pinfold::harness
