#include "pinfold/agent/enforced_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pinfold/agent/offline.hpp"
#include "pinfold/enforce/drift.hpp"
#include "pinfold/enforce/page_placement.hpp"
#include "pinfold/enforce/partitions.hpp"
#include "stray_processes.hpp"

namespace pinfold::agent {
namespace {

using enforce::GroupName;
using enforce::Layout;

constexpr int kAttempts = 3;
constexpr std::chrono::milliseconds kKillTimeout{5000};

/// CPUs and NUMA nodes that containers do not really have, because a group above the pods lacks
/// them.
void report_missing(const enforce::Cgroups& cgroups, const Layout& desired,
                    const std::vector<enforce::FailedStep>& failed,
                    std::vector<std::string>& lines) {
  const auto compare = [&](const GroupName& name, const char* what, const CpuSet& expected,
                           const Result<CpuSet>& has) {
    if (expected.empty() || !has || *has == expected) return;
    lines.push_back(fmt::format("{}: runs on {} {}, expected {}: a group above the pods lacks them",
                                to_string(name), what, has->to_string(), expected.to_string()));
  };
  for (const auto& [name, settings] : desired) {
    const bool has_failed = std::any_of(failed.begin(), failed.end(), [&name](const auto& step) {
      return step.step.group == name || step.step.group == name.parent();
    });
    if (name.is_pod() || has_failed) continue;
    const auto group = cgroups.group(name);
    if (!group) continue;
    compare(name, "CPUs", settings.cpus, effective_cpus(*group));
    compare(name, "memory nodes", settings.mems, effective_mems(*group));
  }
}

CpuSet needed_cpus(const Desired& desired) {
  CpuSet cpus;
  for (const auto& [name, settings] : desired.layout) cpus |= settings.cpus;
  return cpus;
}

/// Whether a container that has a group gets exclusive CPUs that it did not have.
bool is_any_moved(const Layout& before, const Layout& after) {
  return std::any_of(after.begin(), after.end(), [&](const auto& group) {
    const auto& [name, settings] = group;
    if (name.is_pod() || settings.isolation == Isolation::kHost) return false;
    const auto had = before.find(name);
    return had != before.end() && !had->second.cpus.contains_all(settings.cpus);
  });
}

/// Adds what is not Pinfold's and runs on exclusive CPUs.
void add_foreign_drift(const std::vector<enforce::ForeignGroup>& foreign, const Desired& desired,
                       std::vector<std::string>& lines) {
  const CpuSet exclusive = exclusive_cpus(desired);
  for (const enforce::ForeignGroup& group : foreign) {
    const CpuSet overlap = group.cpus & exclusive;
    if (overlap.empty()) continue;
    const std::string processes =
        group.problem.empty()
            ? fmt::format("{} process{}", group.processes, group.processes == 1 ? "" : "es")
            : fmt::format("its processes are unknown ({})", group.problem);
    lines.push_back(group.is_own
                        ? fmt::format("'{}': {} in this group itself, on CPUs {} that are "
                                      "exclusive to containers: move them into another group",
                                      group.directory, processes, overlap.to_string())
                        : fmt::format("'{}': not a group of Pinfold's, {}, on CPUs {} that are "
                                      "exclusive to containers",
                                      group.directory, processes, overlap.to_string()));
  }
}

enforce::PagesByNode pages_of_all(const std::vector<pid_t>& pids) {
  enforce::PagesByNode pages;
  for (const pid_t pid : pids) {
    for (const auto& [node, bytes] : enforce::pages_of(pid)) pages[node] += bytes;
  }
  return pages;
}

}  // namespace

EnforcedLayout::EnforcedLayout(enforce::Cgroups cgroups, ContainerMap<std::string> adopted,
                               LogSink log)
    : cgroups_(std::move(cgroups)), log_(std::move(log)) {
  cgroups_.set_adopted(std::move(adopted));
}

Result<std::string> EnforcedLayout::directory_of_process(pid_t process) const {
  const bool is_v2 = cgroups_.root_group().is_v2();
  return enforce::directory_of_process(
      process, is_v2 ? enforce::CgroupVersion::kV2 : enforce::CgroupVersion::kV1);
}

Result<bool> EnforcedLayout::has_processes(const GroupName& name) const {
  const auto group = cgroups_.group(name);
  if (!group && group.error().code == ErrorCode::kNotFound) return false;
  if (!group) return fail(group.error());
  PINFOLD_LET(const auto pids, processes(*group));
  return !pids.empty();
}

Result<void> EnforcedLayout::check_adoptable(const ContainerId& container,
                                             const std::string& directory) const {
  PINFOLD_TRY(cgroups_.check_adoptable(container, directory));
  const std::string has = cgroups_.directory(container);
  if (has == directory) return {};
  PINFOLD_LET(const bool is_alive, has_processes(container));
  if (!is_alive) return {};
  return fail(
      ErrorCode::kBusy,
      fmt::format("container '{}' of pod '{}' runs in '{}' already: '{}' is that of another "
                  "container, which needs another name",
                  container.name, container.pod, has, directory));
}

Result<ObservedContainer> EnforcedLayout::observe(const ContainerId& container) const {
  PINFOLD_LET(const auto group, cgroups_.group(container));
  ObservedContainer observed;
  PINFOLD_LET(observed.effective_cpus, effective_cpus(group));
  PINFOLD_LET(observed.effective_mems, effective_mems(group));
  PINFOLD_LET(const auto pids, processes(group));
  observed.processes = pids.size();
  if (!group.is_this_kernel()) return observed;
  observed.page_placement = enforce::share_on(pages_of_all(pids), observed.effective_mems);
  return observed;
}

enforce::PagesByNode EnforcedLayout::pages_of(const ContainerId& container) const {
  const auto group = cgroups_.group(container);
  if (!group || !group->is_this_kernel()) return {};
  const auto pids = processes(*group);
  return pids ? pages_of_all(*pids) : enforce::PagesByNode();
}

std::map<GroupName, std::vector<std::string>> EnforcedLayout::find_drift(const Layout& desired,
                                                                         const PodUid& pod) const {
  const Layout observed = cgroups_.observe_pod(pod, desired);
  std::map<GroupName, std::vector<std::string>> found;
  for (auto it = desired.lower_bound(GroupName(pod)); it != desired.end() && it->first.pod == pod;
       ++it) {
    auto lines = enforce::drift_of(it->first, observed, desired);
    if (!lines.empty()) found.emplace(it->first, std::move(lines));
  }
  return found;
}

Result<std::vector<std::string>> EnforcedLayout::find_drift(
    const Desired& desired, const std::vector<enforce::ForeignGroup>& foreign) const {
  PINFOLD_LET_WRAP(const Layout observed, cgroups_.observe(desired.layout),
                   "observe the control groups");
  std::vector<std::string> lines = enforce::drift(observed, desired.layout);
  add_foreign_drift(foreign, desired, lines);
  const auto cpus = cgroups_.machine_cpus();
  if (!cpus && cpus.error().code != ErrorCode::kNotFound) return fail(cpus.error());
  if (!cpus) lines.push_back(fmt::format("'{}' does not exist", root()));
  if (cpus && cpus->empty()) lines.push_back(fmt::format("'{}': its cpuset.cpus is empty", root()));
  return lines;
}

Result<void> EnforcedLayout::verify(const Desired& desired, const ContainerId& container) const {
  const auto own = desired.layout.find(container);
  if (own == desired.layout.end()) {
    return fail(ErrorCode::kNotFound, fmt::format("container '{}' of pod '{}' has no group",
                                                  container.name, container.pod));
  }
  const CpuSet cpus = own->second.cpus;
  if (own->second.isolation != Isolation::kHost) {
    PINFOLD_TRY(check_exclusive(desired, *own));
  }
  PINFOLD_LET(const auto group, cgroups_.group(container));
  PINFOLD_LET(const CpuSet has, effective_cpus(group));
  if (!cpus.empty() && has != cpus) {
    return fail(ErrorCode::kBusy, fmt::format("'{}' runs on CPUs {}, expected {}", group.directory,
                                              has.to_string(), cpus.to_string()));
  }
  return {};
}

Result<CpuSet> EnforcedLayout::effective_above(const std::string& directory) const {
  PINFOLD_LET(const auto above, open_elsewhere(directory.substr(0, directory.rfind('/'))));
  return effective_cpus(above);
}

/// No group but this one, and those that may share its CPUs, can run on them.
Result<void> EnforcedLayout::check_exclusive(const Desired& desired,
                                             const Layout::value_type& own) const {
  const CpuSet& cpus = own.second.cpus;
  const auto check = [&](const std::string& directory, const CpuSet& others) -> Result<void> {
    if (!others.intersects(cpus)) return {};
    return fail(ErrorCode::kBusy,
                fmt::format("'{}' can run on CPUs {}, which are exclusive to '{}'", directory,
                            (others & cpus).to_string(), to_string(own.first)));
  };
  for (const auto& [name, settings] : desired.layout) {
    if (name.is_pod() || name == own.first) continue;
    const auto other = cgroups_.group(name);
    auto others = other ? effective_cpus(*other) : fail(Error(other.error()));
    if (!others && enforce::is_gone(others.error())) continue;
    // One that cannot be read has at most what the group above it has.
    const std::string directory = cgroups_.directory(name);
    if (!others) others = effective_above(directory);
    if (!others) return fail(others.error());
    PINFOLD_TRY(check(directory, *others - settings.cpus));
  }
  PINFOLD_LET(const auto foreign, find_foreign());
  for (const enforce::ForeignGroup& other : foreign) {
    if (other.may_run()) PINFOLD_TRY(check(other.directory, other.cpus));
  }
  return {};
}

Result<EnforcedLayout::Observation> EnforcedLayout::observe_all(const Desired& desired) const {
  Observation observed;
  PINFOLD_LET_WRAP(observed.layout, cgroups_.observe(desired.layout), "observe the control groups");
  for (const auto& [name, settings] : observed.layout) {
    if (desired.layout.contains(name)) continue;
    // One whose processes cannot be read may have some.
    if (has_processes(name).value_or(true)) observed.strays.push_back(name);
  }
  mark_isolation(desired.layout, with_processes(desired.earlier), observed.layout);
  PINFOLD_LET(observed.foreign, find_foreign());
  return observed;
}

/// The containers of a layout in whose groups processes run, or may run.
Layout EnforcedLayout::with_processes(const Layout& layout) const {
  Layout running;
  for (const auto& [name, settings] : layout) {
    if (!name.is_pod() && has_processes(name).value_or(true)) running.emplace(name, settings);
  }
  return running;
}

/// The exclusive CPUs on which processes of others can run.
CpuSet EnforcedLayout::overlap(const Desired& desired, const Observation& observed) const {
  const CpuSet exclusive = exclusive_cpus(desired);
  CpuSet found;
  for (const enforce::ForeignGroup& group : observed.foreign) {
    if (group.may_run()) found |= group.cpus & exclusive;
  }
  for (const auto& [name, settings] : observed.layout) {
    if (name.is_pod()) continue;
    const auto wanted = desired.layout.find(name);
    const CpuSet own = wanted == desired.layout.end() ? CpuSet() : wanted->second.cpus;
    CpuSet has = settings.cpus;
    const auto pod = observed.layout.find(name.parent());
    if (has.empty() && pod != observed.layout.end()) has = pod->second.cpus;
    if (has.empty()) has = cgroups_.machine_cpus().value_or(CpuSet());
    const CpuSet others = (has - own) & exclusive;
    if (!others.empty() && has_processes(name).value_or(true)) found |= others;
  }
  return found;
}

/// Before the plan: what follows must not meet anything else on exclusive CPUs. What cannot be
/// confined shows as drift.
void EnforcedLayout::confine_foreign(const Desired& desired, const Observation& observed) const {
  if (observed.foreign.empty()) return;
  const CpuSet exclusive = exclusive_cpus(observed.layout) | exclusive_cpus(desired);
  CpuSet allowed = cgroups_.machine_cpus().value_or(CpuSet()) - exclusive;
  if (allowed.empty()) allowed = desired.pool;
  for (const enforce::ForeignGroup& group : observed.foreign) {
    if (group.is_own || !group.cpus.intersects(exclusive)) continue;
    const auto confined = enforce::confine(cgroups_, group, allowed);
    if (!confined) log(LogLevel::kWarning, confined.error().message);
  }
}

/// A container that is no longer adopted has no group: its runtime removes the one that it had.
void EnforcedLayout::set_adopted(const ContainerMap<std::string>& adopted) {
  if (auto* const clean = std::get_if<Clean>(&kernel_)) {
    std::erase_if(clean->layout, [&](const auto& group) {
      return cgroups_.is_adopted(group.first) && !adopted.contains(group.first.id());
    });
  }
  cgroups_.set_adopted(adopted);
}

/// What is desired as far as it can be with `cpus`, those of the root, which lack the `missing`
/// ones: strays are confined, and an adopted group that its runtime has removed is not made again.
/// A set without any CPU of the root would give a group all of them.
Layout EnforcedLayout::reachable(const Desired& desired, const Observation& observed,
                                 const CpuSet& cpus, const CpuSet& missing) const {
  Layout layout = with_strays(desired, observed.layout, observed.strays);
  for (const auto& adopted : cgroups_.adopted()) {
    const GroupName name = adopted.id();
    const auto group = cgroups_.group(name);
    if (!group && enforce::is_gone(group.error())) layout.erase(name);
  }
  if (missing.empty()) return layout;
  const CpuSet pool = pool_in(cpus, desired.pool, exclusive_cpus(desired));
  return without_cpus(std::move(layout), missing, pool);
}

/// The CPUs that groups can have; `groups`: the existing ones, which may be partitions.
Result<CpuSet> EnforcedLayout::available_cpus(const Layout& groups, bool has_partitions) const {
  return has_partitions ? cgroups_.cpus_with_partitions(groups) : cgroups_.machine_cpus();
}

/// True if another attempt can do better: a value that the kernel refuses now it refuses again.
bool EnforcedLayout::Enforced::is_retried() const {
  return std::any_of(result.failed.begin(), result.failed.end(), [](const auto& failed) {
    return failed.step.kind != enforce::Step::Kind::kValue;
  });
}

Result<EnforcedLayout::Enforced> EnforcedLayout::enforce(const Desired& desired,
                                                         const Observation& observed,
                                                         const Participants& participants) {
  const bool was_clean = std::holds_alternative<Clean>(kernel_);
  kernel_ = Dirty{};  // until it is known what every step has done
  confine_foreign(desired, observed);
  const CpuSet needed = needed_cpus(desired);
  enforce::restore_root(cgroups_, needed | desired.pool);  // the pool: containers wait there
  // An earlier agent may have left partitions, too.
  const bool has_partitions = desired.partition != Partition::kNone || !was_clean;
  PINFOLD_LET(const CpuSet cpus, available_cpus(observed.layout, has_partitions));
  Enforced enforced{needed - cpus, {}};
  Layout target = reachable(desired, observed, cpus, enforced.missing);
  PINFOLD_LET(const enforce::Plan steps, plan(observed.layout, target, cpus));
  if (!was_clean) enforce::remove_leftovers(cgroups_, observed.layout, target);
  std::map<GroupName, Error> partitions;
  if (has_partitions) {
    partitions = end_partitions(cgroups_, observed.layout, desired.layout, desired.partition);
  }
  if (participants.confine_others && is_any_moved(observed.layout, target)) {
    const CpuSet pool = pool_in(cpus, desired.pool, exclusive_cpus(desired));
    const CpuSet always_shared = pool - exclusive_cpus(observed.layout);
    if (!always_shared.empty()) participants.confine_others(always_shared);
  }
  enforced.result = apply_plan(cgroups_, steps, observed.layout, target, cpus, participants.watch);
  for (const enforce::Step& step : enforced.result.done) log(LogLevel::kDebug, to_string(step));
  for (auto& [name, error] : partitions) {
    enforced.result.failed.push_back(
        {{enforce::Step::Kind::kCpus, name, {}, "", ""}, std::move(error)});
  }
  partition_problems_ = begin_partitions(cgroups_, desired.layout, desired.partition);
  keep(observed, std::move(target), enforced);
  return enforced;
}

/// What the kernel has is known after all steps but values have succeeded.
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
  PINFOLD_LET(const CpuSet cpus,
              available_cpus(clean->layout, desired.partition != Partition::kNone));
  const CpuSet missing = needed - cpus;
  PINFOLD_TRY(plan(clean->layout, reachable(desired, {}, cpus, missing), cpus));
  return {};
}

