#include "runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "samples.hpp"
#include "seen.hpp"

namespace pinfold::world {
namespace {

std::string container_of(const Action& action) { return action.value % 2 == 0 ? "a" : "b"; }
ContainerId id_of(const Action& action) { return {uid_of(action.pod), container_of(action)}; }

std::string group_of(const ContainerId& id) {
  return fmt::format("pinfold/pod{}/{}", id.pod, id.name);
}

Runtime::Events events_with(Bug bug) {
  switch (bug) {
    case Bug::kSwappedEvents:
      return Runtime::Events::kSwapped;
    case Bug::kSameIds:
      return Runtime::Events::kSameIds;
    case Bug::kLateUpdates:
      return Runtime::Events::kLateUpdates;
    default:
      return Runtime::Events::kInOrder;
  }
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  actions += other.actions;
  operations += other.operations;
  checks += other.checks;
  starts += other.starts;
  time += other.time;
  passed += other.passed;
  refused += other.refused;
  reconciliations += other.reconciliations;
  idle += other.idle;
  for (const auto& [name, count] : other.faults) faults[name] += count;
  return *this;
}

Runner::Runner(const History& history, Log log, Bug bug)
    : history_(history),
      log_(log),
      node_(history, bug),
      runtime_(
          node_.kernel, [this](const auto& call) { return ask(call); },
          [this](const auto& pod, const auto& container) { return pass_gate(pod, container); },
          [this](const std::string& group) {
            note("    runtime: " + group);
            record("runtime: " + group);
            check_overlap({false, "the runtime", group});
          },
          events_with(bug)),
      bug_(bug) {
  node_.kill_runtime = [this] {
    if (in_turn_ != nullptr || is_at_gate_) runtime_.kill();
  };
  if (log_ == Log::kOn) {
    node_.hear = [this](std::string_view line) { note(fmt::format("    log: {}", line)); };
  }
  node_.watch = [this](const Operation& operation) {
    note((operation.is_on_disk ? "    disk: " : "    ") + operation.text);
    record(operation.text);
    if (operation.is_on_disk) return;
    check_overlap(operation);
    check_moved(operation);
  };
}

void Runner::break_promise(std::string promise, std::string what) {
  if (outcome_.failure) return;
  note("BROKEN " + promise + ": " + what);
  outcome_.failure = Failure{number_, std::move(promise), std::move(what)};
}

/// Records the current state of the kernel.
void Runner::record(const std::string& operation) {
  if (log_ == Log::kOff) return;
  Frame frame{number_, operation, 0, {}};
  for (const auto& [name, count] : node_.tally.faults) frame.faults += count;
  for (const Seen& one : containers_in(node_.kernel, in_turn_ ? in_turn_->state() : model_)) {
    const CpuSet* const own = owners_.find(one.id);
    const bool is_exclusive = own != nullptr && !one.cpus.empty() && own->contains_all(one.cpus);
    const bool is_container = !one.id.pod.value.empty() && !one.is_nested;
    const std::string name =
        is_container ? fmt::format("{}/{}", one.id.pod, one.id.name) : one.group;
    frame.rows[name] = {one.cpus, is_exclusive, one.has_processes};
  }
  outcome_.frames.push_back(std::move(frame));
}

Outcome Runner::run() && {
  start_again();
  for (number_ = 0; number_ < history_.actions.size() && !outcome_.failure; ++number_) {
    const Action& action = history_.actions[number_];
    note(to_string(action));
    ++node_.tally.actions;
    record(to_string(action));
    act(action);
    record(to_string(action));
    if (!outcome_.failure) note("  " + describe(model_));
  }
  if (!outcome_.failure) end();
  if (!outcome_.failure) judge_log();
  outcome_.tally = node_.tally;
  node_.watch = nullptr;  // what the service does while it ends is not part of the outcome
  return std::move(outcome_);
}

/// Returns the client's request that an action stands for, if it needs only an answer.
std::optional<verbs::Action> Runner::request_of(const Action& action) const {
  switch (action.kind) {
    case Action::Kind::kAdmit:
      return verbs::Admit{pods_of(action.pod, action.value)};
    case Action::Kind::kRemove:
      return verbs::Remove{uid_of(action.pod), "", agent::RunningProcesses::kRefuse};
    case Action::Kind::kKill:
      return verbs::Remove{uid_of(action.pod), "", agent::RunningProcesses::kKill};
    case Action::Kind::kDrop:
      return verbs::Remove{uid_of(action.pod), container_of(action),
                           agent::RunningProcesses::kRefuse};
    case Action::Kind::kStart:
      return verbs::Start{id_of(action)};
    case Action::Kind::kResize: {
      const Resizing wanted = Resizing::of(action.value);
      return verbs::Resize{{{uid_of(action.pod), wanted.container == 0 ? "a" : "b"},
                            Quantity::of(wanted.cpus, Quantity::Format::kDecimalSi)}};
    }
    case Action::Kind::kReconcile:
      return verbs::Reconcile{};
    case Action::Kind::kSettle:
      return verbs::CheckpointJournal{};
    default:
      return std::nullopt;
  }
}

void Runner::act(const Action& action) {
  if (node_.worker() == nullptr) return act_without_service(action);
  if (auto request = request_of(action)) {
    if (action.kind == Action::Kind::kStart) end_init_containers(uid_of(action.pod));
    submit(*std::move(request));
    if (action.is_queued) return;
    round(action.faults);
    if (action.kind == Action::Kind::kStart) run_process(action);
    return;
  }
  switch (action.kind) {
    case Action::Kind::kConfigure:
    case Action::Kind::kUndo: {
      verbs::Reconfigure request;
      request.undo = action.kind == Action::Kind::kUndo;
      if (!request.undo) request.config = config_text(action.value);
      return change_node(std::move(request), action.faults);
    }
    case Action::Kind::kDefragment: {
      verbs::Defragment request;
      request.pod = pod_of(action.pod, action.value);
      return change_node(std::move(request), action.faults);
    }
    case Action::Kind::kRestart:
      return restart(action.faults);
    case Action::Kind::kDown:
      return stop_service(action.faults);
    case Action::Kind::kUp:
      return;
    case Action::Kind::kHookCreate:
    case Action::Kind::kHookDelete:
      return hook_round(action);
    case Action::Kind::kQuiet:
      return quiet();
    case Action::Kind::kSandbox:
    case Action::Kind::kCreate:
    case Action::Kind::kBegin:
    case Action::Kind::kStop:
    case Action::Kind::kUnsandbox:
    case Action::Kind::kConnect:
      if (history_.has_runtime) runtime_round(action);
      return;
    case Action::Kind::kWait:
      return wait(std::chrono::seconds(action.value), action.faults);
    default:
      act_outside(action);
      round(action.faults);
  }
}

/// Acts while no service runs: foreign programs continue; clients get no answers.
void Runner::act_without_service(const Action& action) {
  if (request_of(action)) return;
  switch (action.kind) {
    case Action::Kind::kConfigure:
    case Action::Kind::kUndo:
    case Action::Kind::kDefragment:
    case Action::Kind::kDown:
      return;
    case Action::Kind::kUp:
    case Action::Kind::kRestart:
      return come_up(action.faults);
    case Action::Kind::kQuiet:
      return quiet();
    case Action::Kind::kWait: {
      const std::chrono::seconds time(action.value);
      node_.tally.time += time;
      return node_.pass_to(node_.now() + time);
    }
    case Action::Kind::kHookCreate:
    case Action::Kind::kHookDelete:
      return hook_round(action);
    case Action::Kind::kSandbox:
    case Action::Kind::kCreate:
    case Action::Kind::kBegin:
    case Action::Kind::kStop:
    case Action::Kind::kUnsandbox:
    case Action::Kind::kConnect:
      if (history_.has_runtime) runtime_round(action);
      return;
    default:
      act_outside(action);
  }
}

/// Acts for everyone except clients.
void Runner::act_outside(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kExit:
      return end_processes(action);
    case Action::Kind::kMove:
    case Action::Kind::kReuse:
      return move_process(action);
    case Action::Kind::kRewrite:
      if (history_.has_knobs) node_.balance(action.value);
      return node_.rewrite(action.value);
    case Action::Kind::kReset:
      return node_.reset_cpusets();
    case Action::Kind::kNarrow:
      return narrow(action);
    case Action::Kind::kWiden:
      return node_.back_off();
    case Action::Kind::kSoft:
      return trouble(action);
    case Action::Kind::kNest: {
      const Nested what = Nested::of(action.value);
      return node_.nest(group_named_by(action, what.container), what.how);
    }
    case Action::Kind::kStranger:
      return node_.toggle_stranger();
    case Action::Kind::kOffline:
      return node_.take_offline(action.value);
    case Action::Kind::kOnline:
      return node_.set_online(CpuSet::range(0, 7));
    default:
      return;
  }
}

void Runner::submit(verbs::Action request) {
  auto& entry = pending_.emplace_back(Pending{std::move(request)});
  const auto call = calls_.invoke(entry.request);
  const auto accepted =
      node_.worker()->submit({entry.request, [this, &entry, call](Result<verbs::Answer> answer) {
                                if (call) calls_.answer(*call, answer);
                                entry.answer.emplace(std::move(answer));
                              }});
  if (!accepted) break_promise("answer", "a request is not accepted: " + accepted.error().message);
}

/// Lets the service do its work.
void Runner::round(const Faults& faults) {
  node_.arm(faults);
  calls_.begin_round();
  prepare_owners();
  was_disturbed_ = !node_.disturbed.empty();
  const bool is_noticed = node_.take_notice();
  for (Pending& pending : pending_) pending.met_processes = has_processes(pending.request);
  const auto reconciled = node_.worker()->snapshot()->counters.reconciliations;
  bool is_killed = false;
  try {
    node_.worker()->run_round();
  } catch (const Killed&) {
    is_killed = true;
    node_.bury();
  }
  had_fault_ = node_.has_failed();
  rest_ = node_.disarm();
  is_behind_ = is_behind_ || had_fault_;
  has_failed_to_confine_ = history_.has_runtime && (has_failed_to_confine_ || had_fault_);
  if (is_killed) return recover();
  judge();
  if (outcome_.failure) return;
  const auto snapshot = node_.worker()->snapshot();
  const bool has_reconciled = snapshot->counters.reconciliations > reconciled;
  if (is_noticed && !has_reconciled) {
    return break_promise("watch", "a change below the root was not looked at");
  }
  if (has_reconciled && snapshot->reconciled->has_value()) {
    for (const std::string& line : snapshot->reconciled->value().remaining) {
      note("    remaining: " + line);
    }
  }
  const bool is_clean = has_reconciled && snapshot->reconciled->has_value() &&
                        snapshot->reconciled->value().remaining.empty() && !had_fault_;
  if (has_reconciled) check_independent();
  // What another agent prevents remains; everything else is done.
  if (is_clean || (has_reconciled && !had_fault_ && node_.has_trouble())) {
    // A reconciliation ignores the groups of a runtime's sandboxes.
    std::erase_if(node_.disturbed, [this](const std::string& group) {
      return !history_.has_runtime || !group.starts_with("kubepods");
    });
    is_behind_ = false;
    if (is_clean && !snapshot->not_settled) undecided_.clear();
  }
  if (history_.has_processes) check_processes(is_clean);
  if (has_reconciled) ++node_.tally.reconciliations;
  own_model();
  if (!is_behind_) check_overlap({false, "the action", ""});
  check_files(false);
}

/// Makes a request that plans, after a dry run that predicts its result.
void Runner::change_node(verbs::Action request, const Faults& faults) {
  round({});
  if (outcome_.failure) return;
  auto dry = request;
  if (auto* const one = std::get_if<verbs::Reconfigure>(&dry)) one->dry_run = true;
  if (auto* const one = std::get_if<verbs::Defragment>(&dry)) one->dry_run = true;
  submit(dry);
  node_.worker()->run_round();
  const Pending planned = std::move(pending_.front());
  pending_.pop_front();
  auto plan = judge_dry_run(planned);
  if (!plan) return;  // it is impossible
  judge_log();
  submit(std::move(request));
  pending_.front().planned = std::move(plan);
  round(faults);
  if (!outcome_.failure) begin_log();
}

/// Puts a process into the group of a container that a client has started.
void Runner::run_process(const Action& action) {
  if (outcome_.failure) return;
  const ContainerId id = id_of(action);
  auto* const dir = node_.kernel.find(group_of(id));
  const ActivePod* const pod = model_.node.find(id.pod);
  const bool is_started = pod != nullptr && pod->started.contains(id.name);
  if (dir != nullptr && is_started && !is_populated(*dir)) dir->processes = {node_.new_process()};
}

/// Ends the init containers of a pod: a runtime starts no other container before that.
void Runner::end_init_containers(const PodUid& uid) {
  const ActivePod* const pod = model_.node.find(uid);
  if (pod == nullptr) return;
  for (const Container& container : pod->spec.containers) {
    if (container.kind != ContainerKind::kInit) continue;
    end_hooked({uid, container.name});
    node_.end_group(group_of({uid, container.name}));
  }
}

void Runner::end_processes(const Action& action) {
  end_hooked(id_of(action));
  node_.end_group(group_of(id_of(action)));
}

void Runner::move_process(const Action& action) {
  auto running = containers_in(node_.kernel, model_);
  std::erase_if(running, [this](const Seen& one) {
    return one.is_nested || node_.kernel.find(one.group)->processes.empty();
  });
  if (!history_.has_processes || running.empty()) return;
  const Seen& one = running[static_cast<std::size_t>(action.value) % running.size()];
  if (action.kind == Action::Kind::kReuse) {
    const int process = node_.reuse_number(one.group);
    strangers_.insert(process);
    moved_.erase(process);
  } else if (const int process = node_.move_away(one.group); known_.contains(process)) {
    moved_[process] = one.id;
  }
}

Outcome run(const History& history, Log log, Bug bug) { return Runner(history, log, bug).run(); }

}  // namespace pinfold::world
