#include "pinfold/agent/node_agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "adopted_groups.hpp"
#include "pinfold/agent/assigned_files.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/kept_state.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/measured_steps.hpp"
#include "pinfold/agent/offline.hpp"
#include "pinfold/enforce/live_process.hpp"
#include "pinfold/quiet/quiet_knobs.hpp"
#include "pinfold/types/named.hpp"

// How it works
//
// Every change takes the same path: decide on a copy of the state, check what can be checked
// without changing anything, commit the copy (KeptState), then apply the desired layout to the
// control groups (EnforcedLayout). Errors come from the steps before and during the commit, and
// leave everything unchanged. A failure after it is part of a successful answer (not_enforced).
//
// enforce_again() is the part of a reconciliation that changes no decision (see reconcile.cpp).
//
// Invariants: a state is durable before it is applied (except with Unstored::kIsKept), and failures
// to apply never revert it.
// earlier_ (the layout before a reconfiguration) is kept until one apply() succeeds, so that
// containers which have not moved yet keep their exclusive CPUs.
//
// Cost: each change computes the layout of all pods, linear in the number of containers.

namespace pinfold::agent {

namespace {

/// Returns one sentence per knob or kind that is not as desired.
std::vector<std::string> unquiet_lines(const quiet::QuietReport& report) {
  std::vector<std::string> lines;
  for (const auto& [knob, unquiet] : report.unquiet) lines.push_back(unquiet.error.message);
  for (const auto& [kind, error] : report.unread) {
    lines.push_back(fmt::format("{}: {}", to_string(kind), error.message));
  }
  return lines;
}

Result<const ActivePod*> find_active(const AgentState& state, const PodUid& uid) {
  if (const ActivePod* const pod = state.node.find(uid)) return pod;
  return fail(ErrorCode::kNotFound, fmt::format("pod '{}' is not active on this node", uid));
}

}  // namespace

void NodeAgent::open_knobs() {
  KeptState& kept = *kept_;  // on the heap, and lives as long as the knobs
  quiet_ = std::make_unique<quiet::QuietKnobs>(
      options_.open_knobs ? options_.open_knobs() : quiet::kernel_knobs(""), kept.knobs(),
      [&kept](const quiet::KeptKnobs& knobs) { return kept.keep_knobs(knobs); });
}

quiet::QuietReport NodeAgent::restore_knobs() {
  if (!quiet_) return {};
  quiet::QuietDesired nothing = quiet_desired(desired());
  nothing.cpus = {};
  quiet_->reconcile(nothing);
  return quiet_->report();
}

/// Logs what still uses quiet CPUs, once for each.
void NodeAgent::log_unquiet() {
  if (!quiet_) return;
  auto lines = unquiet_lines(quiet_->report());
  for (const std::string& line : lines) {
    const bool is_known = std::find(unquiet_.begin(), unquiet_.end(), line) != unquiet_.end();
    if (!is_known) log(LogLevel::kWarning, "not off quiet CPUs: " + line);
  }
  unquiet_ = std::move(lines);
}

/// Returns how quiet the exclusive CPUs of a pod are to be.
quiet::QuietLevel NodeAgent::quiet_level(const PodUid& pod) const {
  const auto note = state().notes.find(pod);
  const auto level = note == state().notes.end() ? std::nullopt : note->second.quiet;
  return level.value_or(options_.quiet);
}

/// Returns the CPUs that are to be quiet, by the levels of their pods. Groups that a runtime has
/// made are isolated here, those of the agent by its plan. Groups in a pod shared pool share CPUs
/// with other groups, so they cannot be isolated.
quiet::QuietCpus NodeAgent::quiet_cpus(const Desired& desired) const {
  quiet::QuietCpus cpus;
  for (const auto& [name, settings] : desired.layout) {
    if (name.is_pod() || settings.isolation == Isolation::kHost) continue;
    const quiet::QuietLevel level = quiet_level(name.pod);
    cpus.add(level, settings.cpus);
    if (desired.partition != Partition::kNone) cpus.isolated |= settings.cpus;
    const std::string* const adopted = desired.adopted.find(name.id());
    const bool is_isolated = adopted != nullptr && level == quiet::QuietLevel::kIsolated &&
                             settings.isolation == Isolation::kContainer;
    if (is_isolated) cpus.partitions[*adopted] |= settings.cpus;
  }
  return cpus;
}

/// Returns what is to be quiet.
quiet::QuietDesired NodeAgent::quiet_desired(const Desired& desired) const {
  quiet::QuietDesired quiet{quiet_cpus(desired), node_->machine().all_cpus() - offline_, {}};
  if (quiet.cpus.empty() && !quiet_) return quiet;
  quiet.containers.push_back(enforced_->observed().root());
  for (const auto& adopted : desired.adopted) quiet.containers.push_back(adopted.value);
  quiet.containers.insert(quiet.containers.end(), runtime_roots_.begin(), runtime_roots_.end());
  return quiet;
}

/// Returns the knobs, or nullptr if there is nothing to do: then they are not even opened.
quiet::QuietKnobs* NodeAgent::knobs_for(const quiet::QuietDesired& desired) {
  if (!quiet_ && !desired.cpus.empty()) open_knobs();
  return quiet_.get();
}

Result<void> NodeAgent::store(AgentState next, Unstored unstored) {
  const auto begin = now();
  PINFOLD_TRY(kept_->commit(*node_, std::move(next), unstored));
  timings_.commits.observe(now() - begin);
  return {};
}

Result<ChangeOutcome> NodeAgent::change(AgentState next, std::string_view intent,
                                        const ChangedPods& pods) {
  PINFOLD_TRY_WRAP(store(std::move(next)), intent);
  return ChangeOutcome{apply(pods)};
}

std::optional<Error> NodeAgent::apply(const ChangedPods& pods, const StepWatcher& watcher) {
  if (!enforced_) {
    if (!assigned_->empty()) update_assigned(desired());
    return std::nullopt;
  }
  const auto begin = now();
  const Desired target = desired();
  const quiet::QuietDesired quiet = quiet_desired(target);
  quiet::QuietKnobs* const knobs = knobs_for(quiet);
  if (knobs != nullptr) knobs->leave(quiet);
  auto applied = enforced_->apply(target, watcher, pods);
  if (knobs != nullptr) knobs->give_back();
  log_unquiet();
  timings_.enforcements.observe(now() - begin);
  if (applied) {
    earlier_.clear();
    update_assigned(target);
    return std::nullopt;
  }
  log(LogLevel::kError, "not enforced: " + applied.error().message);
  return std::move(applied).error();
}

Result<std::string> NodeAgent::publish_assigned(const ContainerId& container) {
  const auto values = assigned_values(*node_, state().node, desired(), container);
  if (!values) {
    return fail(ErrorCode::kNotFound, fmt::format("container '{}' of pod '{}' has no group",
                                                  container.name, container.pod));
  }
  PINFOLD_LET_WRAP(auto path, assigned_->publish(container, *values),
                   fmt::format("files of container '{}'", container.name));
  return path;
}

void NodeAgent::update_assigned(const Desired& desired) {
  for (const ContainerId& id : assigned_->containers()) {
    const auto values = assigned_values(*node_, state().node, desired, id);
    const auto updated =
        values ? assigned_->publish(id, *values).map([](const auto&) {}) : assigned_->withdraw(id);
    if (updated) continue;
    log(LogLevel::kWarning, fmt::format("files of container '{}' of pod '{}': {}", id.name, id.pod,
                                        updated.error().message));
  }
}

Result<ChangeOutcome> NodeAgent::note(const PodNotes& notes) {
  AgentState next = state();
  for (const auto& [uid, note] : notes) {
    if (next.node.find(uid) != nullptr) next.notes[uid] = note;
  }
  return change(std::move(next), "store the notes of pods", std::set<PodUid>());
}

/// Adds an adopted group to a state, and records what ends its container.
void NodeAgent::note_adopted(AgentState& next, const ContainerId& container,
                             std::string directory) const {
  bool is_read = true;
  bool has_process = false;
  if (enforced_) {
    const auto group = enforced_->observed().reader(directory);
    const auto processes = group ? group->processes() : fail(group.error());
    is_read = processes.has_value();
    has_process = is_read && !processes->empty();
  }
  next.end_with_group.erase(container);
  next.unread.erase(container);
  if (!is_read) {
    next.unread.insert(container);
  } else if (!has_process) {
    next.end_with_group.insert(container);
  }
  next.adopted[container] = std::move(directory);
  next.creators.erase(container.pod);
}

Result<GroupsAdopted> NodeAgent::adopt(const std::vector<AdoptedGroup>& groups) {
  if (!enforced_) return enforces_nothing();
  GroupsAdopted outcome;
  AgentState next = state();
  std::vector<ContainerId> added;
  TakenDirectories taken;
  for (const auto& [owner, directory] : groups) {
    auto checked = owner.is_pod() ? check_sandbox(owner.pod, directory)
                                  : check_container_group(owner.id(), directory);
    if (checked && taken.take(checked->directory, checked->containers.front()) != nullptr) {
      checked = fail(ErrorCode::kInvalidArgument,
                     fmt::format("'{}': another container has this group", checked->directory));
    }
    if (!checked) {
      outcome.refused.emplace_back(owner, std::move(checked).error());
      continue;
    }
    for (const ContainerId& container : checked->containers) {
      note_adopted(next, container, checked->directory);
      added.push_back(container);
    }
  }
  if (added.empty()) return outcome;
  const std::string what = added.size() == 1 ? fmt::format("the group '{}'", next.adopted[added[0]])
                                             : fmt::format("{} groups", added.size());
  PINFOLD_TRY_WRAP(store(std::move(next)), "adopt " + what);
  outcome.change.not_enforced = adopt_and_apply(added);
  return outcome;
}

std::optional<Error> NodeAgent::adopt_and_apply(const std::vector<ContainerId>& containers) {
  std::optional<Error> error;
  std::set<PodUid> changed;
  const Desired target = desired();
  for (const ContainerId& container : containers) {
    changed.insert(container.pod);
    auto adopted = enforced_ ? enforced_->adopt(target, container) : Result<void>();
    if (!adopted && !error) error = std::move(adopted).error();
  }
  auto not_applied = apply(changed);
  return error ? error : not_applied;
}

/// Checks that a container of an active pod may adopt a group.
Result<NodeAgent::Adoptable> NodeAgent::check_container_group(const ContainerId& container,
                                                              const std::string& directory) const {
  PINFOLD_LET(const ActivePod* const pod, find_active(state(), container.pod));
  PINFOLD_TRY(check_container(pod->spec, container.name));
  PINFOLD_LET(std::string real, enforced_->observed().check_adoptable(container, directory));
  PINFOLD_TRY(check_pod_of_group(state().node, enforced_->observed().root(), pod->spec,
                                 container.name, real));
  return Adoptable{std::move(real), {container}};
}

/// Checks that the containers of a pod that have exclusive CPUs may adopt the group of its sandbox.
Result<NodeAgent::Adoptable> NodeAgent::check_sandbox(const PodUid& uid,
                                                      const std::string& directory) const {
  Adoptable found{directory, {}};
  bool is_checked = false;  // true if a container of the pod has adopted this group before
  for (const auto& [name, settings] : desired().layout) {
    if (name.pod != uid || name.is_pod() || settings.isolation == Isolation::kHost) continue;
    const std::string* const has = state().adopted.find(name.id());
    is_checked = is_checked || (has != nullptr && *has == directory);
    found.containers.push_back(name.id());
  }
  if (found.containers.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("no container of pod '{}' has exclusive CPUs", uid));
  }
  if (is_checked) return found;
  PINFOLD_LET(found.directory,
              enforced_->observed().check_adoptable(found.containers.front(), directory));
  return found;
}

