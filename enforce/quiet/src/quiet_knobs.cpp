#include "pinfold/quiet/quiet_knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "pinfold/types/named.hpp"

namespace pinfold::quiet {
namespace {

/// Returns whether a knob does not exist, or has ended while it was used, as a cgroup does.
bool is_gone(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.sys_errno == ENODEV;
}

/// Returns whether a record differs from `kept` only in having fewer values of Pinfold for the same
/// knobs. Having more of them does no harm, and hundreds of knobs take a millisecond to store.
bool only_has_fewer_values(const KeptKnobs& record, const KeptKnobs& kept) {
  return std::equal(record.begin(), record.end(), kept.begin(), kept.end(),
                    [](const auto& one, const auto& other) {
                      return one.first == other.first && one.second.before == other.second.before &&
                             one.second.is_written == other.second.is_written;
                    });
}

/// Moves a value to another place for as long as this exists. A copy of hundreds of values would
/// take as long as the plan itself.
template <class T>
class Lent {
 public:
  Lent(T& owner, T& borrower) : owner_(owner), borrower_(borrower) { std::swap(owner, borrower); }
  ~Lent() { std::swap(owner_, borrower_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  T& owner_;
  T& borrower_;
};

}  // namespace

bool QuietKnobs::is_needed(KnobKind kind, const QuietCpus& desired) const {
  if (desired.concerns(kind) || current_.cpus.concerns(kind)) return true;
  return std::any_of(kept_.begin(), kept_.end(),
                     [kind](const auto& entry) { return entry.first.kind == kind; });
}

/// Forgets what has to be read again.
void QuietKnobs::forget(Reading reading, bool releases) {
  if (reading == Reading::kAgain) {
    known_.clear();
    read_.clear();
    refused_.clear();
    report_.unread.clear();
    return;
  }
  const auto forget_kind = [this](KnobKind kind) {
    const auto is_of_kind = [kind](const auto& entry) { return entry.first.kind == kind; };
    if (std::erase_if(known_, is_of_kind) > 0) read_.erase(kind);
  };
  forget_kind(KnobKind::kIrqbalance);               // it shows what was written only seconds later
  if (releases) forget_kind(KnobKind::kInterrupt);  // those that have begun are restored, too
  // These cgroups come and go with their containers.
  std::erase_if(known_, [](const auto& entry) { return isolates(entry.first.kind); });
  std::erase_if(report_.unread, [](const auto& entry) { return isolates(entry.first); });
}

/// Reads the kinds that a plan for `desired` needs. One that could not be read is not tried again
/// before the next reconciliation: each attempt may wait for another program.
void QuietKnobs::read(const QuietCpus& desired) {
  for (const KnobKind kind : enumerators(KnobKind())) {
    const bool is_known = read_.contains(kind) || report_.unread.contains(kind);
    if (isolates(kind) || is_known || !is_needed(kind, desired)) continue;
    auto done = store_->read(kind, known_);
    if (done) {
      read_.insert(kind);
      if (kind == KnobKind::kInterrupt) note_interrupts();
    } else {
      report_.unread.emplace(kind, std::move(done).error());
    }
  }
  read_isolation(desired);
}

/// Notes which interrupts exist when they are first read; later, which of them have ended.
void QuietKnobs::note_interrupts() {
  if (interrupts_) {
    std::erase_if(*interrupts_, [this](const Knob& knob) { return !known_.contains(knob); });
    return;
  }
  interrupts_.emplace();
  for (const auto& [knob, value] : known_) {
    if (knob.kind == KnobKind::kInterrupt) interrupts_->insert(interrupts_->end(), knob);
  }
}

/// Reads the knobs of cgroups to be isolated, and of those that have been. Most have no list of
/// exclusive CPUs: the root, or every one before Linux 6.7.
void QuietKnobs::read_isolation(const QuietCpus& desired) {
  std::set<Knob> knobs = isolation_knobs(desired);
  for (const auto& [knob, kept] : kept_) {
    if (isolates(knob.kind)) knobs.insert(knob);
  }
  for (const Knob& knob : knobs) {
    auto value = store_->read_one(knob);
    if (value) {
      known_.insert_or_assign(knob, *std::move(value));
    } else if (!is_gone(value.error())) {
      report_.unread.emplace(knob.kind, std::move(value).error());
    }
  }
}

/// Returns whether every knob that a plan changes still has the value that the plan was computed
/// from.
bool QuietKnobs::is_still(const QuietPlan& plan) const {
  const auto has_known_value = [this](const QuietStep& step) {
    return refused_.contains(step.knob) || store_->read_one(step.knob) == known_.at(step.knob);
  };
  return std::all_of(plan.leave.begin(), plan.leave.end(), has_known_value) &&
         std::all_of(plan.give_back.begin(), plan.give_back.end(), has_known_value);
}

/// Reports steps that are not executed because the current values cannot be stored.
void QuietKnobs::refuse(const std::vector<QuietStep>& steps, const QuietDesired& desired) {
  for (const QuietStep& step : steps) {
    const std::string& now = known_.at(step.knob);
    report_unquiet(step.knob, desired,
                   Error{ErrorCode::kIo, 0,
                         fmt::format("{}: not set to '{}', because its value '{}' cannot be kept: "
                                     "the state directory cannot be written",
                                     to_string(step.knob), step.value, now)});
  }
}

/// Reports units that stay on quiet CPUs because they hold containers.
void QuietKnobs::report_spared(const QuietDesired& desired) {
  for (const auto& [knob, value] : known_) {
    if (!holds_containers(knob, desired.containers)) continue;
    const auto cpus = not_left(knob, value, desired);
    if (!cpus || cpus->empty()) continue;
    report_unquiet(knob, desired,
                   Error{ErrorCode::kUnsupported, 0,
                         fmt::format("{}: stays on {}, because it holds containers: give them "
                                     "a group outside of it, such as 'kubepods.slice'",
                                     to_string(knob), cpus_named(*cpus))});
  }
}

/// Reports cgroups that cannot be partitions.
void QuietKnobs::report_unisolated(const QuietDesired& desired) {
  for (const auto& [directory, cpus] : desired.cpus.partitions) {
    const Knob knob{KnobKind::kPartition, directory};
    if (known_.contains(knob)) continue;
    report_.unquiet.insert_or_assign(
        knob, Unquiet{Error{ErrorCode::kUnsupported, 0,
                            fmt::format("{}: it has no 'cpuset.cpus.partition': expected cgroup v2",
                                        to_string(knob))},
                      cpus});
  }
}

/// Reports that a knob does not have the desired value.
void QuietKnobs::report_unquiet(const Knob& knob, const QuietDesired& desired, Error error) {
  auto cpus = not_left(knob, known_.at(knob), desired);
  report_.unquiet.insert_or_assign(knob,
                                   Unquiet{std::move(error), std::move(cpus).value_or(CpuSet())});
}

/// Reports that a knob could not be written, unless the value in effect is off quiet CPUs: every PC
/// has interrupts that cannot move and may use any CPU, but go to the first one. A value that could
/// not be restored is reported in any case.
void QuietKnobs::report_failed(const Knob& knob, const QuietDesired& desired, Error error) {
  const auto refused = refused_.find(knob);
  const bool restores = plan_.has_value();  // only give_back() writes while there is a plan
  if (!restores && refused != refused_.end()) {
    const auto cpus = not_left(knob, refused->second.effective, desired);
    if (cpus && cpus->empty()) return;
  }
  report_unquiet(knob, desired, std::move(error));
}

bool QuietKnobs::keep(KeptKnobs kept) {
  if (kept == kept_) return true;
  if (!keep_(kept)) return false;
  kept_ = std::move(kept);
  return true;
}

/// Writes a value. A knob that cannot have other CPUs is not tried again before the next
/// reconciliation.
Result<void> QuietKnobs::write_one(const QuietStep& step) {
  const auto refused = refused_.find(step.knob);
  if (refused != refused_.end()) return fail(refused->second.error);
  auto written = store_->write(step.knob, step.value);
  if (!written && written.error().code == ErrorCode::kUnsupported) {
    auto effective = store_->read_effective(step.knob).value_or(known_.at(step.knob));
    refused_.emplace(step.knob, Refused{written.error(), std::move(effective)});
  }
  return written;
}

void QuietKnobs::write(const std::vector<QuietStep>& steps, const QuietDesired& desired) {
  for (const QuietStep& step : steps) {
    auto written = write_one(step);
    if (written) {
      ++report_.written;
      known_[step.knob] = step.value;
    } else if (!is_gone(written.error())) {
      failed_.insert(step.knob);
      report_failed(step.knob, desired, std::move(written).error());
    }
  }
}

QuietPlan QuietKnobs::plan_for(const QuietDesired& desired) {
  QuietRequest request{{}, {}, {}, current_.cpus, desired, {}};
  for (const auto& [knob, value] : known_) {
    const bool is_new =
        knob.kind == KnobKind::kInterrupt && interrupts_ && !interrupts_->contains(knob);
    if (is_new) request.begun.insert(knob);
  }
  for (const auto& [kind, error] : report_.unread) request.unread.insert(kind);
  const Lent observed(known_, request.observed);
  const Lent kept(kept_, request.kept);
  return plan_quiet(request);
}

void QuietKnobs::begin(const QuietDesired& desired, Reading reading) {
  forget(reading, !desired.cpus.interrupts.contains_all(current_.cpus.interrupts));
  read(desired.cpus);
  auto plan = plan_for(desired);
  if (reading == Reading::kKnown && !is_still(plan)) return begin(desired, Reading::kAgain);
  report_.taken += plan.taken.size();
  report_.unquiet.clear();
  failed_.clear();
  // Without a record the original values could not be restored, so nothing is changed.
  if (!keep(std::move(plan.kept))) return refuse(plan.leave, desired);
  write(plan.leave, desired);
  report_spared(desired);
  report_unisolated(desired);
  current_ = desired;
  plan_ = std::move(plan);
}

void QuietKnobs::leave(const QuietDesired& desired) {
  const bool holds_some = std::any_of(kept_.begin(), kept_.end(), [&](const auto& entry) {
    return holds_containers(entry.first, desired.containers);
  });
  const bool is_inherited = read_.empty() && !kept_.empty();
  if (desired.cpus != current_.cpus || holds_some || is_inherited) {
    begin(desired, Reading::kKnown);
  }
}

void QuietKnobs::give_back() {
  if (!plan_) return;
  write(plan_->give_back, current_);
  auto after = kept_after(std::move(plan_->kept_after), kept_, failed_);
  plan_.reset();
  if (!only_has_fewer_values(after, kept_)) {
    (void)keep(std::move(after));  // if it fails, more is kept than needed
  }
  if (!current_.cpus.interrupts.empty()) return;
  interrupts_.reset();  // new ones begin with what they had before
  read_.erase(KnobKind::kInterrupt);
}

void QuietKnobs::reconcile(const QuietDesired& desired) {
  const bool has_work = !desired.cpus.empty() || !current_.cpus.empty() || !kept_.empty();
  if (has_work) begin(desired, Reading::kAgain);
  give_back();
}

}  // namespace pinfold::quiet
