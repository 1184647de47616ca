#include "pinfold/quiet/quiet_knobs.hpp"

#include <algorithm>

namespace pinfold::quiet {

bool QuietKnobs::is_needed(KnobKind kind, const QuietCpus& desired) const {
  if (!desired.of(kind).empty() || !current_.of(kind).empty()) return true;
  return std::any_of(kept_.begin(), kept_.end(),
                     [kind](const auto& entry) { return entry.first.kind == kind; });
}

QuietRequest QuietKnobs::observe(const QuietDesired& desired) {
  QuietRequest request{{}, {}, kept_, current_, desired};
  report_.unread.clear();
  for (const KnobKind kind : enumerators(KnobKind())) {
    if (!is_needed(kind, desired.cpus)) continue;
    auto read = store_->read(kind, request.observed);
    if (read) continue;
    request.unread.insert(kind);
    report_.unread.emplace(kind, std::move(read).error());
  }
  return request;
}

bool QuietKnobs::keep(KeptKnobs kept) {
  if (kept == kept_) return true;
  if (!keep_(kept)) return false;
  kept_ = std::move(kept);
  return true;
}

void QuietKnobs::write(const std::vector<QuietStep>& steps) {
  for (const QuietStep& step : steps) {
    auto written = store_->write(step.knob, step.value);
    if (written) {
      ++report_.written;
    } else if (written.error().code != ErrorCode::kNotFound) {  // else it is gone
      failed_.insert(step.knob);
      report_.unquiet.insert_or_assign(step.knob, std::move(written).error());
    }
  }
}

void QuietKnobs::begin(const QuietDesired& desired) {
  auto plan = plan_quiet(observe(desired));
  report_.taken += plan.taken.size();
  report_.unquiet.clear();
  failed_.clear();
  // Without a record what was there before could not be restored, so nothing is changed.
  if (!keep(plan.kept)) return;
  write(plan.leave);
  current_ = desired.cpus;
  plan_ = std::move(plan);
}

void QuietKnobs::leave(const QuietDesired& desired) {
  const bool holds_some = std::any_of(kept_.begin(), kept_.end(), [&](const auto& entry) {
    return holds_containers(entry.first, desired.containers);
  });
  if (desired.cpus != current_ || holds_some) begin(desired);
}

void QuietKnobs::give_back() {
  if (!plan_) return;
  write(plan_->give_back);
  (void)keep(kept_after(*plan_, failed_));  // if it fails, more is kept than needed
  plan_.reset();
}

void QuietKnobs::reconcile(const QuietDesired& desired) {
  const bool has_work = !desired.cpus.empty() || !current_.empty() || !kept_.empty();
  if (has_work) begin(desired);
  give_back();
}

}  // namespace pinfold::quiet