Result<ChangeOutcome> NodeAgent::disown(const ContainerId& container, LeftProcesses processes) {
  if (!state().adopted.contains(container)) {
    return fail(ErrorCode::kNotFound, fmt::format("container '{}' of pod '{}' has no adopted group",
                                                  container.name, container.pod));
  }
  if (enforced_ && processes == LeftProcesses::kRefuse) {
    PINFOLD_TRY(enforced_->observed().check_empty({container}));
  }
  AgentState next = state();
  next.adopted.erase(container);
  next.end_with_group.erase(container);
  next.unread.erase(container);
  return change(std::move(next), fmt::format("disown the group of container '{}'", container.name),
                std::set{container.pod});
}

Result<ChangeOutcome> NodeAgent::start(const ContainerId& container) {
  PINFOLD_TRY(container_resources(*node_, state().node, container));
  AgentState next = state();
  PINFOLD_LET(next.node, start_container(*node_, std::move(next.node), container));
  next.removed.erase(container);
  // It has not run yet, so a group without a process still awaits its first one.
  if (next.unread.contains(container)) {
    note_adopted(next, container, *next.adopted.find(container));
  }
  return change(std::move(next), fmt::format("start container '{}'", container.name),
                std::set{container.pod});
}

void NodeAgent::look_at_unread() {
  if (!enforced_ || state().unread.empty()) return;
  AgentState next = state();
  std::erase_if(next.unread, [this](const ContainerId& container) {
    return enforced_->observed().has_processes(container).value_or(false);
  });
  if (next.unread != state().unread) (void)store(std::move(next));  // else the next look does it
}