Result<void> EnforcedLayout::apply(const Desired& desired, const Participants& participants,
                                   const std::optional<std::set<PodUid>>& pods) {
  set_adopted(desired.adopted);
  // A group can vanish while it is written: the second attempt starts from what the kernel has.
  for (bool is_last = false;; is_last = true) {
    Observation observed;
    if (const auto* const clean = std::get_if<Clean>(&kernel_)) {
      observed.layout = clean->layout;
    } else {
      PINFOLD_LET(observed, observe_all(desired));
    }
    PINFOLD_LET(const Enforced enforced, enforce(desired, observed, participants));
    if (is_last || !enforced.is_retried()) return report(desired, enforced, pods);
  }
}

/// An error if something failed for `pods`; reconcile() reports the others.
Result<void> EnforcedLayout::report(const Desired& desired, const Enforced& enforced,
                                    const std::optional<std::set<PodUid>>& pods) const {
  std::optional<Error> error;
  for (const enforce::FailedStep& failed : enforced.result.failed) {
    if (pods && !pods->contains(failed.step.group.pod)) {
      log(LogLevel::kWarning, failed.error.message);
    } else if (!error) {
      error = failed.error;
    } else {
      error->message += "; " + failed.error.message;
    }
  }
  if (error) return fail(*std::move(error));
  const auto& done = enforced.result.done;
  const CpuSet& missing = enforced.missing;
  const bool concerns_this = std::any_of(done.begin(), done.end(), [&](const enforce::Step& step) {
    const auto group = desired.layout.find(step.group);
    return group != desired.layout.end() && group->second.cpus.intersects(missing);
  });
  if (!concerns_this) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' lacks CPUs {}: they are offline, or a group above lacks them",
                          root(), missing.to_string()));
}

