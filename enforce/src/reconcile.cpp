#include <fmt/format.h>

#include <algorithm>

#include "pinfold/enforce/node_agent.hpp"

/// The part of NodeAgent that makes the kernel have what the state says.
namespace pinfold::enforce {
namespace {

constexpr int kAttempts = 3;

}  // namespace

/// Looks at everything below the root.
Result<void> NodeAgent::observe() {
  const Layout target = wanted();
  auto seen = cgroups_->observe(target);
  if (!seen) return fail(std::move(seen).error().wrap("look at the control groups"));
  seen_ = *std::move(seen);
  busy_.clear();
  for (const auto& [name, group] : seen_) {
    if (target.contains(name)) continue;
    auto pids = cgroups_->processes(name);
    if (!pids) return fail(std::move(pids).error());
    if (!pids->empty()) busy_.push_back(name);
  }
  return {};
}

Result<Plan> NodeAgent::plan_now() {
  auto cpus = cgroups_->machine_cpus();
  if (!cpus) return fail(std::move(cpus).error());
  return plan(seen_, with_strays(wanted(), busy_, shared_pool(node_, state_.node)), *cpus);
}

/// Stops at the first step that fails: what comes after it relies on it.
Result<void> NodeAgent::run(const Plan& steps, Plan& done) {
  for (const Step& step : steps) {
    if (auto applied = cgroups_->apply(step); !applied) return applied;
    log(LogLevel::kDebug, to_string(step));
    apply_to(seen_, step);
    if (step.kind != Step::Kind::kVerify) done.push_back(step);
  }
  for (auto& [name, group] : with_strays(wanted(), busy_, {})) {
    if (const auto seen = seen_.find(name); seen != seen_.end()) {
      seen->second.isolation = group.isolation;
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
    if (auto looked = observe(); !looked) return looked;
  }
  dirty_ = true;
  auto steps = plan_now();
  if (!steps) return fail(std::move(steps).error());
  Plan done;
  if (auto applied = run(*steps, done); !applied) return applied;
  dirty_ = !busy_.empty();
  return {};
}

Result<std::vector<std::string>> NodeAgent::find_drift() {
  if (!cgroups_) return std::vector<std::string>{};
  if (auto looked = observe(); !looked) return fail(std::move(looked).error());
  return drift(seen_, wanted());
}

Result<ReconcileReport> NodeAgent::reconcile() {
  if (!cgroups_) {
    return fail(ErrorCode::kUnsupported, "nothing to reconcile: this agent enforces nothing");
  }
  ReconcileReport report;
  for (int attempt = 1;; ++attempt) {
    auto found = find_drift();
    if (!found) return fail(std::move(found).error());
    if (attempt == 1) report.drift = *found;
    for (const std::string& line : *found) log(LogLevel::kWarning, line);
    std::optional<Error> failure;
    auto steps = plan_now();
    if (!steps) {
      failure = std::move(steps).error();
    } else if (auto applied = run(*steps, report.done); !applied) {
      failure = std::move(applied).error();
    }
    dirty_ = failure.has_value() || !busy_.empty();
    if (failure && attempt < kAttempts) continue;
    if (failure) report.remaining.push_back(failure->message);
    break;
  }
  for (const GroupName& name : busy_) {
    report.remaining.push_back(fmt::format(
        "{}: belongs to no active pod, but processes run in it; they are confined to the shared "
        "pool",
        to_string(name)));
  }
  return report;
}

Result<SeenContainer> NodeAgent::look(const GroupName& name) {
  if (!cgroups_) return fail(ErrorCode::kUnsupported, "this agent enforces nothing");
  auto cpus = cgroups_->effective_cpus(name);
  if (!cpus) return fail(std::move(cpus).error());
  auto mems = cgroups_->effective_mems(name);
  if (!mems) return fail(std::move(mems).error());
  auto pids = cgroups_->processes(name);
  if (!pids) return fail(std::move(pids).error());
  return SeenContainer{*std::move(cpus), *std::move(mems), pids->size()};
}

}  // namespace pinfold::enforce
