// How it works. PlanRun applies the steps in order and keeps two things: `now_`, the layout of the
// kernel after the steps so far, and `late_`, the groups whose CPUs are not what the plan expects
// at this point because one of their steps failed.
//
// A plan takes CPUs from one container before it gives them to another. While `late_` is empty
// every step is safe by construction and is applied without further checks. After a failure the
// group is read again, and each later step is compared with `now_`: the CPUs that it would add to a
// container must not be in use by a late group if either layout makes them exclusive. Such a step
// is held back, which is a failure too, so its own group becomes late and is respected by the steps
// that follow.
//
// Invariants: `now_` never claims fewer CPUs for a group than it may run on (an unreadable group
// counts as widened); a later success of the same write clears the failure; values and memory nodes
// never hold back a step.
//
// Cost for g groups: O(log g) for each step until something has failed; after that up to O(g) for a
// container's cpuset and O(c * g) for a pod with c containers.

#include "pinfold/enforce/apply_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "pinfold/enforce/foreign.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::enforce {
namespace {

using Kind = Step::Kind;

/// Returns the CPUs on which a container's processes can run according to a layout.
CpuSet runs_on(const Cgroups& cgroups, const Layout& layout, const GroupName& name,
               const CpuSet& machine) {
  const CpuSet& own = layout.at(name).cpus;
  if (cgroups.is_adopted(name) || name.is_pod()) return own.empty() ? machine : own;
  const auto pod = layout.find(name.parent());
  const CpuSet& above =
      pod == layout.end() || pod->second.cpus.empty() ? machine : pod->second.cpus;
  CpuSet both = own & above;
  return both.empty() ? above : both;
}

class PlanRun {
 public:
  PlanRun(Cgroups& cgroups, const Layout& before, const Layout& after, const CpuSet& machine)
      : cgroups_(cgroups), before_(before), after_(after), machine_(machine), now_(before) {}

  void run(const Step& step, const StepWatcher& watcher) {
    if (step.is_foreign()) return run_foreign(step);
    if (is_pointless(step)) return;
    if (auto reason = hold_back(step)) {
      const char* const what = step.kind == Kind::kVerify ? "" : ": held back";
      return note_failure(step, std::move(*reason).wrap(to_string(step) + what));
    }
    if (watcher) watcher(step, StepMoment::kBefore);
    auto done = cgroups_.apply(step);
    if (!done) return note_failure(step, std::move(done).error());
    if (watcher) watcher(step, StepMoment::kAfter);
    apply_to(now_, step);
    if (step.kind == Kind::kCpus) late_.erase(step.group);
    forget_failure(step);  // this step makes up for it
    if (step.kind != Kind::kVerify) result_.done.push_back(step);
  }

  [[nodiscard]] PlanResult result() && { return std::move(result_); }

 private:
  void run_foreign(const Step& step) {
    const auto reason =
        step.kind == Kind::kFollow ? needs_to_be_left(step) : std::optional<Error>();
    auto done = reason ? Result<void>(fail(*reason)) : cgroups_.apply(step);
    if (done) {
      std::erase_if(result_.unconfined, [&](const UnconfinedGroup& group) {
        return group.step.directory == step.directory;
      });
      return result_.done.push_back(step);
    }
    const bool was_killed = step.kills && kill_foreign(cgroups_, step.directory).has_value();
    result_.unconfined.push_back({step, std::move(done).error(), was_killed});
  }

  /// A foreign group must not get CPUs that a late group had exclusively and has not left. One that
  /// is around the late group must, because cgroup v1 gives no group what the one above it lacks.
  [[nodiscard]] std::optional<Error> needs_to_be_left(const Step& step) const {
    for (const auto& [name, settings] : now_) {
      if (name.is_pod() || !is_late(name)) continue;
      if (cgroups_.directory(name).starts_with(step.directory + "/")) continue;
      const CpuSet shared = step.set & exclusive_of(name) & runs_on(cgroups_, now_, name, machine_);
      if (!shared.empty()) return still_has(name, shared);
    }
    return std::nullopt;
  }

  /// Returns the CPUs that are exclusive to a container before or after the plan.
  [[nodiscard]] CpuSet exclusive_of(const GroupName& name) const {
    CpuSet exclusive;
    for (const Layout* const layout : {&before_, &after_}) {
      const auto found = layout->find(name);
      const bool has_some = found != layout->end() && found->second.isolation != Isolation::kHost;
      if (has_some) exclusive |= found->second.cpus;
    }
    return exclusive;
  }