Result<void> EnforcedLayout::adopt(const Desired& desired, const ContainerId& container) {
  set_adopted(desired.adopted);
  auto before = std::exchange(kernel_, Dirty{});
  PINFOLD_TRY(cgroups_.group(container));
  cgroups_.remove_replaced(container);
  // Of what is known only this group has changed: it has what its runtime gave it.
  auto* const clean = std::get_if<Clean>(&before);
  const auto wanted = desired.layout.find(container);
  if (clean == nullptr || wanted == desired.layout.end() ||
      !clean->layout.contains(wanted->first.parent())) {
    return {};
  }
  PINFOLD_LET(auto settings, cgroups_.observe_adopted(wanted->first, wanted->second));
  if (!settings) return {};
  Layout group{{wanted->first, *std::move(settings)}};
  mark_isolation(desired.layout, {}, group);
  clean->layout.insert_or_assign(wanted->first, std::move(group.begin()->second));
  kernel_ = std::move(*clean);
  return {};
}

Result<ReconcileReport> EnforcedLayout::reconcile(const Desired& desired, ProcessList& known,
                                                  const Participants& participants) {
  set_adopted(desired.adopted);
  ReconcileReport report;
  for (int attempt = 1;; ++attempt) {
    PINFOLD_LET(const Observation observed, observe_all(desired));
    auto drift = enforce::drift(observed.layout, desired.layout);
    add_foreign_drift(observed.foreign, desired, drift);
    for (const std::string& line : drift) log(LogLevel::kWarning, line);
    if (attempt == 1) {
      report.drift = drift;
      report.overlap = overlap(desired, observed);
    }
    auto enforced = enforce(desired, observed, participants);
    if (enforced) {
      auto& [done, failed] = enforced->result;
      std::move(done.begin(), done.end(), std::back_inserter(report.done));
      if (enforced->is_retried() && attempt < kAttempts) continue;
      for (const auto& step : failed) report.remaining.push_back(step.error.message);
      report_missing(cgroups_, desired.layout, failed, report.remaining);
    } else if (attempt < kAttempts) {
      continue;
    } else {
      report.remaining.push_back(enforced.error().message);
    }
    for (const GroupName& name : observed.strays) {
      report.remaining.push_back(fmt::format(
          "{}: belongs to no active pod, but processes run in it; they are confined to the shared "
          "pool",
          to_string(name)));
    }
    break;
  }
  if (const auto foreign = find_foreign()) add_foreign_drift(*foreign, desired, report.remaining);
  for (const auto& [name, reason] : partition_problems_) {
    report.remaining.push_back(fmt::format("{}: no partition: {}", to_string(name), reason));
  }
  known = return_processes(cgroups_, desired.layout, known, report);
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
                fmt::format("'{}' has CPUs {}, which are exclusive to other containers: it was not "
                            "written as desired, run 'pinfold reconcile'",
                            group.directory, (has & others).to_string()));
  }
  return enforce::attach(group, process);
}

Result<void> EnforcedLayout::make_empty(const std::vector<GroupName>& groups,
                                        RunningProcesses running) {
  for (const GroupName& name : groups) {
    const auto group = cgroups_.group(name);
    if (!group && group.error().code == ErrorCode::kNotFound) continue;
    if (!group) return fail(group.error());
    PINFOLD_LET(const auto pids, processes(*group));
    if (pids.empty()) continue;
    if (running == RunningProcesses::kKill) {
      PINFOLD_TRY(kill_processes(*group, kKillTimeout));
      continue;
    }
    return fail(ErrorCode::kBusy,
                fmt::format("'{}' still has {} process{} ({}{}): stop the container first",
                            to_string(name), pids.size(), pids.size() == 1 ? "" : "es",
                            pids.front(), pids.size() == 1 ? "" : ", ..."));
  }
  return {};
}

}  // namespace pinfold::agent
