#include "runner.hpp"

#include <fmt/format.h>

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

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  actions += other.actions;
  operations += other.operations;
  checks += other.checks;
  starts += other.starts;
  time += other.time;
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
          [this](const std::string& group) {
            note("    runtime: " + group);
            record("runtime: " + group);
            check_overlap({false, "the runtime", group});
          },
          bug == Bug::kSwappedEvents ? Runtime::Events::kSwapped : Runtime::Events::kInOrder),
      bug_(bug) {
  node_.watch = [this](const Operation& operation) {
    note((operation.is_on_disk ? "    disk: " : "    ") + operation.text);
    record(operation.text);
    if (!operation.is_on_disk) check_overlap(operation);
  };
}

void Runner::break_promise(std::string promise, std::string what) {
  if (outcome_.failure) return;
  note("BROKEN " + promise + ": " + what);
  outcome_.failure = Failure{number_, std::move(promise), std::move(what)};
}

/// What the kernel has now.
void Runner::record(const std::string& operation, bool has_fault) {
  if (log_ == Log::kOff) return;
  Frame frame{number_, operation, has_fault || node_.has_failed(), {}};
  for (const Seen& one : containers_in(node_.kernel, in_turn_ ? in_turn_->state() : model_)) {
    const CpuSet* const own = owners_.find(one.id);
    const bool is_exclusive = own != nullptr && !one.cpus.empty() && own->contains_all(one.cpus);
    const std::string name =
        one.id.pod.value.empty() ? one.group : fmt::format("{}/{}", one.id.pod, one.id.name);
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
    record(to_string(action), action.fault && had_fault_);
    if (!outcome_.failure) note("  " + describe(model_));
  }
  if (!outcome_.failure) end();
  if (!outcome_.failure) judge_log();
  outcome_.tally = node_.tally;
  node_.watch = nullptr;  // what the service does at its end comes after the outcome
  return std::move(outcome_);
}

/// The request of a client that asks for nothing else than its answer.
std::optional<service::Action> Runner::request_of(const Action& action) const {
  switch (action.kind) {
    case Action::Kind::kAdmit:
      return service::Admit{pods_of(action.pod, action.value)};
    case Action::Kind::kRemove:
      return service::Remove{uid_of(action.pod), "", agent::RunningProcesses::kRefuse};
    case Action::Kind::kKill:
      return service::Remove{uid_of(action.pod), "", agent::RunningProcesses::kKill};
    case Action::Kind::kDrop:
      return service::Remove{uid_of(action.pod), container_of(action),
                             agent::RunningProcesses::kRefuse};
    case Action::Kind::kStart:
      return service::Start{id_of(action)};
    case Action::Kind::kReconcile:
      return service::Reconcile{};
    case Action::Kind::kSettle:
      return service::Settle{};
    default:
      return std::nullopt;
  }
}

void Runner::act(const Action& action) {
  if (auto request = request_of(action)) {
    if (action.kind == Action::Kind::kStart) end_init_containers(uid_of(action.pod));
    submit(*std::move(request));
    if (action.is_queued) return;
    round(action.fault);
    if (action.kind == Action::Kind::kStart) run_process(action);
    return;
  }
  switch (action.kind) {
    case Action::Kind::kConfigure:
    case Action::Kind::kUndo: {
      service::Reconfigure request;
      request.undo = action.kind == Action::Kind::kUndo;
      if (!request.undo) request.config = config_text(action.value);
      return change_node(std::move(request), action.fault);
    }
    case Action::Kind::kDefragment: {
      service::Defragment request;
      request.pod = pod_of(action.pod, action.value);
      return change_node(std::move(request), action.fault);
    }
    case Action::Kind::kRestart:
      return restart(action.fault);
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
      return wait(std::chrono::seconds(action.value), action.fault);
    default:
      act_outside(action);
      round(action.fault);
  }
}