  /// Returns true if the group does not exist, or the step verifies CPUs that the group is known
  /// not to have: its failure has been recorded already.
  [[nodiscard]] bool is_pointless(const Step& step) const {
    if (step.kind == Kind::kCreate || step.kind == Kind::kRemove) return false;
    if (!now_.contains(step.group)) return true;
    return step.kind == Kind::kVerify && late_.contains(step.group);
  }

  [[nodiscard]] std::optional<Error> hold_back(const Step& step) const {
    if (step.kind == Kind::kRemove) return needs_no_children(step.group);
    if (step.kind == Kind::kCreate) return needs_pod(step.group);
    if (step.kind == Kind::kVerify) return needs_to_be_alone(step);
    if (step.kind != Kind::kCpus || late_.empty()) return std::nullopt;
    if (auto reason = needs_room(step)) return reason;
    return needs_free_cpus(step);
  }

  [[nodiscard]] std::optional<Error> needs_no_children(const GroupName& name) const {
    if (!name.is_pod()) return std::nullopt;
    const auto child = now_.upper_bound(name);
    if (child == now_.end() || child->first.pod != name.pod) return std::nullopt;
    if (cgroups_.is_adopted(child->first)) return std::nullopt;
    return Error{ErrorCode::kBusy, 0, fmt::format("'{}' still exists", to_string(child->first))};
  }

  /// A new group has its pod's CPUs until its own are written, so the pod must be as planned.
  [[nodiscard]] std::optional<Error> needs_pod(const GroupName& name) const {
    if (name.is_pod() || cgroups_.is_adopted(name) || now_.contains(name)) return std::nullopt;
    const GroupName pod = name.parent();
    if (now_.contains(pod) && !late_.contains(pod)) return std::nullopt;
    const char* const what = now_.contains(pod) ? "has other CPUs than planned" : "does not exist";
    return Error{ErrorCode::kBusy, 0,
                 fmt::format("'{}' {}{}", to_string(pod), what, reason_of(pod))};
  }

  /// On cgroup v2 a container with none of its pod's CPUs would get all of the pod's.
  [[nodiscard]] std::optional<Error> needs_room(const Step& step) const {
    const GroupName pod = step.group.parent();
    if (step.group.is_pod() || !late_.contains(pod) || cgroups_.is_adopted(step.group)) {
      return std::nullopt;
    }
    const CpuSet& above = now_.at(pod).cpus;
    if (above.empty() || above.contains_all(step.set)) return std::nullopt;
    return Error{
        ErrorCode::kBusy, 0,
        fmt::format("'{}' has only {}{}", to_string(pod), cpus_named(above), reason_of(pod))};
  }

  /// The plan takes CPUs from one container before it gives them to another. For late groups this
  /// is checked against what has really been done.
  [[nodiscard]] std::optional<Error> needs_free_cpus(const Step& step) const {
    Layout next = pod_of(step.group);
    apply_to(next, step);
    for (const auto& [name, settings] : next) {
      if (name.is_pod() || (!step.group.is_pod() && name != step.group)) continue;
      const CpuSet gained =
          runs_on(cgroups_, next, name, machine_) - runs_on(cgroups_, now_, name, machine_);
      if (gained.empty()) continue;
      for (const auto& [other, theirs] : now_) {
        if (other == name || !(is_late(other) || is_late(name))) continue;
        if (other.is_pod() && !is_left(other)) continue;
        const Layout& layout = next.contains(other) ? next : now_;
        const CpuSet shared =
            forbidden(name, other) & gained & runs_on(cgroups_, layout, other, machine_);
        if (shared.empty()) continue;
        return still_has(other, shared);
      }
    }
    return std::nullopt;
  }

  /// The container has its CPUs, but may share them with a late group that was to leave them.
  [[nodiscard]] std::optional<Error> needs_to_be_alone(const Step& step) const {
    if (late_.empty()) return std::nullopt;
    for (const auto& [other, theirs] : now_) {
      if (other == step.group || !is_late(other)) continue;
      if (other.is_pod() && !is_left(other)) continue;
      const CpuSet shared =
          forbidden(step.group, other) & step.set & runs_on(cgroups_, now_, other, machine_);
      if (!shared.empty()) return still_has(other, shared);
    }
    return std::nullopt;
  }