Result<void> NodeAgent::attach(const ContainerId& container, pid_t process) {
  if (!enforced_) return enforces_nothing();
  const Desired target = desired();
  if (!target.layout.contains(container)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("container '{}' of pod '{}' has no group: it was removed or never "
                            "admitted",
                            container.name, container.pod));
  }
  PINFOLD_TRY(enforced_->attach(target, container, process));
  reset_affinity(container, process);
  return {};
}

/// Resets the affinity of all processes, or of the process `only`. A failure does not stop the
/// container; reconcile() notes its affinity.
void NodeAgent::reset_affinity(const ContainerId& container, std::optional<pid_t> only) {
  if (!enforced_ || !options_.reset_affinity) return;
  const std::string label = to_string(enforce::GroupName(container));
  const auto widened = enforced_->widen_affinities(container, only);
  if (!widened)
    return log(LogLevel::kWarning, fmt::format("{}: {}", label, widened.error().message));
  if (widened->empty()) return;
  log(LogLevel::kInfo,
      fmt::format("{}: CPU affinity of process{} {} reset: it permitted only some of the "
                  "container's CPUs",
                  label, widened->size() == 1 ? "" : "es", enforce::to_list(*widened)));
}

Result<ResizeOutcome> NodeAgent::resize(const ResizeRequest& request, Trace* trace) {
  const auto& [container, cpu] = request;
  auto decision = preview_resize(request, trace);
  if (!decision) return tl::unexpected(std::move(decision).error());
  if (auto* const refused = std::get_if<NotResized>(&*decision)) {
    log(LogLevel::kInfo,
        fmt::format("container '{}' of pod '{}': not resized, {}: {}", container.name,
                    container.pod, to_string(refused->reason), refused->why.message));
    const CpuSet* const cpus = state().node.cpu.assignments.find(container);
    const CpuSet kept = cpus == nullptr ? CpuSet() : *cpus;
    return ResizeOutcome{{}, std::move(*refused), kept, kept};
  }
  ResizeOutcome outcome;
  auto& resized = std::get<Resized>(*decision);
  outcome.before = std::move(resized.before);
  outcome.after = std::move(resized.after);
  if (resized.next == state().node) {
    outcome.not_enforced = apply(std::set{container.pod});  // completes an interrupted one
    return outcome;
  }
  AgentState next = state();
  next.node = std::move(resized.next);
  PINFOLD_LET(static_cast<ChangeOutcome&>(outcome),
              change(std::move(next), fmt::format("resize container '{}'", container.name),
                     std::set{container.pod}));
  log(LogLevel::kInfo,
      fmt::format("container '{}' of pod '{}': resized from {} to {}", container.name,
                  container.pod, cpus_named(outcome.before), outcome.after.to_string()));
  return outcome;
}

