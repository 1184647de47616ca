// Runner: a runtime whose plugin is the service.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runner.hpp"
#include "samples.hpp"

namespace pinfold::world {

namespace {

constexpr int kWithoutGroups = 100;  ///< see Action::Kind::kSandbox

std::string name_in(const Action& action) { return action.value % 2 == 0 ? "a" : "b"; }

/// Returns true if an active pod with the same UID is a different one: a kubelet never reuses a
/// UID.
bool is_other_pod(const ActivePod* active, const PodSpec& pod) {
  if (active == nullptr) return false;
  return std::any_of(active->spec.containers.begin(), active->spec.containers.end(),
                     [&](const pinfold::Container& one) {
                       const pinfold::Container* const same = pod.find(one.name);
                       return same == nullptr || same->resources != one.resources;
                     });
}

/// Returns true if the service continues its work after a fault.
bool lets_go_on(const Fault& fault) {
  constexpr std::array kOthers = {Fault::Kind::kKill, Fault::Kind::kCut, Fault::Kind::kRuntime,
                                  Fault::Kind::kClock};
  return std::find(kOthers.begin(), kOthers.end(), fault.kind) == kOthers.end();
}

}  // namespace

/// Makes one call of the runtime, in a turn of the service.
bool Runner::ask(const std::function<void(nri::Follower&, agent::NodeAgent&)>& call) {
  if (node_.follower() == nullptr || !is_connected_) return false;
  bool is_answered = false;
  const auto submitted = node_.worker()->submit(worker::Task{[&](Result<agent::NodeAgent*> agent) {
    if (!agent) return std::vector<verbs::Event>{};
    in_turn_ = *agent;
    WatchedPlugin plugin(
        *node_.follower(),
        {[this](const auto& request) { begin_call(request); },
         [this](const auto& request, const auto& answer) { end_call(request, answer); }},
        bug_);
    call(plugin, **agent);
    in_turn_ = nullptr;
    is_answered = true;
    return node_.follower()->take_events();
  }});
  if (!submitted) return false;
  try {
    node_.worker()->run_round();
  } catch (const Killed&) {
    in_turn_ = nullptr;
    note("  killed");
    if (asked_) may_take_back(*std::exchange(asked_, std::nullopt));
    is_taken_back_ = false;
    calls_.ask(steps_, /*is_granted=*/false, plugin_model_.places());
    candidates_ =
        reachable(*model_node_, model_, offline_, std::exchange(steps_, {}),
                  has_other_faults_ ? Committed::kAny : Committed::kPrefix, plugin_model_.places());
    node_.bury();
  }
  const bool lives = node_.follower() != nullptr;
  if (lives && !is_answered) break_promise("answer", "a call of the runtime is not answered");
  return is_answered;
}

/// Does what the runtime does, including its calls of the plugin.
void Runner::act_in_runtime(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kSandbox:
      if (is_other_pod(model_.node.find(uid_of(action.pod)),
                       pod_of(action.pod, action.value % kWithoutGroups))) {
        return;
      }
      return runtime_.run_sandbox(action.pod, pod_of(action.pod, action.value % kWithoutGroups),
                                  action.value >= kWithoutGroups ? "kata" : "");
    case Action::Kind::kCreate:
      return runtime_.create(action.pod, name_in(action));
    case Action::Kind::kBegin:
      return runtime_.start(action.pod, name_in(action));
    case Action::Kind::kStop:
      return runtime_.stop(action.pod, name_in(action));
    case Action::Kind::kUnsandbox:
      return runtime_.remove_sandbox(action.pod);
    case Action::Kind::kConnect:
      return runtime_.synchronize();
    default:
      return;
  }
}

void Runner::runtime_round(const Action& action) {
  if (!pending_.empty()) round({});
  if (outcome_.failure) return;
  const bool is_down = node_.worker() == nullptr;
  node_.arm(action.faults);
  has_other_faults_ = std::any_of(action.faults.begin(), action.faults.end(), lets_go_on);
  has_to_create_again_ = false;
  refused_.reset();
  own_model();
  bool is_runtime_killed = false;
  const int first_new = runtime_.next_number();
  try {
    act_in_runtime(action);
  } catch (const Runtime::Killed&) {
    note("  the runtime is killed");
    is_runtime_killed = true;
  }
  had_fault_ = node_.has_failed() || std::exchange(was_revived_, false);
  is_behind_ = is_behind_ || had_fault_;
  has_failed_to_confine_ = has_failed_to_confine_ || had_fault_;
  rest_ = node_.disarm();
  node_.arm({});
  if (is_runtime_killed) runtime_.come_back();
  if (has_to_create_again_ && node_.worker() != nullptr && !outcome_.failure) {
    note("  again");
    act_in_runtime(action);
  }
  if (is_down) return forget_what_ran();
  if (node_.worker() == nullptr) {
    if (candidates_.empty()) candidates_ = {model_};  // it was killed while a gate acted
    start_again();
  } else if (!is_connected_) {
    connect();
  }
  if (outcome_.failure) return;
  expect_state(node_.worker()->snapshot()->state, /*had_fault=*/false);
  check_told();
  check_created(action, first_new);
  check_taken_back();
  check_owners();
  own_model();
  if (!is_behind_) check_overlap({false, "the action", ""});
  check_files(false);
}

