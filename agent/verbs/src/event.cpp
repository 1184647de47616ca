#include "pinfold/verbs/event.hpp"

#include <algorithm>
#include <variant>

namespace pinfold::verbs {
namespace {

void add_moves(const Reconfigured& outcome, Events& events) {
  if (!outcome.is_applied) return;
  for (const PlannedContainer& container : outcome.planned.plan.containers) {
    const bool has_same = container.cpus_before == container.cpus_after &&
                          container.memory_before == container.memory_after;
    if (has_same || container.change == pinfold::Change::kEvicted) continue;
    events.push_back({EventKind::kMoved, container.id.pod, container.id.name});
  }
  for (const PodUid& uid : outcome.planned.plan.evicted) {
    events.push_back({EventKind::kRemoved, uid, ""});
  }
}

/// A reconciliation without drift is no event.
void add_reconciled(const agent::ReconcileReport& report, Events& events) {
  if (!report.drift.empty()) events.push_back({EventKind::kReconciled, {}, ""});
  for (const enforce::GroupName& group : report.removed) {
    events.push_back({EventKind::kRemoved, group.pod, group.container});
  }
}

}  // namespace

void add_events(const Action& action, const Answer& answer, Events& events) {
  if (const auto* const together = std::get_if<Admit>(&action)) {
    const auto& outcomes = std::get<Admissions>(answer).outcomes;
    for (std::size_t i = 0; i < together->pods.size(); ++i) {
      const EventKind kind = outcomes[i].rejection ? EventKind::kRejected : EventKind::kAdmitted;
      events.push_back({kind, together->pods[i].uid, ""});
    }
  } else if (const auto* const start = std::get_if<Start>(&action)) {
    events.push_back({EventKind::kStarted, start->container.pod, start->container.name});
  } else if (const auto* const remove = std::get_if<Remove>(&action)) {
    events.push_back({EventKind::kRemoved, remove->pod, remove->container});
  } else if (std::holds_alternative<ReleaseUnknown>(action)) {
    events.push_back({EventKind::kReleased, {}, ""});
  } else if (const auto* const report = std::get_if<agent::ReconcileReport>(&answer)) {
    add_reconciled(*report, events);
  } else if (const auto* const outcome = std::get_if<Reconfigured>(&answer)) {
    add_moves(*outcome, events);
  } else if (const auto* const resize = std::get_if<Resize>(&action)) {
    const auto& resized = std::get<agent::ResizeOutcome>(answer);
    if (resized.before == resized.after) return;
    const ContainerId& container = resize->request.container;
    events.push_back({EventKind::kMoved, container.pod, container.name});
  } else if (const auto* const adopt = std::get_if<Adopt>(&action)) {
    events.push_back({EventKind::kAdopted, adopt->pod, adopt->adoption.container});
  } else if (const auto* const admit = std::get_if<AdmitHooked>(&action)) {
    const bool is_refused = std::get<HookOutcome>(answer).has_value();
    events.push_back({is_refused ? EventKind::kRejected : EventKind::kAdmitted, admit->pod.uid,
                      admit->adoption.container});
  } else if (const auto* const prepare = std::get_if<PrepareHooked>(&action)) {
    const bool is_refused = std::holds_alternative<Refusal>(std::get<PreparedContainer>(answer));
    events.push_back({is_refused ? EventKind::kRejected : EventKind::kAdmitted, prepare->pod.uid,
                      prepare->container});
  } else if (const auto* const hooked = std::get_if<RemoveHooked>(&action)) {
    const bool is_refused = std::get<HookOutcome>(answer).has_value();
    if (is_refused) return;
    events.push_back({EventKind::kRemoved, hooked->container.pod, hooked->container.name});
  }
}

void add_events(const std::vector<agent::AdoptedGroup>& groups, const agent::GroupsAdopted& adopted,
                Events& events) {
  for (const agent::AdoptedGroup& group : groups) {
    const bool is_refused =
        std::any_of(adopted.refused.begin(), adopted.refused.end(),
                    [&](const auto& refused) { return refused.first == group.owner; });
    if (is_refused) continue;
    events.push_back({EventKind::kAdopted, group.owner.pod, group.owner.container});
  }
}

}  // namespace pinfold::verbs