/// What others do than clients.
void Runner::act_outside(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kExit:
      return end_processes(action);
    case Action::Kind::kMove:
    case Action::Kind::kReuse:
      return move_process(action);
    case Action::Kind::kRewrite:
      return node_.rewrite(action.value);
    case Action::Kind::kReset:
      return node_.reset_cpusets();
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

void Runner::submit(service::Action request) {
  auto& entry = pending_.emplace_back(Pending{std::move(request)});
  const auto call = calls_.invoke(entry.request);
  const auto accepted =
      node_.worker()->submit({entry.request, [this, &entry, call](Result<service::Answer> answer) {
                                if (call) calls_.answer(*call, answer);
                                entry.answer.emplace(std::move(answer));
                              }});
  if (!accepted) break_promise("answer", "a request is not accepted: " + accepted.error().message);
}

/// The service does what it has to do.
void Runner::round(const std::optional<Fault>& fault) {
  node_.arm(fault);
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
  node_.arm(std::nullopt);
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
  const bool is_clean = has_reconciled && snapshot->reconciled->has_value() &&
                        snapshot->reconciled->value().remaining.empty() && !had_fault_;
  if (is_clean) {
    node_.disturbed.clear();
    is_behind_ = false;
  }
  if (history_.has_processes) check_processes(is_clean);
  if (has_reconciled) ++node_.tally.reconciliations;
  own_model();
  if (!is_behind_) check_overlap({false, "the action", ""});
  check_files(false);
}

/// The next process of the service, after the last one was killed.
void Runner::start_again() {
  node_.arm(std::nullopt);
  const bool has_started = node_.worker() != nullptr;
  if (!has_started) {
    prepare_owners();
    if (const auto started = node_.start(); !started) {
      return break_promise("start", "the service does not start: " + started.error().message);
    }
  }
  const auto& reconciled = node_.worker()->snapshot()->reconciled;
  is_behind_ = !reconciled || !reconciled->has_value() || !reconciled->value().remaining.empty() ||
               (has_started && had_fault_);
  if (!is_behind_) node_.disturbed.clear();
  const bool is_first = model_node_ == nullptr;
  model_node_ = node_.shared_node();
  offline_ = node_.worker()->offline();
  if (is_first) model_ = node_.worker()->snapshot()->state;
  if (is_first) begin_log();
  if (!is_first) check_recovered();
  if (std::exchange(boots_, node_.boots()) != node_.boots()) {
    runtime_.forget();
    told_.clear();
    known_.clear();
    moved_.clear();
    strangers_.clear();
  }
  if (history_.has_runtime) runtime_.synchronize();
}

void Runner::restart(const std::optional<Fault>& fault) {
  round(std::nullopt);
  if (outcome_.failure) return;
  node_.arm(fault);
  prepare_owners();
  try {
    node_.stop();
    const auto started = node_.start();
    if (!started && !node_.has_failed()) {
      return break_promise("start", "the service does not start: " + started.error().message);
    }
  } catch (const Killed&) {
    note("  killed");
    node_.bury();
  }
  had_fault_ = node_.has_failed();
  recover();
}

/// A request that plans: a dry run says what it leads to.
void Runner::change_node(service::Action request, const std::optional<Fault>& fault) {
  round(std::nullopt);
  if (outcome_.failure) return;
  auto dry = request;
  if (auto* const one = std::get_if<service::Reconfigure>(&dry)) one->dry_run = true;
  if (auto* const one = std::get_if<service::Defragment>(&dry)) one->dry_run = true;
  submit(dry);
  node_.worker()->run_round();
  const Pending planned = std::move(pending_.front());
  pending_.pop_front();
  auto plan = judge_dry_run(planned);
  if (!plan) return;  // it cannot be done
  judge_log();
  submit(std::move(request));
  pending_.front().planned = std::move(plan);
  round(fault);
  if (!outcome_.failure) begin_log();
}

/// A client puts a process into the group of a container that it has started.
void Runner::run_process(const Action& action) {
  if (outcome_.failure) return;
  const ContainerId id = id_of(action);
  auto* const dir = node_.kernel.find(group_of(id));
  const ActivePod* const pod = model_.node.find(id.pod);
  const bool is_started = pod != nullptr && pod->started.contains(id.name);
  if (dir != nullptr && is_started && dir->processes.empty())
    dir->processes = {node_.new_process()};
}

/// A runtime starts no container before the init containers of its pod have ended.
void Runner::end_init_containers(const PodUid& uid) {
  const ActivePod* const pod = model_.node.find(uid);
  if (pod == nullptr) return;
  for (const Container& container : pod->spec.containers) {
    auto* const dir = node_.kernel.find(group_of({uid, container.name}));
    if (container.kind == ContainerKind::kInit && dir != nullptr) dir->processes.clear();
  }
}

void Runner::end_processes(const Action& action) {
  if (auto* const dir = node_.kernel.find(group_of(id_of(action)))) dir->processes.clear();
}

void Runner::move_process(const Action& action) {
  auto running = containers_in(node_.kernel, model_);
  std::erase_if(running, [](const Seen& one) { return !one.has_processes; });
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