Result<ChangeOutcome> NodeAgent::remove_container(const ContainerId& container,
                                                  RunningProcesses running) {
  PINFOLD_TRY(container_resources(*node_, state().node, container));
  if (enforced_) {
    PINFOLD_TRY(enforced_->make_empty({container}, running));
  }
  AgentState next = state();
  next.node = pinfold::remove_container(*node_, std::move(next.node), container);
  next.removed.insert(container);
  next.adopted.erase(container);
  next.end_with_group.erase(container);
  next.unread.erase(container);
  PINFOLD_LET(auto outcome,
              change(std::move(next), fmt::format("remove container '{}'", container.name),
                     std::set{container.pod}));
  log(LogLevel::kInfo,
      fmt::format("container '{}' of pod '{}': removed", container.name, container.pod));
  return outcome;
}

Result<ChangeOutcome> NodeAgent::remove_pod(const PodUid& uid, RunningProcesses running) {
  if (!state().node.held.contains(uid)) {
    PINFOLD_TRY(find_active(state(), uid));
  }
  if (enforced_) {
    PINFOLD_LET(const auto groups, enforced_->observed().groups_of_pod(uid));
    PINFOLD_TRY(enforced_->make_empty(groups, running));
  }
  AgentState next = state();
  next.node = pinfold::remove_pod(*node_, std::move(next.node), uid);
  remove_inactive(next);
  PINFOLD_LET(auto outcome,
              change(std::move(next), fmt::format("remove pod '{}'", uid), std::set{uid}));
  log(LogLevel::kInfo, fmt::format("pod '{}': removed", uid));
  return outcome;
}

