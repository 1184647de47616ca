#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pinfold/gate/container.hpp"
#include "pinfold/gate/cpus.hpp"
#include "pinfold/gate/decision.hpp"

namespace pinfold::gate {

/// How a container's passage of the gate ends.
struct PassageEnd {
  bool passes = false;
  std::string_view why;  ///< the end of a sentence about the container
};

/// The passage of one container. `Host` is what the gate can do on the machine: system calls in the
/// program, a model in tests. It has these functions:
///
///     std::int64_t now_ms();
///     void pause(std::int64_t ms);
///     // Reads the kernel, and then the state, which is at least as new. Returns false if the
///     // container has ended.
///     bool look(ShownCpus& shown, std::optional<DecidedCpus>& decision);
///     // Asks the service to adopt the group. Returns whether it did before `end_ms`.
///     bool adopt(std::int64_t end_ms);
///     // Writes the CPUs of the group. Returns whether the kernel accepted them.
///     bool write(const CpuBits& cpus);
template <class Host>
class Passage {
 public:
  /// `unplaced`: what happens if the container is not placed within the time limit.
  Passage(Host& host, Unplaced unplaced, std::int64_t time_limit_ms)
      : host_(host),
        unplaced_(unplaced),
        end_ms_(host.now_ms() + time_limit_ms),
        next_ask_ms_(host.now_ms()) {}

  [[nodiscard]] PassageEnd run() {
    while (host_.look(shown_, decision_)) {
      has_read_ = has_read_ || decision_;
      if (is_shown()) return {true, is_known() ? "is placed" : "passes: nothing is decided"};
      if (host_.now_ms() >= end_ms_) return act();
      if (!ask()) host_.pause(std::clamp<std::int64_t>(end_ms_ - host_.now_ms(), 0, kPauseMs));
    }
    return {true, "has ended"};
  }
  /// Returns what the last look has observed.
  [[nodiscard]] const ShownCpus& shown() const { return shown_; }

 private:
  /// Whether the service was asked to adopt the group, and did.
  enum class Asking { kNever, kInVain, kDone };
  static constexpr std::int64_t kPauseMs = 5;
  static constexpr std::int64_t kAskPauseMs = 250;

  /// Without a snapshot, the service's answer counts. Without either, containers that ask for no
  /// exclusive CPUs pass. False if only this look could not read the snapshot: the decision still
  /// holds, and newer ones may exist.
  [[nodiscard]] bool is_shown() const {
    if (decision_) return is_placed(decision_, shown_);
    if (has_read_) return false;
    return asked_ == Asking::kDone || (asked_ == Asking::kInVain && !shown_.asks_exclusive);
  }
  [[nodiscard]] bool is_known() const { return decision_ || asked_ == Asking::kDone; }
  /// Asks the service, unless it was asked a moment ago. Returns whether it was asked.
  bool ask() {
    if (host_.now_ms() < next_ask_ms_) return false;
    asked_ = host_.adopt(end_ms_) ? Asking::kDone : Asking::kInVain;
    next_ask_ms_ = host_.now_ms() + kAskPauseMs;
    return true;
  }
  [[nodiscard]] PassageEnd act() {
    switch (unplaced_) {
      case Unplaced::kAllow:
        return {true, "is unplaced, but allowed to start"};
      case Unplaced::kConfine:
        return confine();
      case Unplaced::kRefuse:
        break;
    }
    return {false, "is unplaced, so it is refused: 'pinfold status' shows what was decided"};
  }
  [[nodiscard]] PassageEnd confine() {
    const CpuBits cpus = confinement(decision_, shown_.effective);
    if (!decision_)
      return {false, "is refused: there is no snapshot, so the shared pool is unknown"};
    if (cpus.empty()) return {false, "is refused: all its CPUs are exclusive to others"};
    if (!host_.write(cpus) || !host_.look(shown_, decision_)) {
      return {false, "is refused: the kernel does not accept other CPUs for its group"};
    }
    shown_.asks_exclusive = false;
    if (decision_ && is_placed(decision_, shown_)) return {true, "is confined"};
    return {false, "is refused: it could not be confined"};
  }

  Host& host_;
  Unplaced unplaced_;
  std::int64_t end_ms_;
  std::int64_t next_ask_ms_;
  Asking asked_ = Asking::kNever;
  bool has_read_ = false;  ///< a snapshot, in any look
  ShownCpus shown_;
  std::optional<DecidedCpus> decision_;
};

}  // namespace pinfold::gate
