#include <cstddef>
#include <string>
#include <utility>

#include "pinfold/base/delete_runs.hpp"
#include "world.hpp"

namespace pinfold::world {
namespace {

class Shrinker {
 public:
  Shrinker(History history, std::string promise, Bug bug)
      : best_(std::move(history)), promise_(std::move(promise)), bug_(bug) {}

  History shrink() && {
    std::size_t before = 0;
    do {
      before = cost_;
      delete_actions();
      simplify();
    } while (cost_ != before);
    return std::move(best_);
  }

 private:
  bool take(History next) {
    if (next == best_) return false;
    const auto outcome = run(next, Log::kOff, bug_);
    if (!outcome.failure || outcome.failure->promise != promise_) return false;
    const std::size_t last = outcome.failure->action + 1;
    if (last < next.actions.size()) next.actions.resize(last);
    best_ = std::move(next);
    ++cost_;
    return true;
  }

  void delete_actions() {
    delete_runs(best_.actions.size(), [this](std::size_t begin, std::size_t end) {
      History next = best_;
      next.actions.erase(next.actions.begin() + static_cast<std::ptrdiff_t>(begin),
                         next.actions.begin() + static_cast<std::ptrdiff_t>(end));
      (void)take(std::move(next));
      return best_.actions.size();
    });
  }

  template <class Change>
  void change(std::size_t index, const Change& change) {
    if (index >= best_.actions.size()) return;
    History next = best_;
    change(next.actions[index]);
    (void)take(std::move(next));
  }

  /// Simplifies arguments: no fault, an earlier one, smaller numbers.
  void simplify() {
    History next = best_;
    next.config = 0;
    (void)take(next);
    next = best_;
    next.cgroups = enforce::CgroupVersion::kV2;
    (void)take(next);
    for (std::size_t i = 0; i < best_.actions.size(); ++i) {
      for (std::size_t k = best_.actions[i].faults.size(); k-- > 0;) {
        change(i, [&](Action& action) {
          action.faults.erase(action.faults.begin() + static_cast<std::ptrdiff_t>(k));
        });
      }
      change(i, [](Action& action) { action.is_queued = false; });
      for (int value = 0; value < 4; ++value) {
        if (i >= best_.actions.size()) return;
        if (best_.actions[i].value > value) {
          change(i, [&](Action& action) { action.value = value; });
        }
        if (best_.actions[i].pod > value) {
          change(i, [&](Action& action) { action.pod = value; });
        }
      }
      for (std::size_t k = 0; has_fault(i, k); ++k) simplify(i, k);
    }
  }

  [[nodiscard]] bool has_fault(std::size_t index, std::size_t fault) const {
    return index < best_.actions.size() && fault < best_.actions[index].faults.size();
  }

  /// Simplifies a fault of an action: the simplest kind, an earlier moment, a smaller choice.
  void simplify(std::size_t index, std::size_t fault) {
    const auto change_fault = [&](const auto& set) {
      if (has_fault(index, fault))
        change(index, [&](Action& action) { set(action.faults[fault]); });
    };
    change_fault([](Fault& one) { one.kind = Fault::Kind::kKill; });
    for (int at = 0; has_fault(index, fault) && at < best_.actions[index].faults[fault].at; ++at) {
      change_fault([&](Fault& one) { one.at = at; });
    }
    for (int choice = 0; choice < 4; ++choice) {
      if (!has_fault(index, fault) || best_.actions[index].faults[fault].choice <= choice) return;
      change_fault([&](Fault& one) { one.choice = choice; });
    }
  }

  History best_;
  std::string promise_;
  Bug bug_;
  std::size_t cost_ = 1;  ///< incremented for every history that was kept
};

}  // namespace

History shrink(const History& history, Bug bug) {
  const auto outcome = run(history, Log::kOff, bug);
  if (!outcome.failure) return history;
  return Shrinker(history, outcome.failure->promise, bug).shrink();
}

}  // namespace pinfold::world