Result<ChangeOutcome> NodeAgent::release_unknown() {
  const std::set<PodUid> held = state().node.held;
  if (held.empty()) return ChangeOutcome{};
  AgentState next = state();
  for (const PodUid& uid : held) next.node = pinfold::remove_pod(*node_, std::move(next.node), uid);
  PINFOLD_LET(auto outcome, change(std::move(next), "release unknown pods", held));
  for (const PodUid& uid : held) log(LogLevel::kInfo, fmt::format("pod '{}': released", uid));
  return outcome;
}

ReconfigureOutcome NodeAgent::apply_and_measure() {
  if (!enforced_) return {};
  const Desired target = desired();
  StepMeter meter(
      target, [this] { return now(); },
      [this](const ContainerId& id) { return enforced_->observed().pages_of(id); });
  ReconfigureOutcome outcome;
  outcome.not_enforced = apply(std::nullopt, [&](const enforce::Step& step, StepMoment moment) {
    meter.watch(step, moment);
  });
  outcome.measured = meter.results();
  return outcome;
}

Result<ReconfigureOutcome> NodeAgent::reconfigure(std::optional<Node> to, NodeState next,
                                                  RunningProcesses running) {
  const auto target = to ? std::make_shared<const Node>(*std::move(to)) : node_;
  AgentState after = state();
  after.node = std::move(next);
  remove_inactive(after);
  const CpuSet offline =
      offline_ & target->machine().all_cpus();  // ignores CPUs that `target` lost
  if (enforced_) {
    (void)apply(std::nullopt);  // completes an interrupted one, so that the layout is known
    Desired to_reach = make_desired(*target, after, enforced_->observed().facts(), offline);
    add_partitions(after, to_reach);
    PINFOLD_TRY(enforced_->check_reachable(to_reach));
    for (const ActivePod& pod : state().node.pods) {
      const PodUid& uid = pod.spec.uid;
      if (after.node.find(uid) != nullptr) continue;
      PINFOLD_LET(const auto groups, enforced_->observed().groups_of_pod(uid));
      PINFOLD_TRY(enforced_->make_empty(groups, running));
    }
  }
  enforce::Layout earlier = desired().layout;
  PINFOLD_TRY_WRAP(kept_->replace_node(*node_, *target, std::move(after)), "reconfigure");
  earlier_ = std::move(earlier);
  if (!is_same_machine(node_->machine(), target->machine(), MemorySizes::kCount)) observed_.reset();
  node_ = target;
  offline_ = offline;
  log(LogLevel::kInfo, "reconfigured");
  return apply_and_measure();
}

Result<void> NodeAgent::checkpoint_journal() { return kept_->checkpoint_journal(); }

Result<void> NodeAgent::leave_journal() { return kept_->leave_journal(); }

Result<ReconcileReport> NodeAgent::enforce_again(PageMoves pages) {
  if (!enforced_) return enforces_nothing();
  const Desired target = desired();
  const std::optional<ProcessList> known = kept_->processes();
  ProcessList processes = known.value_or(ProcessList());
  PINFOLD_LET(ReconcileReport report, enforced_->reconcile(target, processes));
  if (known != processes) kept_->keep_processes(processes);
  if (pages == PageMoves::kOn) enforced_->move_pages(target, report);
  const quiet::QuietDesired quiet = quiet_desired(target);
  if (!quiet_ && quiet.cpus.empty() && options_.quiet != quiet::QuietLevel::kOff) {
    open_knobs();
    quiet_->prepare();
  }
  if (auto* const knobs = knobs_for(quiet)) {
    knobs->reconcile(quiet);
    log_unquiet();
    report.unquiet = unquiet_;
  }
  update_assigned(target);
  for (std::string& line : lost_cpus(*node_, state(), offline_)) {
    report.remaining.push_back(std::move(line));
  }
  return report;
}

Result<ChangeOutcome> adopt(NodeAgent& agent, const AdoptedGroup& group) {
  PINFOLD_LET(auto adopted, agent.adopt(std::vector{group}));
  if (!adopted.refused.empty()) return fail(std::move(adopted.refused.front().second));
  return std::move(adopted.change);
}

Result<void> attach(NodeAgent& agent, const ContainerId& container,
                    const enforce::LiveProcess& process) {
  auto attached = agent.attach(container, process.pid());
  if (process.is_running()) return attached;
  return fail(ErrorCode::kNotFound,
              fmt::format("process {} ended while it was being moved; if its id was reused, the "
                          "new process may have been moved instead",
                          process.pid()));
}

}  // namespace pinfold::agent
