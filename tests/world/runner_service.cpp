// Runner: the service starts and stops.

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "runner.hpp"

namespace pinfold::world {

/// Starts a process of the service, with the remaining faults of the action.
void Runner::start_service() {
  node_.bury();
  was_disturbed_ = !node_.disturbed.empty();
  while (node_.worker() == nullptr) {
    node_.arm(rest_);
    calls_.begin_round();
    prepare_owners();
    Result<void> started;
    try {
      started = node_.start();
    } catch (const Killed&) {
      note("  killed");
      node_.bury();
    }
    const bool has_failed = node_.has_failed();
    had_fault_ = had_fault_ || has_failed;
    rest_ = node_.disarm();
    std::erase_if(rest_, [](const Fault& one) { return one.kind == Fault::Kind::kFull; });
    if (started) {
      is_behind_ = has_failed;
    } else if (!has_failed) {
      return break_promise("start", "the service does not start: " + started.error().message);
    }
  }
}

/// Starts the next process of the service after the last one has ended.
void Runner::start_again() {
  start_service();
  if (outcome_.failure) return;
  const auto& reconciled = node_.worker()->snapshot()->reconciled;
  is_behind_ = is_behind_ || !reconciled || !reconciled->has_value() ||
               !reconciled->value().remaining.empty();
  if (!is_behind_) node_.disturbed.clear();
  const bool is_first = model_node_ == nullptr;
  model_node_ = node_.shared_node();
  offline_ = node_.worker()->offline();
  if (is_first) {
    model_ = node_.worker()->snapshot()->state;
    begin_log();
  } else {
    check_recovered();
  }
  forget_what_ran();
  if (history_.has_runtime && !is_at_gate_) connect();
}

/// Connects the plugin of the service to the runtime.
void Runner::connect() {
  is_connected_ = true;
  runtime_.synchronize();
}

/// After a power cut no process runs any more.
void Runner::forget_what_ran() {
  if (std::exchange(boots_, node_.boots()) == node_.boots()) return;
  runtime_.forget();
  hooked_.clear();
  told_.clear();
  known_.clear();
  moved_.clear();
  strangers_.clear();
}

void Runner::stop_service(const Faults& faults) {
  round({});
  if (outcome_.failure) return;
  node_.arm(faults);
  prepare_owners();
  try {
    node_.stop();
  } catch (const Killed&) {
    note("  killed");
    node_.bury();
  }
  had_fault_ = node_.has_failed();
  rest_ = node_.disarm();
  (void)node_.take_notice();  // the next start checks everything
  forget_what_ran();
}

void Runner::restart(const Faults& faults) {
  stop_service(faults);
  if (!outcome_.failure) recover();
}

void Runner::come_up(const Faults& faults) {
  had_fault_ = false;
  rest_ = faults;
  recover();
}

}  // namespace pinfold::world