  [[nodiscard]] Error still_has(const GroupName& other, const CpuSet& cpus) const {
    return {
        ErrorCode::kBusy, 0,
        fmt::format("'{}' still has {}{}", to_string(other), cpus_named(cpus), reason_of(other))};
  }

  /// Returns the groups of a pod: the part of the layout that decides where its containers run.
  [[nodiscard]] Layout pod_of(const GroupName& name) const {
    const auto begin = now_.lower_bound(GroupName(name.pod));
    auto end = begin;
    while (end != now_.end() && end->first.pod == name.pod) ++end;
    return {begin, end};
  }

  [[nodiscard]] bool is_late(const GroupName& name) const {
    return late_.contains(name) || late_.contains(name.parent());
  }

  /// Returns true for a group that should have been removed but still exists: nothing is known
  /// about what runs in it, or whether it may.
  [[nodiscard]] bool is_left(const GroupName& name) const {
    return late_.contains(name) && !after_.contains(name);
  }

  /// Returns the CPUs that these two groups must not share.
  [[nodiscard]] CpuSet forbidden(const GroupName& one, const GroupName& other) const {
    if (is_left(other)) return machine_;
    CpuSet exclusive;
    CpuSet common;
    for (const Layout* const layout : {&before_, &after_}) {
      const auto a = layout->find(one);
      const auto b = layout->find(other);
      for (const auto& group : {a, b}) {
        if (group == layout->end() || group->second.isolation == Isolation::kHost) continue;
        exclusive |= group->second.cpus;
      }
      if (a != layout->end() && b != layout->end()) common |= a->second.cpus & b->second.cpus;
    }
    return exclusive - common;
  }

  /// Returns ": podx/c: cpuset.cpus := 2-3: ...": the first failed step of the group or of its pod.
  [[nodiscard]] std::string reason_of(const GroupName& name) const {
    const auto is_its = [&](const FailedStep& failed) {
      return failed.step.group == name || failed.step.group == name.parent();
    };
    const auto found = std::find_if(result_.failed.begin(), result_.failed.end(), is_its);
    return found == result_.failed.end() ? "" : ": " + found->error.message;
  }

  void note_failure(const Step& step, Error error) {
    const bool may_have_done = step.kind != Kind::kVerify;
    if (may_have_done) observe(step);
    forget_failure(step);
    result_.failed.push_back({step, std::move(error)});
  }

  /// Drops the failure of an earlier step that wrote the same file.
  void forget_failure(const Step& step) {
    std::erase_if(result_.failed, [&](const FailedStep& failed) {
      return failed.step.group == step.group && failed.step.kind == step.kind &&
             failed.step.file == step.file;
    });
  }

  /// Reads a group again after one of its steps failed.
  void observe(const Step& step) {
    if (step.kind == Kind::kValue || step.kind == Kind::kMems) return;
    const auto known = now_.find(step.group);
    const auto has = read(step.group);
    if (!has && is_gone(has.error())) {
      now_.erase(step.group);
      return;
    }
    late_.insert(step.group);
    GroupSettings& settings = known == now_.end() ? now_[step.group] : known->second;
    if (has) {
      settings.cpus = *has;
    } else if (step.kind == Kind::kCpus && !settings.cpus.empty() && !step.set.empty()) {
      settings.cpus |= step.set;
    } else if (step.kind == Kind::kCpus) {
      settings.cpus.clear();
    }
  }

  [[nodiscard]] Result<CpuSet> read(const GroupName& name) const {
    PINFOLD_LET(const auto group, cgroups_.group(name));
    const auto own = read_set(group, kCpusFile);
    if (own && own->empty() && group.is_adopted()) return effective_cpus(group);
    // Without the controller the group exists and runs where its pod does.
    const bool exists = own || group.cpuset().fs->children(group.cpuset().path).has_value();
    return !own && is_gone(own.error()) && exists ? CpuSet() : own;
  }

  Cgroups& cgroups_;
  const Layout& before_;
  const Layout& after_;
  const CpuSet& machine_;
  Layout now_;                ///< the kernel's layout after the steps so far
  std::set<GroupName> late_;  ///< groups whose CPUs are not what the plan expects here
  PlanResult result_;
};

}  // namespace

PlanResult apply_plan(Cgroups& cgroups, const Plan& steps, const Layout& before,
                      const Layout& after, const CpuSet& machine, const StepWatcher& watcher) {
  PlanRun run(cgroups, before, after, machine);
  for (const Step& step : steps) run.run(step, watcher);
  return std::move(run).result();
}

}  // namespace pinfold::enforce
