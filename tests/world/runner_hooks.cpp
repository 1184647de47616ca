// Runner: a runtime that runs the OCI hook for its containers.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "pinfold/verbs/execute.hpp"
#include "runner.hpp"
#include "samples.hpp"
#include "seen.hpp"

namespace pinfold::world {
namespace {

using agent::AgentState;

/// Returns a spelling of the group's directory.
std::string spell(const std::string& group, int spelling) {
  const std::string top = group.substr(0, group.find('/'));
  switch (spelling) {
    case 1:
      return "/model/" + top + "/../" + group;
    case 2:
      return "/model//" + group;
    case 3:
      return "/link/" + group;
    case 4:
      return "/model/./" + group + "/";
    case 5:
      return "/proc/self/root/model/" + group;
    default:
      return "/model/" + group;
  }
}

}  // namespace

/// One run of the hook.
struct Runner::Hook {
  ContainerId id;
  std::string group = {};  ///< of a new container; "": the container has ended
  int spelling = 0;        ///< of its directory
  bool is_second = false;  ///< the group belongs to another container
  PodSpec pod = {};        ///< of a new container
  bool has_ended = false;  ///< its process ends while the hook runs
  bool is_early = false;   ///< it has no process yet
  std::optional<verbs::HookOutcome> outcome = std::nullopt;  ///< nullopt: no outcome
  bool is_process = false;                                   ///< the hook opens the state
  CpuSet offline = {};                                       ///< known to the agent
  AgentState actual = {};                                    ///< the state afterwards

