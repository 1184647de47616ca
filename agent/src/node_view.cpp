#include "pinfold/agent/node_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "adopted_groups.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/offline.hpp"
#include "pinfold/agent/readmission.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::agent {
tl::unexpected<Error> NodeView::enforces_nothing() {
  return fail(ErrorCode::kUnsupported, "this agent has no control groups, so it enforces nothing");
}

Desired NodeView::desired() const {
  const enforce::KernelFacts facts = enforced_ ? enforced_->facts() : enforce::KernelFacts{};
  Desired desired = make_desired(*node_, state(), facts, offline_);
  desired.earlier = earlier_;
  add_partitions(state(), desired);
  return desired;
}

/// Adds the partitions that quiet CPUs ask for, by the setting or by a pod.
void NodeView::add_partitions(const AgentState& state, Desired& desired) const {
  const bool is_setting = options_.quiet == quiet::QuietLevel::kIsolated;
  if (is_setting) desired.partition = Partition::kIsolated;
  desired.has_isolated =
      is_setting || std::any_of(state.notes.begin(), state.notes.end(), [](const auto& note) {
        return note.second.quiet == quiet::QuietLevel::kIsolated;
      });
}

Result<std::vector<std::string>> NodeView::find_drift() const {
  if (!enforced_) return std::vector<std::string>{};
  PINFOLD_LET(const auto foreign, enforced_->find_foreign());
  return enforced_->find_drift(desired(), foreign);
}

std::vector<std::string> NodeView::machine_changes() const {
  if (!observed_) return {};
  auto changes =
      machine_differences(node_->machine(), *observed_, memory_sizes_of(node_->config()), offline_);
  for (std::string& line : memory_that_is_gone({}, state().node.memory, *observed_)) {
    changes.push_back(std::move(line));
  }
  return changes;
}

/// Checks that adopted groups that are missing from the next state have no processes. They are not
/// below the root, so nothing would keep processes there off exclusive CPUs. Not needed if a
/// runtime is followed: they are foreign groups then.
Result<void> NodeView::check_forgotten(const AgentState& next) const {
  if (!enforced_ || has_runtime()) return {};
  for (const auto& entry : state().adopted) {
    if (next.adopted.contains(entry.id())) continue;
    PINFOLD_TRY(enforced_->check_empty({entry.id()}));
  }
  return {};
}

/// Returns whether a container runs, or may run. Without enforcement, one with exclusive CPUs or a
/// recorded start counts as running.
bool NodeView::runs(const ContainerId& container) const {
  if (enforced_) return enforced_->has_processes(container).value_or(true);
  const ActivePod* const pod = state().node.find(container.pod);
  const CpuSet* const cpus = state().node.cpu.assignments.find(container);
  return (cpus != nullptr && !cpus->empty()) ||
         (pod != nullptr && pod->started.contains(container.name));
}

/// Checks that pods that are active with another spec lose nothing that runs, except what their
/// runtime has asked to release.
Result<void> NodeView::check_replaced(const std::vector<PodSpec>& pods, const AgentState& next,
                                      const std::vector<ContainerId>& released) const {
  for (const PodSpec& pod : pods) {
    const ActivePod* const active = state().node.find(pod.uid);
    if (active == nullptr || active->spec == pod) continue;
    const auto resources = has_runtime() ? Resizes::kKeepWhatIsThere : Resizes::kAreLosses;
    for (const Loss& loss : find_losses(*node_, state(), next, pod.uid, resources)) {
      const bool is_released =
          std::find(released.begin(), released.end(), loss.container) != released.end();
      if (!is_released && runs(loss.container))
        return fail(ErrorCode::kBusy, describe(loss, active->spec));
    }
  }
  return {};
}

