#include "pinfold/agent/enforced_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "pinfold/agent/offline.hpp"
#include "pinfold/enforce/drift.hpp"
#include "pinfold/enforce/narrowed.hpp"
#include "pinfold/enforce/page_placement.hpp"
#include "pinfold/enforce/partitions.hpp"
#include "pinfold/types/named.hpp"
#include "stray_processes.hpp"

// How it works
//
// kernel_ records what is known about the control groups: Unknown (nothing was read yet), Dirty (a
// write may have failed half-way) or Clean (exactly this layout). Every change goes through
// enforce():
//   1. It marks the layout Dirty, and restores CPUs that the root lost.
//   2. reachable() turns the desired layout into one that the kernel can have now: without missing
//      CPUs, with strays confined, and with adopted groups limited to the CPUs of the groups above.
//   3. plan() orders the steps from the known layout to that one, with those that keep foreign
//      groups off exclusive CPUs, and apply_plan() executes them.
//   4. keep() makes the layout Clean if there are no strays or missing CPUs and at most writes of
//      values failed.
// apply() plans from a Clean layout without reading the groups again; otherwise observe_all() reads
// them first. reconcile() always reads them. Both repeat after a failed write, because a group can
// vanish at any time: apply() once, reconcile() up to three attempts.
//
// Invariants: at no moment does a step let a container run on CPUs that are exclusive to another
// one. A Clean layout holds only what the kernel accepted: a value that failed is erased from it,
// so that the next plan writes it again. What cannot be reached is reported, and never changes the
// desired state.
//
// Cost: observing reads a fixed number of files per group and walks the groups below the root.
// With a Clean layout, an apply() compares all groups in memory, plans for the pods that change,
// and writes only what differs.

