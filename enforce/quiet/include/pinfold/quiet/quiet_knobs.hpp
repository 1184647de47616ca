#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/quiet/knob_store.hpp"
#include "pinfold/quiet/plan_quiet.hpp"

namespace pinfold::quiet {

/// Why a knob does not have the desired value.
struct Unquiet {
  Error error;
  CpuSet cpus;  ///< the quiet CPUs that it has not left
};

/// Counts of knob writes since the process started, and the knobs that differ from the desired
/// value.
struct QuietReport {
  std::uint64_t written = 0;              ///< values
  std::uint64_t taken = 0;                ///< values that another program has changed after us
  std::map<Knob, Unquiet> unquiet = {};   ///< as of the last change
  std::map<KnobKind, Error> unread = {};  ///< kinds that could not be read, likewise
};

/// The knobs of a machine while CPUs become quiet and stop being so. leave() comes before the steps
/// that move containers, give_back() after them. Failures are reported and delay nothing.
class QuietKnobs {
 public:
  /// Stores the records. Returns false if that fails; then no knob is written.
  using Keep = std::function<bool(const KeptKnobs&)>;
  /// `kept`: what an earlier process has stored.
  QuietKnobs(std::unique_ptr<KnobStore> store, KeptKnobs kept, Keep keep)
      : store_(std::move(store)), kept_(std::move(kept)), keep_(std::move(keep)) {}

  /// See KnobStore::prepare.
  void prepare() { store_->prepare(); }
  /// Moves knobs off the CPUs that are quiet now or from now on. Reads and writes nothing if no CPU
  /// becomes quiet or stops being quiet, no unit that was changed holds a container, and no earlier
  /// process has left anything. Otherwise only the knobs that it changes, or all knobs if one of
  /// those does not have its last known value.
  void leave(const QuietDesired& desired);
  /// Restores knobs of CPUs that are no longer quiet. Does nothing without a leave() before it.
  void give_back();
  /// Does both, and reads every knob again: rewrites what others have changed and what has failed.
  void reconcile(const QuietDesired& desired);

  [[nodiscard]] const QuietReport& report() const { return report_; }
  [[nodiscard]] const KeptKnobs& kept() const { return kept_; }

 private:
  /// A knob that cannot have other CPUs.
  struct Refused {
    Error error;
    std::string effective;  ///< the value that is in force
  };
  /// Whether values that were read or written earlier count, or each is read again.
  enum class Reading { kKnown, kAgain };

  void begin(const QuietDesired& desired, Reading reading);
  void forget(Reading reading, bool releases);
  void read(const QuietCpus& desired);
  void note_interrupts();
  void read_isolation(const QuietCpus& desired);
  [[nodiscard]] bool is_needed(KnobKind kind, const QuietCpus& desired) const;
  [[nodiscard]] QuietPlan plan_for(const QuietDesired& desired);
  [[nodiscard]] bool is_still(const QuietPlan& plan) const;
  [[nodiscard]] Result<void> write_one(const QuietStep& step);
  void write(const std::vector<QuietStep>& steps, const QuietDesired& desired);
  void refuse(const std::vector<QuietStep>& steps, const QuietDesired& desired);
  void report_spared(const QuietDesired& desired);
  void report_unisolated(const QuietDesired& desired);
  void report_unquiet(const Knob& knob, const QuietDesired& desired, Error error);
  void report_failed(const Knob& knob, const QuietDesired& desired, Error error);
  bool keep(KeptKnobs kept);

  std::unique_ptr<KnobStore> store_;
  KeptKnobs kept_;
  Keep keep_;
  QuietDesired current_;     ///< of the last plan
  KnobValues known_;         ///< as last read or written
  std::set<KnobKind> read_;  ///< the kinds in it
  /// Those that have existed since a plan first kept new ones off quiet CPUs.
  std::optional<std::set<Knob>> interrupts_;
  std::map<Knob, Refused> refused_;  ///< knobs that could not be written since all were read
  std::optional<QuietPlan> plan_;    ///< its leave() is done, its give_back() is not
  std::set<Knob> failed_;            ///< steps of this plan
  QuietReport report_;
};

}  // namespace pinfold::quiet
