#include <fmt/format.h>

#include <algorithm>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/enforce/drift.hpp"
#include "pinfold/enforce/page_placement.hpp"
#include "pinfold/enforce/process_list.hpp"

/// The part of NodeAgent that makes the kernel have what the state says.
namespace pinfold::agent {
namespace {

constexpr int kAttempts = 3;

/// What the groups of containers have and the kernel does not give them, because a group above the
/// pods lacks it.
void report_missing(enforce::Cgroups& cgroups, const enforce::Layout& desired,
                    std::vector<std::string>& lines) {
  const auto compare = [&](const enforce::GroupName& name, const char* what, const CpuSet& expected,
                           const Result<CpuSet>& has) {
    if (expected.empty() || !has || *has == expected) return;
    lines.push_back(fmt::format("{}: runs on {} {}, expected {}: a group above the pods lacks them",
                                to_string(name), what, has->to_string(), expected.to_string()));
  };
  for (const auto& [name, group] : desired) {
    if (name.is_pod()) continue;
    compare(name, "CPUs", group.cpus, cgroups.effective_cpus(name));
    compare(name, "memory nodes", group.mems, cgroups.effective_mems(name));
  }
}

}  // namespace

/// Looks at everything below the root.
Result<void> NodeAgent::observe() {
  const enforce::Layout target = desired();
  PINFOLD_LET_WRAP(observed_, cgroups_->observe(target), "look at the control groups");
  busy_.clear();
  for (const auto& [name, group] : observed_) {
    if (target.contains(name)) continue;
    auto pids = cgroups_->processes(name);
    if (!pids) return fail(std::move(pids).error());
    if (!pids->empty()) busy_.push_back(name);
  }
  return {};
}

Result<enforce::Plan> NodeAgent::plan_now() {
  PINFOLD_LET(auto cpus, cgroups_->machine_cpus());
  return plan(observed_, with_strays(desired(), busy_, online_pool()), cpus);
}

/// From what was observed to what is desired.
Result<void> NodeAgent::enforce(enforce::Plan& done) {
  const enforce::Layout target = desired();
  CpuSet needed;
  for (const auto& [name, group] : target) needed |= group.cpus;
  cgroups_->restore_root(needed);
  PINFOLD_LET(auto steps, plan_now());
  const Partition partition = node_.config().partition;
  if (partition != Partition::kNone || !partitions_known_) {
    PINFOLD_TRY(cgroups_->end_partitions(observed_, target, partition));
    partitions_known_ = true;
  }
  PINFOLD_TRY(run(steps, done));
  PINFOLD_LET(partition_problems_, cgroups_->begin_partitions(target, partition));
  return {};
}

/// Stops at the first step that fails: what comes after it relies on it.
Result<void> NodeAgent::run(const enforce::Plan& steps, enforce::Plan& done) {
  for (const enforce::Step& step : steps) {
    PINFOLD_TRY(cgroups_->apply(step));
    log(LogLevel::kDebug, to_string(step));
    apply_to(observed_, step);
    if (step.kind != enforce::Step::Kind::kVerify) done.push_back(step);
  }
  for (auto& [name, group] : with_strays(desired(), busy_, {})) {
    if (const auto observed = observed_.find(name); observed != observed_.end()) {
      observed->second.isolation = group.isolation;
    }
  }
  return {};
}

std::optional<Error> NodeAgent::apply() {
  if (!cgroups_) return std::nullopt;
  auto applied = try_apply();
  if (applied) return std::nullopt;
  log(LogLevel::kError, "not enforced: " + applied.error().message);
  return std::move(applied).error();
}

Result<void> NodeAgent::try_apply() {
  if (dirty_) {  // what is remembered of the kernel may be wrong
    PINFOLD_TRY(observe());
  }
  dirty_ = true;
  enforce::Plan done;
  PINFOLD_TRY(enforce(done));
  dirty_ = !busy_.empty();
  return {};
}

Result<std::vector<std::string>> NodeAgent::find_drift() {
  if (!cgroups_) return std::vector<std::string>{};
  PINFOLD_TRY(observe());
  return enforce::drift(observed_, desired());
}

Result<ReconcileReport> NodeAgent::reconcile() {
  if (!cgroups_) {
    return fail(ErrorCode::kUnsupported, "nothing to reconcile: this agent enforces nothing");
  }
  ReconcileReport report;
  for (const ContainerId& container : remove_abandoned()) {
    report.drift.push_back(
        fmt::format("{}: the container that a runtime ran there is gone, its pod had not ended",
                    to_string(enforce::GroupName(container))));
  }
  for (int attempt = 1;; ++attempt) {
    PINFOLD_LET(auto found, find_drift());
    if (attempt == 1) report.drift.insert(report.drift.end(), found.begin(), found.end());
    for (const std::string& line : found) log(LogLevel::kWarning, line);
    std::optional<Error> failure;
    if (auto enforced = enforce(report.done); !enforced) failure = std::move(enforced).error();
    dirty_ = failure.has_value() || !busy_.empty();
    if (failure && attempt < kAttempts) continue;
    if (failure) report.remaining.push_back(failure->message);
    if (!failure) report_missing(*cgroups_, desired(), report.remaining);
    break;
  }
  for (const enforce::GroupName& name : busy_) {
    report.remaining.push_back(fmt::format(
        "{}: belongs to no active pod, but processes run in it; they are confined to the shared "
        "pool",
        to_string(name)));
  }
  for (const auto& [name, reason] : partition_problems_) {
    report.remaining.push_back(fmt::format("{}: no partition: {}", to_string(name), reason));
  }
  bring_back(report);
  if (options_.move_pages) move_pages(report);
  for (std::string& line : affected()) report.remaining.push_back(std::move(line));
  return report;
}

/// A process that ran in a container's group when the agent looked last, and still lives, belongs
/// there.
void NodeAgent::bring_back(ReconcileReport& report) {
  const auto kept = store_.read_side_file(enforce::kProcessesFileName);
  const enforce::ProcessList before =
      kept && *kept ? enforce::decode_processes(**kept) : enforce::ProcessList{};
  enforce::ProcessList now;
  for (const auto& [name, group] : desired()) {
    if (name.is_pod() || !cgroups_->adopted(name).empty()) continue;
    const std::string path = to_string(name);
    const auto pids = cgroups_->processes(name);
    if (!pids) continue;  // told of by the plan already
    const auto known = before.find(path);
    for (const enforce::ProcessId& process :
         known == before.end() ? std::set<enforce::ProcessId>{} : known->second) {
      const bool is_here = cgroups_->holds(name, process.pid).value_or(true);
      if (is_here || enforce::identify(process.pid) != process) continue;
      const std::string place = enforce::cpuset_path(process.pid);
      if (enforce::is_within(place, path))
        continue;  // in a group that the container made for itself
      report.drift.push_back(
          fmt::format("{}: process {} was moved to '{}'", path, process.pid, place));
      if (auto back = cgroups_->attach(name, process.pid); back) {
        report.moved.push_back(fmt::format("{}: process {} is back", path, process.pid));
      } else {
        report.remaining.push_back(back.error().message);
      }
      now[path].insert(process);
    }
    for (const pid_t pid : *pids) {
      if (const auto process = enforce::identify(pid)) now[path].insert(*process);
    }
  }
  (void)store_.write_side_file(enforce::kProcessesFileName, enforce::encode_processes(now));
}

void NodeAgent::move_pages(ReconcileReport& report) {
  for (const auto& [name, group] : desired()) {
    if (name.is_pod() || group.mems.empty()) continue;
    const auto pids = cgroups_->processes(name);
    if (!pids) continue;
    for (const pid_t pid : *pids) {
      const double before = enforce::share_in_place(enforce::pages_of(pid), group.mems);
      if (before == 1) continue;
      auto moved = enforce::migrate_pages(pid, group.mems);
      if (!moved) {
        report.remaining.push_back(fmt::format("{}: {}", to_string(name), moved.error().message));
        continue;
      }
      report.moved.push_back(fmt::format(
          "{}: {:.0f}% of the memory of process {} lie on nodes {} now, {:.0f}% before",
          to_string(name), 100 * enforce::share_in_place(enforce::pages_of(pid), group.mems), pid,
          group.mems.to_string(), 100 * before));
    }
  }
}

Result<ObservedContainer> NodeAgent::look(const ContainerId& container) {
  if (!cgroups_) return fail(ErrorCode::kUnsupported, "this agent enforces nothing");
  PINFOLD_LET(auto cpus, cgroups_->effective_cpus(container));
  PINFOLD_LET(auto mems, cgroups_->effective_mems(container));
  PINFOLD_LET(auto pids, cgroups_->processes(container));
  enforce::PagesByNode pages;
  for (const pid_t pid : pids) {
    for (const auto& [node, bytes] : enforce::pages_of(pid)) pages[node] += bytes;
  }
  const double in_place = enforce::share_in_place(pages, mems);
  return ObservedContainer{std::move(cpus), std::move(mems), pids.size(), in_place};
}

}  // namespace pinfold::agent
