#include "pinfold/agent/node_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pinfold/agent/assigned_files.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/kept_state.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/offline.hpp"
#include "pinfold/agent/readmission.hpp"
#include "pinfold/quiet/quiet_knobs.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::agent {

NodeView::NodeView(Node node, std::unique_ptr<KeptState> kept,
                   std::unique_ptr<EnforcedLayout> enforced, AgentOptions options, CpuSet offline,
                   std::optional<Machine> observed)
    : node_(std::make_shared<const Node>(std::move(node))),
      kept_(std::move(kept)),
      enforced_(std::move(enforced)),
      options_(std::move(options)),
      offline_(std::move(offline)),
      observed_(std::move(observed)),
      assigned_(std::make_unique<AssignedFiles>(options_.assigned_dir)) {}

NodeView::NodeView(NodeView&&) noexcept = default;
NodeView& NodeView::operator=(NodeView&&) noexcept = default;
NodeView::~NodeView() = default;

const AgentState& NodeView::state() const { return kept_->state(); }

const Metrics& NodeView::metrics() const { return kept_->metrics(); }

const ObservedCgroups* NodeView::enforced() const {
  return enforced_ ? &enforced_->observed() : nullptr;
}

quiet::KeptKnobs NodeView::kept_knobs() const { return kept_->knobs(); }

const quiet::QuietReport* NodeView::quiet_report() const {
  return quiet_ ? &quiet_->report() : nullptr;
}

const std::shared_ptr<const EarlierNode>& NodeView::before() const { return kept_->before(); }

bool NodeView::has_runtime() const { return enforced_ && enforced_->has_foreign_search(); }

tl::unexpected<Error> NodeView::enforces_nothing() {
  return fail(ErrorCode::kUnsupported, "this agent has no control groups, so it enforces nothing");
}

Desired NodeView::desired() const {
  const enforce::KernelFacts facts =
      enforced_ ? enforced_->observed().facts() : enforce::KernelFacts{};
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
  PINFOLD_LET(const auto foreign, enforced_->observed().find_foreign());
  return enforced_->observed().find_drift(desired(), foreign);
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

Result<ResizeDecision> NodeView::preview_resize(const ResizeRequest& request, Trace* trace) const {
  const ContainerId& id = request.container;
  if (state().removed.contains(id)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("container '{}' of pod '{}' was removed", id.name, id.pod));
  }
  PINFOLD_LET(auto decision, pinfold::resize(*node_, state().node, request, trace,
                                             AdmissionChecks::kManagersAndRequests));
  if (auto* const refused = std::get_if<NotResized>(&decision)) {
    if (offline_.empty()) advise_nearest(*node_, state().node, request, *refused);
  } else if (const auto* const resized = std::get_if<Resized>(&decision)) {
    PINFOLD_TRY_WRAP(check_no_gains(state().node, resized->next, offline_),
                     fmt::format("resize container '{}'", id.name));
  }
  return decision;
}

Result<void> NodeView::verify(const ContainerId& container) const {
  if (!enforced_) return enforces_nothing();
  const Desired target = desired();
  PINFOLD_TRY(enforced_->observed().verify(target, container));
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
  return enforced_->observed().verify_room(desired(), container);
}

}  // namespace pinfold::agent
