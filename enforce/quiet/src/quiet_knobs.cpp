#include "pinfold/quiet/quiet_knobs.hpp"

#include <algorithm>

namespace pinfold::quiet {

bool QuietKnobs::is_needed(KnobKind kind, const QuietCpus& desired) const {
  if (!desired.of(kind).empty() || !current_.cpus.of(kind).empty()) return true;
  return std::any_of(kept_.begin(), kept_.end(),
                     [kind](const auto& entry) { return entry.first.kind == kind; });
}

/// Reads the kinds that a plan for `desired` needs.
void QuietKnobs::read(const QuietCpus& desired, Reading reading) {
  if (reading == Reading::kAgain) {
    known_.clear();
    read_.clear();
  }
  report_.unread.clear();
  for (const KnobKind kind : enumerators(KnobKind())) {
    if (!is_needed(kind, desired) || read_.contains(kind)) continue;
    auto done = store_->read(kind, known_);
    if (done) {
      read_.insert(kind);
    } else {
      report_.unread.emplace(kind, std::move(done).error());
    }
  }
}

/// Returns whether every knob that a plan changes still has the value from which it was computed.
bool QuietKnobs::is_still(const QuietPlan& plan) const {
  const auto has_known_value = [this](const QuietStep& step) {
    return store_->read_one(step.knob) == known_.at(step.knob);
  };
  return std::all_of(plan.leave.begin(), plan.leave.end(), has_known_value) &&
         std::all_of(plan.give_back.begin(), plan.give_back.end(), has_known_value);
}

bool QuietKnobs::keep(KeptKnobs kept) {
  if (kept == kept_) return true;
  if (!keep_(kept)) return false;
  kept_ = std::move(kept);
  return true;
}

void QuietKnobs::write(const std::vector<QuietStep>& steps, const QuietDesired& desired) {
  for (const QuietStep& step : steps) {
    auto written = store_->write(step.knob, step.value);
    if (written) {
      ++report_.written;
      known_[step.knob] = step.value;
    } else if (written.error().code != ErrorCode::kNotFound) {  // else it is gone
      failed_.insert(step.knob);
      auto cpus = not_left(step.knob, known_.at(step.knob), desired);
      report_.unquiet.insert_or_assign(
          step.knob, Unquiet{std::move(written).error(), std::move(cpus).value_or(CpuSet())});
    }
  }
}

void QuietKnobs::begin(const QuietDesired& desired, Reading reading) {
  read(desired.cpus, reading);
  QuietRequest request{known_, {}, kept_, current_.cpus, desired};
  for (const auto& [kind, error] : report_.unread) request.unread.insert(kind);
  auto plan = plan_quiet(request);
  if (reading == Reading::kKnown && !is_still(plan)) return begin(desired, Reading::kAgain);
  report_.taken += plan.taken.size();
  report_.unquiet.clear();
  failed_.clear();
  // Without a record what was there before could not be restored, so nothing is changed.
  if (!keep(plan.kept)) return;
  write(plan.leave, desired);
  current_ = desired;
  plan_ = std::move(plan);
}

void QuietKnobs::leave(const QuietDesired& desired) {
  const bool holds_some = std::any_of(kept_.begin(), kept_.end(), [&](const auto& entry) {
    return holds_containers(entry.first, desired.containers);
  });
  if (desired.cpus != current_.cpus || holds_some) begin(desired, Reading::kKnown);
}

void QuietKnobs::give_back() {
  if (!plan_) return;
  write(plan_->give_back, current_);
  (void)keep(kept_after(*plan_, failed_));  // if it fails, more is kept than needed
  plan_.reset();
}

void QuietKnobs::reconcile(const QuietDesired& desired) {
  const bool has_work = !desired.cpus.empty() || !current_.cpus.empty() || !kept_.empty();
  if (has_work) begin(desired, Reading::kAgain);
  give_back();
}

}  // namespace pinfold::quiet
