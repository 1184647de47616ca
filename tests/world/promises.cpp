// Runner: the promises that must hold at all times.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "runner.hpp"
#include "seen.hpp"

namespace pinfold::world {
namespace {

using agent::AgentState;

bool has(const AgentState& state, const ContainerId& id) {
  const ActivePod* const pod = state.node.find(id.pod);
  return pod != nullptr && pod->spec.find(id.name) != nullptr;
}

std::string text_of(const std::optional<Rejection>& rejection) {
  return rejection ? rejection->reason + ": " + rejection->message : "admitted";
}

std::string error_of(const verbs::Answer& answer) {
  const auto text = [](const std::optional<Error>& error) { return error ? error->message : ""; };
  if (const auto* const admissions = std::get_if<verbs::Admissions>(&answer)) {
    return text(admissions->outcomes.front().not_enforced);
  }
  if (const auto* const change = std::get_if<agent::ChangeOutcome>(&answer)) {
    return text(change->not_enforced);
  }
  if (const auto* const done = std::get_if<verbs::Reconfigured>(&answer)) {
    return text(done->change.not_enforced);
  }
  return "";
}

/// Returns the states through which these requests can lead, beginning with the current one.
template <class List>
std::vector<AgentState> states_of(const Node& node, const AgentState& first, const CpuSet& offline,
                                  const List& requests) {
  std::vector<AgentState> states = {first};
  for (const auto& pending : requests) {
    if (pending.answer) continue;
    if (pending.planned) {
      if (!pending.planned->is_applied) continue;
      states.push_back(with_plan(states.back(), pending.planned->next));
      continue;
    }
    auto expected = expect(node, states.back(), offline, pending.request);
    if (expected.error.empty()) states.push_back(std::move(expected.next));
  }
  return states;
}

}  // namespace

/// Before an action: determines whose CPUs are exclusive until it has ended.
void Runner::prepare_owners() {
  owners_ = {};
  in_transit_.clear();
  had_.clear();
  began_.clear();
  if (!model_node_) return;
  const auto states = states_of(*model_node_, model_, offline_, pending_);
  for (const AgentState& state : states) {
    for (const auto& entry : state.node.cpu.assignments) owners_[entry.id()] |= entry.value;
  }
  // A container that becomes exclusive has its CPUs alone only after the action; one that becomes
  // shared, only until the action begins.
  const auto& before = states.front().node.cpu.assignments;
  const auto& after = states.back().node.cpu.assignments;
  const CpuSet offline = model_node_->machine().all_cpus() - node_.online();
  has_strays_ = false;
  for (const Seen& one : containers_in(node_.kernel, model_)) {
    if (one.is_nested) continue;
    had_[one.group] = one.cpus;
    began_[one.group] = one.cpus;
    const bool is_known = has(states.front(), one.id) && has(states.back(), one.id);
    has_strays_ = has_strays_ || (one.has_processes && !is_known);
    const bool stays = states.back().node.find(one.id.pod) != nullptr;
    const CpuSet* const gets = after.find(one.id);
    const bool ends_shared = stays && (gets == nullptr || offline.contains_all(*gets));
    if (!before.contains(one.id) || ends_shared) in_transit_.insert(one.id);
  }
}

/// After an action: determines whose CPUs are exclusive now.
void Runner::own_model() {
  owners_ = {};
  in_transit_.clear();
  had_.clear();
  for (const auto& entry : model_.node.cpu.assignments) owners_[entry.id()] = entry.value;
  began_.clear();
  for (const Seen& one : containers_in(node_.kernel, model_)) began_[one.group] = one.cpus;
}

/// Returns true if the group was last changed by another program or the runtime, and the service
/// has not seen that yet.
bool Runner::is_out_of_reach(const std::string& group) const {
  const std::string above = group.substr(0, group.rfind('/'));
  return node_.disturbed.contains(group) || node_.disturbed.contains(above) ||
         runtime_.unconfirmed().contains(group) || waiting_.contains(group);
}

/// Returns true if on cgroup v1 a group is around another one. It then contains all CPUs of the
/// inner group, so processes that the kernel has moved to it, because their own group lost its last
/// CPU, can run on them: see restart_stranded().
bool Runner::must_contain(const std::string& group, const std::string& other) const {
  return node_.kernel.version == enforce::CgroupVersion::kV1 && other.starts_with(group + "/");
}

/// Returns true if on cgroup v1 the kernel has moved processes to this group, because their own
/// group lost its last CPU. The group around a runtime's groups is not Pinfold's, and only a plugin
/// checks it: see restart_stranded().
bool Runner::is_stranded(const Seen& one) const {
  return node_.kernel.version == enforce::CgroupVersion::kV1 && !history_.has_runtime &&
         one.id.pod.value.empty() && std::count(one.group.begin(), one.group.end(), '/') == 1;
}

/// Returns the CPUs that a group can have.
CpuSet Runner::cpus_around(const std::string& group) {
  const bool is_of_runtime = group.starts_with("kubepods/");
  auto* const above =
      is_of_runtime ? node_.kernel.find(group.substr(0, group.rfind('/'))) : nullptr;
  return above == nullptr ? node_.online() : node_.kernel.effective(*above, "cpuset.cpus");
}

/// Returns true if a group could have a CPU that is not exclusive. Otherwise the kernel gives it
/// the CPUs of the group around it.
bool Runner::has_room(const std::string& group, const CpuSet& exclusive) {
  return !(cpus_around(group) - exclusive).empty();
}

/// Returns true if a container, or a group without exclusive CPUs, can be kept off the CPUs of
/// others. That is impossible if another agent holds its group on these CPUs, or has done so since
/// the action began.
bool Runner::can_keep_off(const Seen& one, const CpuSet& exclusive, const CpuSet& both) {
  const CpuSet* const own = owners_.find(one.id);
  const bool has_own = own != nullptr && cpus_around(one.group).intersects(*own);
  if (!has_own && !has_room(one.group, exclusive)) return false;
  if (own != nullptr || !node_.is_narrowed(one.group)) return true;
  const auto began = began_.find(one.group);
  return began == began_.end() || !began->second.contains_all(both);
}

/// Checks after each change in the kernel that a container that runs on its exclusive CPUs has them
/// alone.
void Runner::check_overlap(const Operation& operation) {
  ++node_.tally.checks;
  const AgentState& state = in_turn_ == nullptr ? model_ : in_turn_->state();
  if (in_turn_ != nullptr) {
    for (const auto& entry : state.node.cpu.assignments) owners_[entry.id()] |= entry.value;
  }
  auto seen = containers_in(node_.kernel, state);
  std::erase_if(seen, [](const Seen& one) { return one.is_nested; });
  for (const Seen& one : seen) {
    if (const auto had = had_.find(one.group); had != had_.end()) had->second &= one.cpus;
  }
  // With a runtime, only its groups have processes; those that Pinfold makes stay empty. After an
  // interrupted change, while CPUs are offline, and while something runs that should not, only
  // processes are protected.
  const bool has_all_cpus = !model_node_ || node_.online() == model_node_->machine().all_cpus();
  const bool needs_processes = history_.has_runtime || is_behind_ || has_strays_ || !has_all_cpus;
  const auto had = [this](const Seen& one) {
    const auto found = had_.find(one.group);
    return found == had_.end() ? CpuSet() : found->second;
  };
  CpuSet exclusive;
  for (const auto& entry : owners_) exclusive |= entry.value;
  for (const Seen& owner : seen) {
    const CpuSet* const own = owners_.find(owner.id);
    if (own == nullptr || owner.cpus.empty() || !own->contains_all(owner.cpus)) continue;
    if (is_out_of_reach(owner.group) || in_transit_.contains(owner.id)) continue;
    if (needs_processes && !owner.has_processes) continue;
    for (const Seen& other : seen) {
      // CPUs that both have had since the action began are not taken away from either.
      const CpuSet& theirs = other.runs_on.empty() ? other.cpus : other.runs_on;
      const CpuSet both = (owner.cpus & theirs) - (had(owner) & had(other));
      if (other.id == owner.id || both.empty() || is_out_of_reach(other.group)) continue;
      if (!can_keep_off(other, exclusive, both)) continue;
      if (must_contain(other.group, owner.group) || is_stranded(other)) continue;
      if (!other.has_processes && (history_.has_runtime || !other.has_own)) continue;
      if (has_failed_to_confine_ && !has(state, other.id)) continue;
      // Init containers leave their CPUs to later containers of their pod.
      if (other.id.pod == owner.id.pod && owners_.contains(other.id)) continue;
      return break_promise("overlap", fmt::format("after '{}' {} runs on {} of {}", operation.text,
                                                  other.group, both.to_string(), owner.group));
    }
  }
}

/// Compares the answers with those of the pure decisions, in the order of the requests.
void Runner::judge() {
  while (!pending_.empty() && !outcome_.failure) {
    if (!pending_.front().answer) return break_promise("answer", "a request is not answered");
    judge(pending_.front());
    pending_.pop_front();
  }
  if (outcome_.failure) return;
  if (node_.worker()->is_replaced()) {
    candidates_ = {model_};
    node_.bury();
    return start_again();
  }
  const AgentState actual = node_.worker()->snapshot()->state;
  if (actual != with_groups(model_, actual)) {
    break_promise("state", fmt::format("expected {}, got {}", describe(model_), describe(actual)));
  }
  log_ends(actual);
  model_ = actual;
  calls_.read(actual);
}

void Runner::judge(Pending& pending) {
  if (pending.planned) return judge_plan(pending);
  const Result<verbs::Answer>& answer = *pending.answer;
  auto expected = expect(*model_node_, model_, offline_, pending.request);
  note(answer ? "  answered" : "  error: " + answer.error().message);
  const bool meets_processes = has_processes(pending.request);
  if (!answer) {
    if (answer.error().message.empty()) return break_promise("reason", "an error without a text");
    note_undecided(answer.error(), std::move(expected.next));
    // Another request in the round may have ended them.
    const bool is_excused =
        meets_processes || pending.met_processes || admits_another_spec(pending.request);
    if (!expected.error.empty() || had_fault_ || is_excused) return;
    return break_promise("answer", "unexpected error: " + answer.error().message);
  }
  if (!expected.error.empty() || meets_processes) {
    return break_promise(
        "answer", "expected an error: " + (meets_processes ? "processes run" : expected.error));
  }
  if (const auto* const admissions = std::get_if<verbs::Admissions>(&*answer)) {
    for (std::size_t i = 0; i < admissions->outcomes.size(); ++i) {
      const std::string got = text_of(admissions->outcomes[i].rejection);
      const std::string wanted = text_of(expected.rejections.at(i));
      note("  " + got);
      if (got == wanted) continue;
      return break_promise("answer", fmt::format("expected '{}', got '{}'", wanted, got));
    }
  }
  if (const auto* const outcome = std::get_if<agent::ResizeOutcome>(&*answer)) {
    const std::string got = outcome->refused ? describe(*outcome->refused) : "resized";
    const std::string wanted = expected.refused ? describe(*expected.refused) : "resized";
    note("  " + got);
    if (got != wanted) {
      return break_promise("answer", fmt::format("expected '{}', got '{}'", wanted, got));
    }
  }
  model_ = std::move(expected.next);
  check_enforced(*answer, pending.request);
}

/// Remembers a request that could neither be stored nor dropped: it is dropped as soon as that
/// succeeds.
void Runner::note_undecided(const Error& error, AgentState next) {
  if (error.message.find("could not be dropped") != std::string::npos) {
    undecided_.push_back(std::move(next));
  }
}

/// Checks that a change that is not enforced at once has a reason.
void Runner::check_enforced(const verbs::Answer& answer, const verbs::Action& request) {
  const std::string error = error_of(answer);
  // Settling applies nothing that is missing in the kernel.
  const bool is_change = !std::holds_alternative<verbs::Done>(answer);
  is_behind_ = !error.empty() || had_fault_ || (is_behind_ && !is_change);
  if (error.empty()) return;
  note("  not enforced: " + error);
  // A client that admits a pod again with other containers must end their processes.
  if (error.find("processes still run in it") != std::string::npos) return;
  if (names_own_trouble(error, request) || names_displaced(error) || names_limited(error)) return;
  const bool has_all_cpus = node_.online() == model_node_->machine().all_cpus();
  if (!had_fault_ && has_all_cpus && !was_disturbed_) break_promise("enforced", error);
}

/// Returns true if an error is about a container that can have none of its CPUs because others hold
/// them.
bool Runner::names_displaced(const std::string& error) {
  const auto seen = containers_in(node_.kernel, model_);
  return std::any_of(seen.begin(), seen.end(), [&](const Seen& one) {
    const CpuSet* const own = model_.node.cpu.assignments.find(one.id);
    const std::string text = fmt::format("{}' cannot run on any of its CPUs", one.group);
    return own != nullptr && error.find(text) != std::string::npos &&
           !cpus_around(one.group).intersects(*own);
  });
}

/// Returns true if an error is about a container on cgroup v1 whose parent group lacks some of its
/// CPUs: it lost them when a CPU went offline.
bool Runner::names_limited(const std::string& error) {
  if (node_.kernel.version != enforce::CgroupVersion::kV1) return false;
  const auto seen = containers_in(node_.kernel, model_);
  return std::any_of(seen.begin(), seen.end(), [&](const Seen& one) {
    const CpuSet* const own = model_.node.cpu.assignments.find(one.id);
    return own != nullptr && error.find(one.group + "/cpuset.cpus") != std::string::npos &&
           !cpus_around(one.group).contains_all(*own);
  });
}

/// Returns true if a request names an active pod with a different spec: it is rejected if a running
/// container would lose its CPUs.
bool Runner::admits_another_spec(const verbs::Action& request) const {
  const auto* const admit = std::get_if<verbs::Admit>(&request);
  return admit != nullptr &&
         std::any_of(admit->pods.begin(), admit->pods.end(), [this](const PodSpec& pod) {
           const ActivePod* const active = model_.node.find(pod.uid);
           return active != nullptr && active->spec != pod;
         });
}

/// Returns true if a request must fail because processes run that it does not kill.
bool Runner::has_processes(const verbs::Action& request) {
  if (std::holds_alternative<verbs::Admit>(request)) return forgets_processes(request);
  const auto* const remove = std::get_if<verbs::Remove>(&request);
  if (remove == nullptr) return false;
  const bool is_kill = remove->running == agent::RunningProcesses::kKill;
  if (is_kill && node_.kernel.version == enforce::CgroupVersion::kV2) return false;
  for (const auto& entry : model_.adopted) {
    const bool is_meant =
        entry.pod == remove->pod && (remove->container.empty() || entry.name == remove->container);
    if (is_meant && runs_hooked(entry.id())) return true;
  }
  return runs_below_root(remove->pod, remove->container);
}

/// After the death of a process: everything acknowledged must be there, and a prefix of the rest.
void Runner::recover() {
  while (!pending_.empty() && pending_.front().answer && !outcome_.failure) {
    judge(pending_.front());
    pending_.pop_front();
  }
  if (outcome_.failure) return;
  candidates_ = states_of(*model_node_, model_, offline_, pending_);
  const bool can_have_moved = std::any_of(pending_.begin(), pending_.end(), [](const Pending& one) {
    return one.planned && one.planned->is_applied;
  });
  is_before_unknown_ = is_before_unknown_ || can_have_moved;
  if (can_have_moved) told_.clear();  // see judge_plan()
  start_again();
  pending_.clear();
  check_files(false);
}

/// Checks that the restarted service has one of the possible states.
void Runner::check_recovered() {
  auto candidates = std::exchange(candidates_, {});
  if (candidates.empty()) return;  // a hook's request is judged by judge_hook()
  const AgentState actual = node_.worker()->snapshot()->state;
  const auto undecided = std::exchange(undecided_, {});
  candidates.insert(candidates.end(), undecided.begin(), undecided.end());
  const bool is_known =
      std::any_of(candidates.begin(), candidates.end(),
                  [&](const AgentState& one) { return is_same(with_groups(one, actual), actual); });
  if (!is_known) {
    return break_promise("lost", fmt::format("expected {} or a later state, got {}",
                                             describe(candidates.front()), describe(actual)));
  }
  if (undecided.empty()) {
    calls_.restart();
    log_ends(actual);
    model_ = actual;
    return calls_.read(actual);
  }
  model_ = actual;
  // Requests answered with an error may be done now, which no order explains.
  judge_log();
  begin_log();
}

/// Checks that a kubelet can load the state files, and that they contain the state. `is_settled`:
/// even without the journal.
void Runner::check_files(bool is_settled) {
  if (outcome_.failure) return;
  const auto fs = node_.disk_to_read();
  const auto files = checkpoint::read_files(*fs);
  if (!files) return break_promise("files", files.error().message);
  checkpoint::KubeletFiles kubelet{files->cpu, files->memory};
  if (is_settled) {
    kubelet.cpu = fs->read(std::string(checkpoint::kCpuFileName)).value();
    kubelet.memory = fs->read(std::string(checkpoint::kMemoryFileName)).value();
  }
  if (!kubelet.cpu) return;  // nothing was committed yet
  if (const auto started = checkpoint::would_start(*model_node_, kubelet, {}); !started) {
    return break_promise("files", "a kubelet does not start: " + started.error().error);
  }
  const auto cpus = checkpoint::inspect_cpu(*kubelet.cpu);
  if (!cpus) return break_promise("files", cpus.error().message);
  const auto has = [&](const AgentState& one) {
    CpuCheckpoint wanted = one.node.cpu.checkpoint();
    if (cpus->version < 4) wanted.baselines = {};  // they are in the pods file alone
    return cpus->state == wanted;
  };
  if (!is_settled && std::any_of(undecided_.begin(), undecided_.end(), has)) return;
  if (!had_fault_ && !has(model_)) {
    AgentState found;
    found.node.cpu = {cpus->state};
    break_promise("files", fmt::format("cpu_manager_state has {} instead of {}", describe(found),
                                       describe(model_)));
  }
}

/// Checks that the kernel agrees with the state.
void Runner::check_kernel() {
  if (outcome_.failure) return;
  std::vector<std::string> drift;
  const auto submitted = node_.worker()->submit(worker::Task{[&](Result<agent::NodeAgent*> agent) {
    auto found = (*agent)->find_drift();
    drift = found ? *std::move(found) : std::vector{found.error().message};
    return std::vector<verbs::Event>{};
  }});
  if (submitted) node_.worker()->run_round();
  if (!drift.empty()) return break_promise("drift", drift.front());
  ContainerMap<CpuSet> has;
  for (const Seen& one : containers_in(node_.kernel, model_)) {
    if (!one.is_nested) has[one.id] = one.cpus;
  }
  const CpuSet pool = agent::shared_pool(*model_node_, model_.node);
  for (const ActivePod& pod : model_.node.pods) {
    for (const Container& container : pod.spec.containers) {
      const ContainerId id{pod.spec.uid, container.name};
      if (container.kind == ContainerKind::kInit || model_.removed.contains(id)) continue;
      const CpuSet* const own = model_.node.cpu.assignments.find(id);
      const CpuSet* found = has.find(id);
      if (found == nullptr && history_.has_runtime) continue;  // it is not running
      const std::string* const adopted = model_.adopted.find(id);
      auto* const idle = found != nullptr || adopted == nullptr
                             ? nullptr
                             : node_.kernel.find(group_of_directory(node_.kernel, *adopted));
      const CpuSet of_idle =
          idle == nullptr ? CpuSet() : node_.kernel.effective(*idle, "cpuset.cpus");
      if (idle != nullptr) found = &of_idle;  // admitted before it has a process, or it has ended
      if (without_groups(id.pod) != nullptr) continue;  // see check_told()
      if (found != nullptr && *found == (own == nullptr ? pool : *own)) continue;
      return break_promise("kernel", fmt::format("{}/{} has {}, expected {}", id.pod, id.name,
                                                 found == nullptr ? "no group" : found->to_string(),
                                                 (own == nullptr ? pool : *own).to_string()));
    }
  }
}

/// Checks that processes that others moved out of their group are back after a reconciliation
/// (`is_clean`: there was one without disturbance), and that a process that only reuses a number is
/// left alone.
void Runner::check_processes(bool is_clean) {
  if (outcome_.failure) return;
  for (const int stranger : strangers_) {
    if (node_.elsewhere().contains(stranger)) continue;
    return break_promise("process", fmt::format("{} was moved into a container", stranger));
  }
  if (had_fault_) {  // the record of processes is not synced
    known_.clear();
    moved_.clear();
  }
  if (!is_clean) return;
  for (const auto& [process, id] : moved_) {
    const bool has_group = has(model_, id) && !model_.removed.contains(id);
    if (!has_group || !node_.elsewhere().contains(process)) continue;
    return break_promise("process",
                         fmt::format("{} of {}/{} is not back", process, id.pod, id.name));
  }
  moved_.clear();
  known_.clear();
  for (const auto& [name, dir] : node_.kernel.find(kRoot)->children) {
    for (const auto& [container, child] : dir->children) known_.merge(std::set(child->processes));
  }
}

/// Checks that nothing is left of any pod.
void Runner::check_empty() {
  const auto seen = containers_in(node_.kernel, model_);
  if (!seen.empty()) return break_promise("leak", "the group '" + seen.front().group + "'");
  for (const auto& [name, dir] : node_.kernel.find(kRoot)->children) {
    if (enforce::pod_of_group(name)) return break_promise("leak", "the group '" + name + "'");
  }
  const AgentState& state = model_;
  const bool has_entries = !state.node.cpu.assignments.empty() || !state.node.pods.empty() ||
                           !state.removed.empty() || !state.adopted.empty() ||
                           !state.end_with_group.empty() || !state.unread.empty() ||
                           !state.ending.empty() || !state.node.held.empty();
  if (has_entries) return break_promise("leak", describe(state));
}

/// Checks that interrupts and workqueues have left exclusive CPUs; if no CPU is exclusive, that
/// they have their original values.
void Runner::check_knobs() {
  if (outcome_.failure || !history_.has_knobs) return;
  quiet::QuietDesired desired{{}, node_.online(), {}};
  const auto layout = agent::make_desired(*model_node_, model_, {}, {}).layout;
  desired.cpus.add(quiet::QuietLevel::kSystem, agent::exclusive_cpus(layout));
  for (const auto& [knob, value] : node_.knobs.values) {
    const CpuSet left = not_left(knob, value, desired).value();
    const bool is_theirs = value == node_.their_knobs.at(knob);
    if (!left.empty() || (desired.cpus.empty() && !is_theirs)) {
      return break_promise(
          "quiet", fmt::format("{} has '{}' with exclusive CPUs '{}'", to_string(knob), value,
                               desired.cpus.system.to_string()));
    }
  }
}

}  // namespace pinfold::world
