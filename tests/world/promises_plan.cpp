// Runner: requests that plan.

#include <fmt/format.h>

#include <utility>

#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "plan_model.hpp"
#include "runner.hpp"

namespace pinfold::world {

/// Returns the expected result of a dry run; nullopt: there is no plan, or the answer was
/// different.
std::optional<Planned> Runner::judge_dry_run(const Pending& dry) {
  if (!dry.answer) {
    break_promise("answer", "a dry run is not answered");
    return std::nullopt;
  }
  const Result<verbs::Answer>& answer = *dry.answer;
  note(answer ? "  planned" : "  no plan: " + answer.error().message);
  if (!answer && answer.error().message.empty()) break_promise("reason", "no plan, and no reason");
  if (is_before_unknown_ && is_undo(dry.request)) {
    if (!answer) return std::nullopt;
    const auto& planned = std::get<verbs::Reconfigured>(*answer).planned.plan;
    return Planned{planned.next, planned.evicted.empty()};
  }
  const auto expected = expect_plan(*model_node_, model_.node, offline_, dry.request, before_);
  if (answer.has_value() != expected.error.empty()) {
    break_promise("answer", answer ? "expected an error: " + expected.error
                                   : "unexpected error: " + answer.error().message);
    return std::nullopt;
  }
  if (!answer) return std::nullopt;
  const auto& outcome = std::get<verbs::Reconfigured>(*answer);
  if (outcome.is_applied) break_promise("answer", "a dry run was applied");
  if (expected.is_applied && outcome.planned.plan.next != expected.next) {
    break_promise("answer", "another plan than the pure one");
  }
  if (outcome_.failure) return std::nullopt;
  return Planned{expected.next, expected.is_applied};
}

void Runner::judge_plan(const Pending& pending) {
  const Result<verbs::Answer>& answer = *pending.answer;
  note(answer ? "  answered" : "  error: " + answer.error().message);
  if (!answer) {  // the state must not have changed
    if (answer.error().message.empty()) return break_promise("reason", "an error without a text");
    note_undecided(answer.error(), with_plan(model_, pending.planned->next));
    is_before_unknown_ = is_before_unknown_ || !undecided_.empty();
    const bool has_all_cpus = node_.online() == model_node_->machine().all_cpus();
    if (had_fault_ || !has_all_cpus || !can_apply(pending)) return;
    return break_promise("answer", "unexpected error: " + answer.error().message);
  }
  const auto& outcome = std::get<verbs::Reconfigured>(*answer);
  if (outcome.is_applied != pending.planned->is_applied) {
    return break_promise("answer", outcome.is_applied ? "applied without consent" : "not applied");
  }
  if (!outcome.is_applied) return;
  if (outcome.planned.plan.next != pending.planned->next) {
    return break_promise("answer", "another plan than that of the dry run");
  }
  take_before(pending);
  model_ = with_plan(model_, pending.planned->next);
  told_.clear();  // the runtime learns of it when the plugin reconnects
  check_enforced(*answer, pending.request);
}

/// Returns true if the kernel allows the containers to move as planned, without any overlap in
/// between.
bool Runner::can_apply(const Pending& pending) const {
  if (is_undo(pending.request) && is_before_unknown_) return false;
  const auto to = agent::make_node(model_node_->machine(),
                                   config_after(*model_node_, pending.request, before_));
  return to && can_move(*model_node_, model_, *to, with_plan(model_, pending.planned->next));
}

/// Remembers what an undo would restore from now on.
void Runner::take_before(const Pending& pending) {
  if (is_undo(pending.request) && is_before_unknown_) return;
  const Config to = config_after(*model_node_, pending.request, before_);
  if (is_repetition(*model_node_, model_.node, to, pending.planned->next)) return;
  before_ = Before{model_node_->machine(), model_node_->config(), model_.node};
  is_before_unknown_ = false;
}

bool Runner::is_undo(const verbs::Action& request) {
  const auto* const one = std::get_if<verbs::Reconfigure>(&request);
  return one != nullptr && one->undo;
}

}  // namespace pinfold::world