Result<NodeView::Decided> NodeView::decide_all(const std::vector<PodSpec>& pods,
                                               std::vector<Trace>* traces,
                                               const FromRuntime& shown) const {
  const auto begin = now();
  Counts counts = metrics().counts;
  PINFOLD_LET(auto preview, preview_admission({*node_, offline_, observed_}, state(), pods, traces,
                                              shown, &counts));
  return Decided{std::move(preview), counts, begin};
}

/// Decides, and checks that nothing that runs loses what it has.
Result<NodeView::Decided> NodeView::decide_checked(const std::vector<PodSpec>& pods,
                                                   std::vector<Trace>* traces,
                                                   const FromRuntime& shown) const {
  PINFOLD_LET(Decided decided, decide_all(pods, traces, shown));
  PINFOLD_TRY_WRAP(check_replaced(pods, decided.next, shown.release), intent_to_admit(pods));
  PINFOLD_TRY_WRAP(check_forgotten(decided.next), intent_to_admit(pods));
  return decided;
}

Result<Preview> NodeView::preview(const std::vector<PodSpec>& pods,
                                  std::vector<Trace>* traces) const {
  PINFOLD_LET(Decided decided, decide_checked(pods, traces, {}));
  return Preview(std::move(decided));
}

Result<ResizeDecision> NodeView::preview_resize(const ResizeRequest& request, Trace* trace) const {
  const ContainerId& id = request.container;
  if (state().removed.contains(id)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("container '{}' of pod '{}' was removed", id.name, id.pod));
  }
  PINFOLD_LET(auto decision, pinfold::resize(*node_, state().node, request, trace,
                                             AdmissionChecks::kManagersAndRequests));
  if (const auto* const resized = std::get_if<Resized>(&decision)) {
    PINFOLD_TRY_WRAP(check_no_gains(state().node, resized->next, offline_),
                     fmt::format("resize container '{}'", id.name));
  }
  return decision;
}

Result<std::string> NodeView::directory_to_adopt(const PodSpec& pod,
                                                 const Adoption& adoption) const {
  if (!enforced_) {
    if (adoption.directory.starts_with('/')) return adoption.directory;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': expected an absolute path", adoption.directory));
  }
  PINFOLD_LET(std::string real,
              enforced_->check_adoptable({pod.uid, adoption.container}, adoption.directory));
  PINFOLD_TRY(check_pod_of_group(state().node, enforced_->root(), pod, adoption.container, real));
  return real;
}

Result<void> NodeView::verify(const ContainerId& container) const {
  if (!enforced_) return enforces_nothing();
  const Desired target = desired();
  PINFOLD_TRY(enforced_->verify(target, container));
  const auto own = target.layout.find(container);
  const bool is_exclusive = own != target.layout.end() && own->second.isolation != Isolation::kHost;
  return is_exclusive ? verify_quiet(container, own->second.cpus) : Result<void>();
}

/// Checks that nothing uses the CPUs of a container whose pod requires that.
Result<void> NodeView::verify_quiet(const ContainerId& container, const CpuSet& cpus) const {
  const auto note = state().notes.find(container.pod);
  const bool is_demanded =
      note != state().notes.end() && note->second.quiet == quiet::QuietLevel::kIsolated;
  if (!is_demanded || !quiet_) return {};
  for (const auto& [knob, unquiet] : quiet_->report().unquiet) {
    if (!unquiet.cpus.intersects(cpus)) continue;
    return fail(ErrorCode::kBusy,
                fmt::format("its pod requires quiet CPUs, but {}: {}",
                            cpus_named(unquiet.cpus & cpus), unquiet.error.message));
  }
  for (const auto& [kind, error] : quiet_->report().unread) {
    return fail(ErrorCode::kBusy, fmt::format("its pod requires quiet CPUs, but {}: {}",
                                              to_string(kind), error.message));
  }
  return {};
}

Result<void> NodeView::verify_room(const ContainerId& container) const {
  if (!enforced_) return enforces_nothing();
  return enforced_->verify_room(desired(), container);
}

}  // namespace pinfold::agent
