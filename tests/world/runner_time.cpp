// Runner: the passing of time, and what must hold afterwards.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runner.hpp"

namespace pinfold::world {
namespace {

constexpr std::chrono::seconds kReconciled{301};  ///< a reconciliation is due within this time

/// Consecutive reconciliations that did nothing. The machine and the service are unchanged, so the
/// next one will do nothing either: only the last one before something happens has to run.
struct IdleRounds {
  using Clock = worker::Clock;
  std::optional<Clock::time_point> last = std::nullopt;
  Clock::duration period{0};  ///< between two of them; 0: fewer than two so far

  void add(Clock::time_point time) {
    if (last) period = time - *last;
    last = time;
  }
  [[nodiscard]] Clock::rep skippable(Clock::time_point due, Clock::time_point end) const {
    return period == Clock::duration::zero() || due >= end ? 0 : (end - due) / period;
  }
};

}  // namespace

/// Lets time pass, from one event that the service has to handle by itself to the next. The
/// operations of the action are those of all these rounds.
void Runner::wait(std::chrono::seconds time, Faults faults) {
  const auto end = node_.now() + time;
  node_.tally.time += time;
  IdleRounds idle;
  constexpr auto kNone = worker::Clock::duration::min();
  auto last = kNone;  ///< the delay that the service named before it did nothing
  while (!outcome_.failure) {
    auto due = std::max(node_.due(), node_.now());
    const auto left = due - node_.now();
    if (left == last) due = end;
    const auto skipped = idle.skippable(due, end);
    node_.tally.idle += static_cast<std::uint64_t>(skipped);
    due += skipped * idle.period;
    node_.pass_to(std::min(due, end));
    const auto before = node_.tally.operations;
    const auto reconciled = node_.tally.reconciliations;
    round(faults);
    faults = rest_;
    const bool has_reconciled = node_.tally.reconciliations > reconciled;
    if (!outcome_.failure && history_.has_runtime && has_reconciled) look();
    const auto operations = node_.tally.operations - before;
    if (operations > 0) idle = {};
    if (operations == 0 && has_reconciled) idle.add(due);
    last = kNone;
    if (operations == 0 && !has_reconciled) last = left;
    if (due >= end) return;
  }
}

/// Lets the plugin check the groups that the runtime does not report, as it does every ten seconds:
/// a pod without groups is removed, even if the runtime reported its end late or (after a fault)
/// not at all.
void Runner::look() {
  std::vector<PodUid> ended;
  for (const ActivePod& pod : model_.node.pods) {
    if (spec_of(pod.spec.uid) == nullptr) ended.push_back(pod.spec.uid);
  }
  steps_ = plugin_model_.end_pods(model_, ended);
  calls_.ask(steps_, /*is_granted=*/false, plugin_model_.places());
  (void)ask([](nri::Follower& follower, agent::NodeAgent& agent) { follower.look(agent); });
  expect_state(node_.worker()->snapshot()->state, /*had_fault=*/false);
  calls_.read(model_);
  has_failed_to_confine_ = false;
  if (!is_behind_) node_.disturbed.clear();
}

/// Ends everything that runs outside Pinfold's groups.
void Runner::end_elsewhere() {
  node_.elsewhere().clear();
  moved_.clear();
  strangers_.clear();
}

/// Ends containers that an admission with other containers has dropped, and init containers, as
/// their clients would. Restarts processes that cgroup v1 has moved out of groups without CPUs.
void Runner::end_strays() {
  for (const auto& [id, hooked] : hooked_) {
    const ActivePod* const active = model_.node.find(id.pod);
    const Container* const has = active == nullptr ? nullptr : active->spec.find(id.name);
    if (has == nullptr || has->kind == ContainerKind::kInit) end_hooked(id);
  }
  auto* const root = node_.kernel.find("pinfold");
  root->processes.clear();
  for (const auto& [pod, dir] : root->children) {
    const auto uid = enforce::pod_of_group(pod);
    if (!uid) continue;
    dir->processes.clear();
    const ActivePod* const active = model_.node.find(*uid);
    for (const auto& [name, child] : dir->children) {
      const Container* const has = active == nullptr ? nullptr : active->spec.find(name);
      const bool is_stray = has == nullptr || has->kind == ContainerKind::kInit;
      if (is_stray) node_.end_group(fmt::format("pinfold/{}/{}", pod, name));
    }
  }
}

/// cgroup v1 permanently removes a CPU that goes offline from every group. The runtime's groups are
/// not Pinfold's, so the node's operator gives them their CPUs back, and restarts the processes
/// that the kernel has moved out of their group.
void Runner::restart_stranded() {
  if (node_.kernel.version != enforce::CgroupVersion::kV1) return;
  for (const int pod : runtime_.stranded()) {
    runtime_round({Action::Kind::kUnsandbox, pod});
    if (outcome_.failure) return;
  }
  node_.widen_runtime_groups();
}

/// Checks that everything is as desired after a while without faults.
void Runner::quiet() {
  if (node_.worker() == nullptr) come_up({});
  if (outcome_.failure) return;
  node_.set_online(CpuSet::range(0, 7));
  node_.back_off();
  if (node_.kernel.version == enforce::CgroupVersion::kV2) node_.widen_runtime_groups();
  if (auto* const root = node_.kernel.find("pinfold"); root->children.contains("stranger")) {
    node_.toggle_stranger();
  }
  round({});
  if (outcome_.failure) return;
  if (history_.has_processes) end_elsewhere();
  end_strays();
  restart_stranded();
  if (outcome_.failure) return;
  round({});
  if (!offline_.empty() && !outcome_.failure) restart({});  // the service learns of CPUs at a start
  if (!outcome_.failure) wait(2 * kReconciled, {});
  const auto operations = node_.tally.operations;
  if (!outcome_.failure) wait(kReconciled, {});
  if (outcome_.failure) return;
  if (node_.tally.operations != operations) {
    return break_promise("idle", "a reconciliation of what is as it should be writes something");
  }
  submit(verbs::CheckpointJournal{});
  round({});
  check_files(true);
  check_kernel();
  check_knobs();
}

/// Ends all pods, and checks that nothing of them is left.
void Runner::end() {
  quiet();
  while (!runtime_.pods().empty() && !outcome_.failure) {
    runtime_round({Action::Kind::kUnsandbox, runtime_.pods().begin()->first});
  }
  for (const auto& [id, hooked] : std::map(hooked_)) {
    if (outcome_.failure) return;
    hook_round({Action::Kind::kHookDelete, hooked.pod, id.name == "a" ? 0 : 1});
  }
  const auto pods = model_.node.pods;
  for (const ActivePod& pod : pods) {
    if (outcome_.failure) return;
    for (const Container& container : pod.spec.containers) {
      node_.end_group(fmt::format("pinfold/pod{}/{}", pod.spec.uid, container.name));
    }
    submit(verbs::Remove{pod.spec.uid, "", agent::RunningProcesses::kRefuse});
    round({});
  }
  if (!outcome_.failure) quiet();
  if (!outcome_.failure) check_empty();
}

}  // namespace pinfold::world