/// Checks that a container that started with the plugin's consent has its CPUs and keeps them.
void Runner::check_told() {
  if (outcome_.failure) return;
  for (const auto& [number, pod] : runtime_.pods()) {
    for (const Runtime::Container& container : pod.containers) {
      if (container.phase != Runtime::Phase::kRunning || !container.is_confirmed) continue;
      const ContainerId id{pod.spec.uid, container.name};
      const CpuSet* const own = model_.node.cpu.assignments.find(id);
      const CpuSet has = own == nullptr ? CpuSet() : *own;
      const ActivePod* const active = model_.node.find(id.pod);
      const bool is_admitted = active != nullptr && active->spec.find(id.name) != nullptr;
      if (!is_admitted && !told_.contains(container.number)) continue;  // CPUs were offline
      const auto told = told_.try_emplace(container.number, has).first;
      if (told->second.empty()) told->second = has;  // it ran unplaced until now
      if (told->second != has) {
        return break_promise("lost", fmt::format("{}/{} was told {}, and has {}", id.pod, id.name,
                                                 told->second.to_string(), has.to_string()));
      }
      if (has.empty() || had_fault_ || is_behind_) continue;
      const bool has_group = pod.handler.empty();
      if (!has_group && !container.is_asked) continue;  // the plugin was not asked
      const std::string group =
          has_group ? Runtime::group_of(pod, container) : Runtime::group_of_sandbox(pod);
      const bool is_disturbed = std::any_of(
          node_.disturbed.begin(), node_.disturbed.end(),
          [&](const std::string& one) { return group == one || group.starts_with(one + "/"); });
      if (is_disturbed || node_.is_narrowed(group)) continue;
      auto* const dir = node_.kernel.find(group);
      if (dir != nullptr && !is_populated(*dir)) continue;  // see restart_stranded()
      const CpuSet cpus = dir == nullptr ? CpuSet() : node_.kernel.effective(*dir, "cpuset.cpus");
      CpuSet left = has & node_.online();  // without any it is in the shared pool
      // cgroup v1 permanently removes offline CPUs from the runtime's groups.
      const bool is_v1 = node_.kernel.version == enforce::CgroupVersion::kV1;
      if (is_v1) left &= cpus_around(group);
      // The service may learn later of CPUs that are back.
      if (cpus == left - offline_) continue;
      if (left.empty() || left == offline_ || (has_group ? cpus == left : cpus.contains_all(left)))
        continue;
      return break_promise("told", fmt::format("{} runs on {}, and was told {}", group,
                                               cpus.to_string(), has.to_string()));
    }
  }
}

/// Checks on cgroup v1 that a container does not ask for CPUs that the group around it lacks,
/// because the runtime could not create it. A container without exclusive CPUs asks for none.
void Runner::check_created(const Action& action, int first_new) {
  const bool is_creation = action.kind == Action::Kind::kCreate;
  const auto found = runtime_.pods().find(action.pod);
  if (outcome_.failure || !is_creation || had_fault_ || found == runtime_.pods().end()) return;
  if (node_.kernel.version == enforce::CgroupVersion::kV2) return;
  const Runtime::Pod& pod = found->second;
  const auto* const above = node_.kernel.find(Runtime::group_of(pod));
  for (const Runtime::Container& container : pod.containers) {
    const bool is_new = container.number >= first_new &&
                        container.phase == Runtime::Phase::kCreated && !container.cpus.empty();
    const bool is_exclusive = model_.node.cpu.assignments.contains(pod.spec.uid);
    if (!is_new || is_exclusive || above == nullptr || !pod.handler.empty()) continue;
    const CpuSet has = node_.kernel.effective(*above, "cpuset.cpus");
    if (has.contains_all(CpuSet::parse(container.cpus).value())) continue;
    return break_promise("refused", fmt::format("{} is to run on {}, and its pod has {}",
                                                container.id, container.cpus, has.to_string()));
  }
}

/// Checks that the resources of a refused container are free again.
void Runner::check_taken_back() {
  if (outcome_.failure || had_fault_ || !refused_) return;
  const CpuSet* const own = model_.node.cpu.assignments.find(*refused_);
  if (own == nullptr) return;
  break_promise("taken-back", fmt::format("{}/{} was refused, and keeps {}", refused_->pod,
                                          refused_->name, own->to_string()));
}

}  // namespace pinfold::world