  [[nodiscard]] bool is_done() const { return outcome && !*outcome; }
};

void Runner::hook_round(const Action& action) {
  if (history_.has_runtime) return;  // all pods in the state directory belong to the runtime
  if (node_.worker() != nullptr) round({});
  if (outcome_.failure) return;
  start_hooked();
  if (action.kind == Action::Kind::kHookCreate) return create_hooked(action);
  delete_hooked(action);
}

/// Creates a container: its process waits in its group while the hook runs, and is killed if the
/// hook fails.
void Runner::create_hooked(const Action& action) {
  const Hooked what = Hooked::of(action.value);
  Hook hook{{uid_of(action.pod), what.container == 0 ? "a" : "b"}};
  hook.pod = pod_of(action.pod, what.shape);
  hook.spelling = what.spelling;
  hook.is_second = what.is_second;
  if (what.is_second) {
    hook.group = running_group_of_other(hook.id);
    if (hook.group.empty()) return;
  } else {
    hook.group = fmt::format("kubepods/{}/{}-{}", hook.id.pod, hook.id.name, next_hooked_++);
    hook.is_early = what.is_early;
    hook.has_ended = what.has_ended && !what.is_early;
    node_.kernel.make_path(hook.group);
    if (!hook.is_early) node_.kernel.find(hook.group)->processes = {node_.new_process()};
    waiting_.insert(hook.group);
  }
  if (hook.pod.containers.front().name != hook.id.name) end_init_containers(hook.id.pod);
  run_hook(hook, action.faults);
  if (hook.is_done() && hook.is_second) {
    return break_promise("owner", fmt::format("'{}' of another container is adopted for {}/{}",
                                              hook.group, hook.id.pod, hook.id.name));
  }
  if (hook.is_done()) {
    end_hooked(hook.id);
    hooked_[hook.id] = {action.pod, hook.group, hook.is_early};
  }
  waiting_.clear();
  judge_hook(hook);
}

/// Starts the first process of containers that were admitted without one, unless they were removed.
void Runner::start_hooked() {
  for (auto& [id, hooked] : hooked_) {
    auto* const group = node_.kernel.find(hooked.group);
    const bool is_left = group != nullptr && model_.adopted.contains(id);
    if (std::exchange(hooked.awaits_process, false) && is_left)
      group->processes = {node_.new_process()};
  }
}

/// Returns the group of another running container that the hook has admitted; "": there is none.
std::string Runner::running_group_of_other(const ContainerId& id) {
  for (const auto& [other, hooked] : hooked_) {
    if (other != id && model_.adopted.contains(other) && runs_hooked(other)) return hooked.group;
  }
  return "";
}

/// Deletes a container: it has ended, and the runtime has removed its group.
void Runner::delete_hooked(const Action& action) {
  Hook hook{{uid_of(action.pod), action.value % 2 == 0 ? "a" : "b"}};
  end_hooked(hook.id);
  if (const auto found = hooked_.find(hook.id); found != hooked_.end()) {
    (void)node_.kernel.fs()->remove_group(found->second.group);
    hooked_.erase(found);
  }
  run_hook(hook, action.faults);
  judge_hook(hook);
}

/// Ends the container's process.
void Runner::end_hooked(const ContainerId& id) {
  if (const auto found = hooked_.find(id); found != hooked_.end()) empty(found->second.group);
}

/// Ends the processes of a group, and those that cgroup v1 has moved to the pod's group.
void Runner::empty(const std::string& group) {
  node_.end_group(group);
  auto* const pod = node_.kernel.find(group.substr(0, group.rfind('/')));
  if (pod != nullptr) pod->processes.clear();
}

/// Runs the hook: through the service or, if none runs, as a process that opens the state directory
/// itself.
void Runner::run_hook(Hook& hook, const Faults& faults) {
  const bool is_down = node_.worker() == nullptr;
  const auto ask = [&](agent::NodeAgent& agent) {
    in_turn_ = &agent;
    hook.offline = agent.offline();
    hook.outcome = hook.group.empty() ? verbs::remove_hooked(agent, hook.id) : admit(hook, agent);
    hook.actual = agent.state();
    in_turn_ = nullptr;
  };
  hook.is_process = is_down;
  node_.arm(faults);
  calls_.begin_round();
  prepare_owners();
  was_disturbed_ = !node_.disturbed.empty();
  bool is_killed = false;
  Result<void> ran;
  try {
    ran = is_down ? node_.run_command(ask) : ask_service(ask);
  } catch (const Killed&) {
    is_killed = true;
    node_.bury();
    note("  killed");
  }
  in_turn_ = nullptr;
  if (is_killed) hook.outcome.reset();
  had_fault_ = node_.has_failed();
  rest_ = node_.disarm();
  is_behind_ = is_behind_ || had_fault_;
  forget_what_ran();
  const bool fails = !hook.group.empty() && !hook.is_done();
  if (fails && !hook.is_second) end_group(hook.group);
  if (!ran && !had_fault_) return break_promise("start", ran.error().message);
  if (!is_down) {
    if (node_.worker() == nullptr) start_again();
    if (!outcome_.failure) hook.actual = node_.worker()->snapshot()->state;
  } else if (is_killed || had_fault_) {  // the stored state decides
    ran = node_.run_command([&](const agent::NodeAgent& agent) { hook.actual = agent.state(); });
    if (!ran) break_promise("start", ran.error().message);
  }
}

Result<void> Runner::ask_service(const std::function<void(agent::NodeAgent&)>& call) {
  PINFOLD_TRY(node_.worker()->submit(worker::Task{[&](Result<agent::NodeAgent*> agent) {
    if (agent) call(**agent);
    return std::vector<verbs::Event>{};
  }}));
  node_.worker()->run_round();
  return {};
}

verbs::HookOutcome Runner::admit(const Hook& hook, agent::NodeAgent& agent) {
  verbs::AdmitHooked request{hook.pod, {hook.id.name, spell(hook.group, hook.spelling)}, {}};
  if (!hook.is_early) request.process = enforce::ProcessId{};
  return verbs::admit_hooked(agent, request, [&] {
    if (hook.has_ended) node_.kernel.find(hook.group)->processes.clear();
    return hook.has_ended;
  });
}

/// Removes a container whose hook has failed, as the runtime does.
void Runner::end_group(const std::string& group) {
  if (node_.kernel.find(group) == nullptr) return;  // the power was cut
  empty(group);
  (void)node_.kernel.fs()->remove_group(group);
}

/// Returns true if an admission omits a running container that a hook has admitted.
bool Runner::forgets_processes(const verbs::Action& admission) {
  const auto next = expect(*model_node_, model_, offline_, admission).next;
  return std::any_of(model_.adopted.begin(), model_.adopted.end(), [&](const auto& entry) {
    return !next.adopted.contains(entry.id()) && runs_hooked(entry.id());
  });
}

/// Returns true if a container runs for which a hook was run.
bool Runner::runs_hooked(const ContainerId& id) {
  const auto found = hooked_.find(id);
  auto* const dir = found == hooked_.end() ? nullptr : node_.kernel.find(found->second.group);
  return dir != nullptr && is_populated(*dir);
}

/// Returns true if processes run in a container's group below the root; "": in any group of the
/// pod.
bool Runner::runs_below_root(const PodUid& uid, const std::string& container) {
  auto* const pod = node_.kernel.find(fmt::format("{}/pod{}", kRoot, uid));
  if (pod == nullptr) return false;
  if (container.empty() && !pod->processes.empty()) return true;
  return std::any_of(pod->children.begin(), pod->children.end(), [&](const auto& child) {
    const bool is_meant = container.empty() || child.first == container;
    return is_meant && is_populated(*child.second);
  });
}

/// Predicts agent::remove_adopted: a pod ends with its last adopted container, but not while
/// others run in it.
AgentState Runner::without_adopted(const AgentState& state, const ContainerId& id) {
  auto others = state.adopted;
  others.erase(id);
  const bool is_last = !others.contains(id.pod) && state.ending.contains(id.pod);
  const verbs::Remove request{id.pod, is_last && !runs_below_root(id.pod, "") ? "" : id.name};
  return expect(*model_node_, state, {}, request).next;
}

/// Removes containers that have ended and that are gone in `actual`: a reconciliation and each
/// creation remove them. A reconciliation also ends pods that had to wait for other containers that
/// ran in them.
AgentState Runner::without_abandoned(AgentState state, const AgentState& actual) {
  state.notes = actual.notes;
  const auto unread = std::exchange(state.unread, actual.unread);  // each look can read them
  for (const ContainerId& id : unread) {
    if (actual.end_with_group.contains(id)) state.end_with_group.insert(id);
  }
  for (const auto& entry : ContainerMap<std::string>(state.adopted)) {
    const auto* const dir = node_.kernel.find(group_of_directory(node_.kernel, entry.value));
    const std::string* const has = actual.adopted.find(entry.id());
    const bool is_left = has != nullptr && *has == entry.value;
    const bool ends_with_group =
        state.end_with_group.contains(entry.id()) || unread.contains(entry.id());
    const bool runs = dir != nullptr && (ends_with_group || is_populated(*dir));
    if (!is_left && !runs) state = without_adopted(state, entry.id());
  }
  const auto ending = state.ending;  // a copy: it shrinks
  for (const PodUid& uid : ending) {
    const bool is_gone = actual.node.find(uid) == nullptr && !state.adopted.contains(uid);
    if (!is_gone || runs_below_root(uid, "")) continue;
    state = expect(*model_node_, state, {}, verbs::Remove{uid, ""}).next;
  }
  return state;
}

/// Returns the states that a run of the hook can lead to; the last one if it succeeds.
std::vector<AgentState> Runner::states_after(const Hook& hook) {
  const AgentState before = without_abandoned(model_, hook.actual);
  std::vector<AgentState> states = {before};
  if (hook.group.empty()) {
    if (before.adopted.contains(hook.id)) {
      states.push_back(without_adopted(before, hook.id));
    }
    return states;
  }
  AgentState admitted = before;
  const ActivePod* const active = before.node.find(hook.pod.uid);
  if (active != nullptr && active->spec != hook.pod) return states;
  if (active == nullptr) {
    auto expected = expect(*model_node_, before, hook.offline, verbs::Admit{{hook.pod}});
    admitted = std::move(expected.next);
    if (!expected.error.empty() || expected.rejections.front()) {
      states.push_back(std::move(admitted));
      return states;
    }
    admitted.ending.insert(hook.pod.uid);
  }
  admitted.adopted[hook.id] = "/model/" + hook.group;
  if (hook.is_early) {
    admitted.end_with_group.insert(hook.id);
  } else {
    admitted.end_with_group.erase(hook.id);
  }
  auto started = expect(*model_node_, admitted, hook.offline, verbs::Start{hook.id});
  for (const AgentState& one : {admitted, started.next}) {
    states.push_back(without_adopted(one, hook.id));
    states.push_back(one);
  }
  return states;
}

/// Logs a run of the hook: if it fails, its changes are undone.
void Runner::log(const Hook& hook) {
  if (!hook.is_done() && !undecided_.empty()) {  // see check_recovered()
    judge_log();
    return calls_.begin(model_node_, hook.actual);
  }
  if (hook.is_process) calls_.restart();
  std::vector<verbs::Action> steps;
  if (hook.group.empty()) {
    log_ends(hook.actual);
  } else {
    const AgentState before = without_abandoned(model_, hook.actual);
    log_ends(before);
    if (before.node.find(hook.id.pod) == nullptr) steps.emplace_back(verbs::Admit{{hook.pod}});
    steps.emplace_back(verbs::Start{hook.id});
  }
  if (!hook.is_done()) {
    steps.emplace_back(verbs::Remove{hook.id.pod, hook.id.name, {}});
    steps.emplace_back(verbs::Remove{hook.id.pod, "", {}});
  }
  calls_.ask(steps, hook.is_done());
  if (hook.is_process || !hook.outcome) calls_.restart();
  calls_.read(hook.actual);
}

void Runner::judge_hook(const Hook& hook) {
  if (outcome_.failure) return;
  note(hook.is_done()  ? "  done"
       : !hook.outcome ? "  no answer"
                       : "  refused: " + (*hook.outcome)->error.message);
  if (hook.is_done() && hook.has_ended) {
    return break_promise("answer", "the hook admits a container whose process has ended");
  }
  if (hook.is_done() && hook.group.empty() && hook.actual.adopted.contains(hook.id)) {
    return break_promise("answer", "the hook does not remove its container");
  }
  if (hook.is_done() && !hook.group.empty()) {
    const std::string* const adopted = hook.actual.adopted.find(hook.id);
    const std::string expected = "/model/" + hook.group;
    if (adopted == nullptr || *adopted != expected) {
      return break_promise("owner", fmt::format("'{}' is kept as '{}'", expected,
                                                adopted == nullptr ? "" : *adopted));
    }
  }
  auto states = states_after(hook);
  if (hook.is_done() && !hook.group.empty()) states.erase(states.begin(), states.end() - 1);
  if (!hook.is_done()) states.insert(states.end(), undecided_.begin(), undecided_.end());
  const bool is_known = std::any_of(states.begin(), states.end(), [&](AgentState one) {
    for (const ContainerId& id : hook.actual.unread) one.end_with_group.erase(id);
    return is_same(without_abandoned(std::move(one), hook.actual), hook.actual);
  });
  if (!is_known) {
    return break_promise(had_fault_ ? "lost" : "state",
                         fmt::format("after a hook: expected {}, got {}", describe(states.back()),
                                     describe(hook.actual)));
  }
  log(hook);
  if (had_fault_) undecided_.insert(undecided_.end(), states.begin(), states.end());
  model_ = hook.actual;
  own_model();
  check_owners();
  if (!is_behind_) check_overlap({false, "the hook", ""});
  check_files(false);
}

}  // namespace pinfold::world