namespace pinfold::agent {
namespace {

using enforce::GroupName;
using enforce::Layout;

constexpr int kAttempts = 3;
constexpr std::chrono::milliseconds kKillTimeout{5000};

/// Reports containers whose NUMA nodes differ because a group above the pods does not have them.
void report_missing_mems(const enforce::Cgroups& cgroups, const Layout& desired,
                         const std::vector<enforce::FailedStep>& failed,
                         std::vector<std::string>& lines) {
  for (const auto& [name, settings] : desired) {
    const std::array groups = {name, name.parent()};
    const bool has_failed = std::any_of(failed.begin(), failed.end(), [&](const auto& step) {
      return std::find(groups.begin(), groups.end(), step.step.group) != groups.end();
    });
    if (name.is_pod() || has_failed || settings.mems.empty()) continue;
    const auto group = cgroups.group(name);
    if (!group) continue;
    const auto has = effective_mems(*group);
    if (!has || *has == settings.mems) continue;
    lines.push_back(fmt::format(
        "{}: has memory nodes {}, expected {}: a parent group of the pods does not have them",
        to_string(name), has->to_string(), settings.mems.to_string()));
  }
}

CpuSet needed_cpus(const Desired& desired) {
  CpuSet cpus;
  for (const auto& [name, settings] : desired.layout) cpus |= settings.cpus;
  return cpus;
}

/// Returns the exclusive CPUs of a container in a layout; empty if it has none.
CpuSet owned(const Layout& layout, const GroupName& name) {
  const auto found = layout.find(name);
  const bool has_some = found != layout.end() && found->second.isolation != Isolation::kHost;
  return has_some ? found->second.cpus : CpuSet();
}

/// Returns whether an existing container gets exclusive CPUs that it does not have yet.
bool has_gains(const Layout& before, const Layout& after) {
  return std::any_of(before.begin(), before.end(), [&](const auto& entry) {
    const GroupName& name = entry.first;
    const CpuSet gets = name.is_pod() ? CpuSet() : owned(after, name);
    return !gets.empty() && !owned(before, name).contains_all(gets);
  });
}

}  // namespace

EnforcedLayout::EnforcedLayout(enforce::Cgroups cgroups, ContainerMap<std::string> adopted,
                               LogSink log, CpuSet former_pool)
    : ObservedCgroups(std::move(cgroups), std::move(adopted)),
      log_(std::move(log)),
      confined_(std::move(former_pool)) {}

/// Returns whether foreign groups may have to leave CPUs. A runtime's follower has the agent look
/// before a new container starts.
bool EnforcedLayout::needs_look(const Layout& before, const Desired& desired) const {
  if (has_gains(before, desired.layout)) return true;
  return !has_foreign_search() &&
         !exclusive_cpus(before).contains_all(exclusive_cpus(desired.layout)) &&
         !adopted_roots(desired).empty();
}

Result<EnforcedLayout::Observation> EnforcedLayout::observe_all(const Desired& desired) {
  Observation observed;
  observed.is_new = true;
  PINFOLD_LET_WRAP(observed.layout, cgroups_.observe(desired.layout), "observe the control groups");
  for (const auto& [name, settings] : observed.layout) {
    if (desired.layout.contains(name)) continue;
    // If its processes cannot be read: the kernel refuses to remove a group that has some.
    if (has_processes(name).value_or(false)) observed.strays.push_back(name);
  }
  mark_isolation(desired.layout, with_processes(desired.earlier), observed.layout);
  PINFOLD_LET(observed.foreign, observe_foreign(desired, observed.layout));
  return observed;
}

/// Returns the containers of a layout in whose groups processes run or may run.
Layout EnforcedLayout::with_processes(const Layout& layout) const {
  Layout running;
  for (const auto& [name, settings] : layout) {
    if (!name.is_pod() && has_processes(name).value_or(true)) running.emplace(name, settings);
  }
  return running;
}

/// Returns the exclusive CPUs on which processes of others can run.
CpuSet EnforcedLayout::overlap(const Desired& desired, const Observation& observed) const {
  const CpuSet exclusive = exclusive_cpus(desired);
  CpuSet found;
  for (const enforce::ForeignGroup& group : below_root(observed.foreign)) {
    if (group.may_run()) found |= group.cpus & exclusive;
  }
  for (const auto& [name, settings] : observed.layout) {
    if (name.is_pod()) continue;
    const auto entry = desired.layout.find(name);
    const CpuSet own = entry == desired.layout.end() ? CpuSet() : entry->second.cpus;
    CpuSet has = settings.cpus;
    const auto pod = observed.layout.find(name.parent());
    if (has.empty() && pod != observed.layout.end()) has = pod->second.cpus;
    if (has.empty()) has = cgroups_.machine_cpus().value_or(CpuSet());
    const CpuSet others = (has - own) & exclusive;
    if (!others.empty() && has_processes(name).value_or(true)) found |= others;
  }
  return found;
}

/// Returns the foreign groups that a plan from `observed` may have to confine: those of a runtime
/// only if containers that exist get more CPUs, because a new one may be about to adopt its group.
/// A directory of the runtime that cannot be read is looked at again by the next call.
Result<std::vector<enforce::ForeignGroup>> EnforcedLayout::observe_foreign(const Desired& desired,
                                                                           const Layout& observed) {
  const CpuSet exclusive = exclusive_cpus(observed) | exclusive_cpus(desired);
  PINFOLD_LET(auto found, needs_look(observed, desired)
                              ? confined_.find(cgroups_, desired, exclusive)
                              : confined_.find_below_root(cgroups_, desired));
  if (const auto unread = confined_.take_unread()) log(LogLevel::kError, unread->message);
  return found;
}

/// Returns those of the foreign groups that are below the root.
std::vector<enforce::ForeignGroup> EnforcedLayout::below_root(
    std::vector<enforce::ForeignGroup> groups) const {
  std::erase_if(groups, [&](const auto& group) {
    return group.directory != root() && !group.directory.starts_with(root() + "/");
  });
  return groups;
}

/// `cpus`: those of the root.
enforce::ForeignGroups EnforcedLayout::to_confine(const Desired& desired,
                                                  std::vector<enforce::ForeignGroup> groups,
                                                  const CpuSet& cpus) const {
  const CpuSet exclusive = exclusive_cpus(desired);
  return {std::move(groups), pool_in(cpus, desired.pool, exclusive), exclusive,
          !cgroups_.root_group().is_v2()};
}

void EnforcedLayout::learn(const enforce::PlanResult& result, const enforce::ForeignGroups& foreign,
                           bool has_followed) {
  auto news = confined_.learn(result, foreign, has_followed);
  std::move(news.begin(), news.end(), std::back_inserter(news_));
}

Result<CpuSet> EnforcedLayout::confine_foreign(const Desired& desired, const std::string& also) {
  set_adopted(desired.adopted);
  const CpuSet exclusive = exclusive_cpus(desired);
  const auto* const clean = std::get_if<Clean>(&kernel_);
  const Layout& layout = clean != nullptr ? clean->layout : desired.layout;
  PINFOLD_LET(auto groups, confined_.find(cgroups_, desired, exclusive));
  if (auto unread = confined_.take_unread()) return fail(*std::move(unread));
  if (!also.empty()) {
    PINFOLD_LET(auto group, read_foreign(cgroups_, also));
    const bool is_found = std::any_of(groups.begin(), groups.end(),
                                      [&](const auto& one) { return one.directory == also; });
    const bool is_meant = group && !is_found && group->reach(exclusive).intersects(exclusive);
    if (is_meant) groups.push_back(*std::move(group));
  }
  PINFOLD_LET(const CpuSet cpus, cgroups_.machine_cpus());
  const auto foreign = to_confine(desired, std::move(groups), cpus);
  PINFOLD_LET(enforce::Plan steps, plan(layout, layout, cpus, foreign));
  // Only confines. What the pool has gained is free once the layout is as desired.
  std::erase_if(steps, [&](const enforce::Step& step) {
    return !step.is_foreign() || (clean == nullptr && step.kind == enforce::Step::Kind::kFollow);
  });
  const auto result = apply_plan(cgroups_, steps, layout, layout, cpus);
  learn(result, foreign, clean != nullptr);
  CpuSet left;
  for (const enforce::ForeignGroup& group : foreign.groups) {
    const auto is_its = [&](const auto& step) { return step.directory == group.directory; };
    const bool is_confined = std::any_of(result.done.begin(), result.done.end(), is_its);
    const bool was_killed =
        std::any_of(result.unconfined.begin(), result.unconfined.end(),
                    [&](const auto& failed) { return is_its(failed.step) && failed.was_killed; });
    if (!group.is_own && !is_confined && !was_killed) left |= group.cpus & exclusive;
  }
  return left;
}

Result<void> EnforcedLayout::set_quota(const std::string& directory,
                                       const enforce::CpuQuota& quota) {
  PINFOLD_LET(const auto group, cgroups_.open_elsewhere(directory));
  return write_cpu_quota(group, quota);
}

/// Drops groups that are no longer adopted from the known layout: their runtime removes them.
void EnforcedLayout::set_adopted(const ContainerMap<std::string>& adopted) {
  if (auto* const clean = std::get_if<Clean>(&kernel_)) {
    std::erase_if(clean->layout, [&](const auto& group) {
      return cgroups_.is_adopted(group.first) && !adopted.contains(group.first.id());
    });
  }
  cgroups_.set_adopted(adopted);
}

/// Returns the desired layout as far as it is possible with `cpus`, those of the root, without the
/// `missing` ones (a set without any CPU of the root would give a group all of them). Confines
/// strays, and leaves out adopted groups that their runtime has removed.
Layout EnforcedLayout::reachable(const Desired& desired, const Observation& observed,
                                 const CpuSet& cpus, const CpuSet& missing) const {
  Layout layout = with_strays(desired, observed.layout, observed.strays);
  for (const auto& adopted : cgroups_.adopted()) {
    const GroupName name = adopted.id();
    const auto group = cgroups_.group(name);
    if (!group && enforce::is_gone(group.error())) layout.erase(name);
  }
  if (!missing.empty()) {
    const CpuSet pool = pool_in(cpus, desired.pool, exclusive_cpus(desired));
    layout = without_cpus(std::move(layout), missing, pool);
  }
  limit_adopted(desired, observed.layout, layout, observed.is_new);
  return layout;
}

/// Returns the CPUs that groups above adopted ones do not have, if the adopted ones change: cgroup
/// v1 refuses to give them such CPUs.
CpuSet EnforcedLayout::lost_above(const Layout& before, const Layout& target,
                                  const CpuSet& cpus) const {
  CpuSet lost;
  if (cgroups_.root_group().is_v2()) return lost;
  for (const auto& [name, settings] : target) {
    if (!cgroups_.is_adopted(name)) continue;
    const auto had = before.find(name);
    if (had != before.end() && had->second.cpus == settings.cpus) continue;
    if (const auto above = cpus_above(cgroups_.directory(name))) lost |= cpus - *above;
  }
  return lost;
}

std::map<GroupName, Error> EnforcedLayout::find_displaced(const Desired& desired,
                                                          const Layout& target,
                                                          const CpuSet& missing) const {
  std::map<GroupName, Error> found;
  for (const auto& [name, settings] : target) {
    if (!cgroups_.is_adopted(name)) continue;
    const auto entry = desired.layout.find(name);
    if (entry == desired.layout.end()) continue;
    const bool is_displaced = entry->second.isolation != Isolation::kHost &&
                              settings.isolation == Isolation::kHost &&
                              !missing.contains_all(entry->second.cpus);
    if (!is_displaced) continue;
    const std::string directory = cgroups_.directory(name);
    const std::string by = narrowed_by(directory, entry->second.cpus);
    found.emplace(name,
                  Error{ErrorCode::kBusy, 0,
                        fmt::format("'{}' cannot run on any of its CPUs {}{}{}", directory,
                                    entry->second.cpus.to_string(), by.empty() ? "" : ": ", by)});
  }
  return found;
}

/// Returns the CPUs that groups can have. `groups`: the existing ones, which may be partitions.
Result<CpuSet> EnforcedLayout::available_cpus(const Layout& groups, bool has_partitions) const {
  return has_partitions ? cgroups_.cpus_with_partitions(groups) : cgroups_.machine_cpus();
}

/// Returns true if another attempt may succeed; a value that the kernel refused is not retried.
bool EnforcedLayout::Enforced::is_retried() const {
  return std::any_of(result.failed.begin(), result.failed.end(), [](const auto& failed) {
    return failed.step.kind != enforce::Step::Kind::kValue;
  });
}

Result<EnforcedLayout::Enforced> EnforcedLayout::enforce(const Desired& desired,
                                                         const Observation& observed,
                                                         const StepWatcher& watch) {
  const bool was_clean = std::holds_alternative<Clean>(kernel_);
  kernel_ = Dirty{};  // until the result of every step is known
  const CpuSet needed = needed_cpus(desired);
  enforce::restore_root(cgroups_, needed | desired.pool);  // containers may wait in the pool
  // An earlier agent may have left partitions, too.
  const bool has_partitions = desired.partition != Partition::kNone || !was_clean;
  PINFOLD_LET(const CpuSet cpus,
              available_cpus(observed.layout, has_partitions || desired.has_isolated));
  Enforced enforced{needed - cpus, {}, {}};
  Layout target = reachable(desired, observed, cpus, enforced.missing);
  enforced.narrowed = find_displaced(desired, target, enforced.missing);
  auto foreign = to_confine(desired, observed.foreign, cpus);
  foreign.lost = lost_above(observed.layout, target, cpus);
  PINFOLD_LET(enforce::Plan steps, plan(observed.layout, target, cpus, foreign));
  for (enforce::Step& step : confined_.take_given_back(cgroups_)) steps.push_back(std::move(step));
  // Skips verifying adopted containers that are limited to shared CPUs: the write checks that they
  // run on no other CPUs, and missing CPUs are reported separately.
  std::erase_if(steps, [&](const enforce::Step& step) {
    return step.kind == enforce::Step::Kind::kVerify && cgroups_.is_adopted(step.group) &&
           target.at(step.group).isolation == Isolation::kHost;
  });
  if (!was_clean) enforce::remove_leftovers(cgroups_, observed.layout, target);
  std::map<GroupName, Error> partitions;
  if (has_partitions) {
    partitions = end_partitions(cgroups_, observed.layout, desired.layout, desired.partition);
  }
  enforced.result = apply_plan(cgroups_, steps, observed.layout, target, cpus, watch);
  learn(enforced.result, foreign, true);
  for (const enforce::Step& step : enforced.result.done) log(LogLevel::kDebug, to_string(step));
  for (auto& [name, error] : partitions) {
    enforced.result.failed.push_back(
        {{enforce::Step::Kind::kCpus, name, {}, "", ""}, std::move(error)});
  }
  partition_problems_ = begin_partitions(cgroups_, desired.layout, desired.partition);
  keep(observed, std::move(target), enforced);
  return enforced;
}

/// Marks the layout as known if all steps succeeded, except writes of values.
void EnforcedLayout::keep(const Observation& observed, Layout target, const Enforced& enforced) {
  if (!observed.strays.empty() || !enforced.missing.empty() || enforced.is_retried()) return;
  for (const enforce::FailedStep& failed : enforced.result.failed) {
    const auto group = target.find(failed.step.group);
    if (group != target.end()) group->second.values.erase(failed.step.file);
  }
  kernel_ = Clean{std::move(target)};
}

Result<void> EnforcedLayout::check_reachable(const Desired& desired) {
  const auto* const clean = std::get_if<Clean>(&kernel_);
  if (clean == nullptr) return {};
  const CpuSet needed = needed_cpus(desired);
  enforce::restore_root(cgroups_, needed | desired.pool);
  const bool has_partitions = desired.partition != Partition::kNone || desired.has_isolated;
  PINFOLD_LET(const CpuSet cpus, available_cpus(clean->layout, has_partitions));
  const CpuSet missing = needed - cpus;
  // Without the foreign groups, which need not be searched for this: they cannot make a plan
  // impossible. One that cannot be confined is left where it is, and CPUs that groups above adopted
  // ones have lost are used for parking if there are no others.
  PINFOLD_TRY(plan(clean->layout, reachable(desired, {}, cpus, missing), cpus));
  return {};
}

Result<void> EnforcedLayout::apply(const Desired& desired, const StepWatcher& watch,
                                   const std::optional<std::set<PodUid>>& pods) {
  set_adopted(desired.adopted);
  // A group can vanish while it is written; then the second attempt observes the kernel first.
  for (bool is_last = false;; is_last = true) {
    Observation observed;
    if (auto* const clean = std::get_if<Clean>(&kernel_)) {
      observed.foreign = confined_.find_confined(cgroups_, desired.pool);
      if (needs_look(clean->layout, desired)) {
        PINFOLD_LET(observed.foreign, observe_foreign(desired, clean->layout));
      }
      observed.layout = std::move(clean->layout);  // enforce() makes it Dirty
    } else {
      PINFOLD_LET(observed, observe_all(desired));
    }
    PINFOLD_LET(const Enforced enforced, enforce(desired, observed, watch));
    if (is_last || !enforced.is_retried()) return report(desired, enforced, pods);
  }
}

/// Returns an error if something failed for `pods`; reconcile() reports other failures.
Result<void> EnforcedLayout::report(const Desired& desired, const Enforced& enforced,
                                    const std::optional<std::set<PodUid>>& pods) const {
  std::optional<Error> error;
  const auto add = [&](const GroupName& group, const Error& one) {
    if (pods && !pods->contains(group.pod)) {
      log(LogLevel::kWarning, one.message);
    } else if (!error) {
      error = one;
    } else {
      error->message += "; " + one.message;
    }
  };
  for (const auto& [step, reason] : enforced.result.failed) add(step.group, reason);
  for (const auto& [group, reason] : enforced.narrowed) add(group, reason);
  if (error) return fail(*std::move(error));
  const auto& done = enforced.result.done;
  const CpuSet& missing = enforced.missing;
  const bool concerns_this = std::any_of(done.begin(), done.end(), [&](const enforce::Step& step) {
    const auto group = desired.layout.find(step.group);
    return group != desired.layout.end() && group->second.cpus.intersects(missing);
  });
  if (!concerns_this) return {};
  const auto above = enforce::find_narrow_group(cgroups_, root(), missing);
  const std::string why =
      above && !above->partition.empty()
          ? describe(*above)
          : std::string(one_or_more(missing,
                                    "it is offline, or not in the cpuset of a parent group",
                                    "they are offline, or not in the cpuset of a parent group"));
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' lacks {}: {}", root(), cpus_named(missing), why));
}

Result<void> EnforcedLayout::adopt(const Desired& desired, const ContainerId& container) {
  set_adopted(desired.adopted);
  auto before = std::exchange(kernel_, Dirty{});
  PINFOLD_TRY(cgroups_.group(container));
  cgroups_.remove_replaced(container);
  // Only this group differs from the known layout: it has the settings that its runtime gave it.
  auto* const clean = std::get_if<Clean>(&before);
  const auto entry = desired.layout.find(container);
  if (clean == nullptr || entry == desired.layout.end()) return {};
  PINFOLD_LET(auto settings, cgroups_.observe_adopted(entry->first, entry->second));
  if (!settings) return {};
  Layout group{{entry->first, *std::move(settings)}};
  mark_isolation(desired.layout, {}, group);
  clean->layout.insert_or_assign(entry->first, std::move(group.begin()->second));
  kernel_ = std::move(*clean);
  return {};
}

Result<ReconcileReport> EnforcedLayout::reconcile(const Desired& desired, ProcessList& known) {
  set_adopted(desired.adopted);
  ReconcileReport report;
  for (int attempt = 1;; ++attempt) {
    PINFOLD_LET(const Observation observed, observe_all(desired));
    Layout attainable = desired.layout;
    limit_adopted(desired, observed.layout, attainable, true);
    auto drift = enforce::drift(observed.layout, attainable);
    add_foreign_drift(below_root(observed.foreign), desired, drift);
    for (const std::string& line : drift) log(LogLevel::kWarning, line);
    if (attempt == 1) {
      report.drift = drift;
      report.overlap = overlap(desired, observed);
    }
    auto enforced = enforce(desired, observed, {});
    if (enforced) {
      auto& done = enforced->result.done;
      const auto& failed = enforced->result.failed;
      std::move(done.begin(), done.end(), std::back_inserter(report.done));
      if (enforced->is_retried() && attempt < kAttempts) continue;
      for (const auto& step : failed) report.remaining.push_back(step.error.message);
      report_missing_mems(cgroups_, desired.layout, failed, report.remaining);
    } else if (attempt < kAttempts) {
      continue;
    } else {
      report.remaining.push_back(enforced.error().message);
    }
    report.narrowed = find_narrowed(desired);
    report.remaining.insert(report.remaining.end(), report.narrowed.begin(), report.narrowed.end());
    for (const GroupName& name : observed.strays) {
      report.remaining.push_back(fmt::format(
          "{}: belongs to no active pod, but has processes, which are confined to the shared pool",
          to_string(name)));
    }
    break;
  }
  if (const auto foreign = find_foreign()) add_foreign_drift(*foreign, desired, report.remaining);
  for (const auto& [name, reason] : partition_problems_) {
    report.remaining.push_back(fmt::format("{}: no partition: {}", to_string(name), reason));
  }
  known = return_processes(cgroups_, desired.layout, known, report);
  note_affinities(cgroups_, desired.layout, report);
  return report;
}

void EnforcedLayout::move_pages(const Desired& desired, ReconcileReport& report) {
  agent::move_pages(cgroups_, desired.layout, report);
}

Result<void> EnforcedLayout::attach(const Desired& desired, const ContainerId& container,
                                    pid_t process) {
  PINFOLD_LET(const auto group, cgroups_.group(container));
  CpuSet others = exclusive_cpus(desired);
  if (const auto own = desired.layout.find(container); own != desired.layout.end()) {
    others -= own->second.cpus;
  }
  PINFOLD_LET(const CpuSet has, effective_cpus(group));
  if (has.intersects(others)) {
    return fail(ErrorCode::kBusy,
                fmt::format("'{}' has {}, exclusive to other containers: it was not written as "
                            "desired, run 'pinfold reconcile'",
                            group.directory, cpus_named(has & others)));
  }
  return enforce::attach(group, process);
}

Result<std::vector<pid_t>> EnforcedLayout::widen_affinities(const ContainerId& container,
                                                            std::optional<pid_t> only) {
  PINFOLD_LET(const auto group, cgroups_.group(container));
  if (group.process_table() == nullptr) return std::vector<pid_t>{};
  return enforce::widen_affinities(group, only);
}

Result<void> EnforcedLayout::make_empty(const std::vector<GroupName>& groups,
                                        RunningProcesses running) {
  if (running == RunningProcesses::kRefuse) return check_empty(groups);
  for (const GroupName& name : groups) {
    const auto group = cgroups_.group(name);
    if (!group && group.error().code == ErrorCode::kNotFound) continue;
    if (!group) return fail(group.error());
    PINFOLD_LET(const auto pids, processes(*group));
    if (!pids.empty()) PINFOLD_TRY(kill_processes(*group, kKillTimeout));
  }
  return {};
}

}  // namespace pinfold::agent
