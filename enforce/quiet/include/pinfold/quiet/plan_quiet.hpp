#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/quiet/kept_knobs.hpp"
#include "pinfold/quiet/knob.hpp"
#include "pinfold/quiet/quiet_level.hpp"
#include "pinfold/types/cpuset.hpp"

/// Plans the writes that make CPUs quiet, and those that restore them. Pure.
namespace pinfold::quiet {

/// The CPUs that are to be quiet.
struct QuietCpus {
  CpuSet interrupts = {};  ///< of containers at QuietLevel::kInterrupts or above
  CpuSet system = {};      ///< of these, those at QuietLevel::kSystem or above
  CpuSet isolated = {};    ///< of partitions, by QuietLevel::kIsolated or otherwise
  /// Cgroups of containers that are to be isolated partitions: absolute directories, with their
  /// CPUs. Groups below Pinfold's root are not among them.
  std::map<std::string, CpuSet> partitions = {};

  void add(QuietLevel level, const CpuSet& cpus);
  /// Returns the CPUs that a knob has to leave; for a kind that isolates(), those that it has to
  /// keep for partitions.
  [[nodiscard]] CpuSet of(const Knob& knob) const;
  /// Returns whether some knob of a kind has such CPUs.
  [[nodiscard]] bool concerns(KnobKind kind) const;
  [[nodiscard]] bool empty() const { return interrupts.empty(); }

  friend bool operator==(const QuietCpus&, const QuietCpus&) = default;
};

/// The desired state of a machine's knobs.
struct QuietDesired {
  QuietCpus cpus = {};
  CpuSet online;  ///< the CPUs of the machine that are online
  /// Absolute directories of the cgroups of containers, or of groups that hold them. A systemd unit
  /// that holds one is left alone: its containers could not have their CPUs.
  std::vector<std::string> containers = {};

  friend bool operator==(const QuietDesired&, const QuietDesired&) = default;
};

/// Returns true for a systemd unit that holds one of these cgroups.
[[nodiscard]] bool holds_containers(const Knob& knob, const std::vector<std::string>& directories);

/// Returns the knobs that isolate these cgroups: their own, and those of every cgroup above them.
[[nodiscard]] std::set<Knob> isolation_knobs(const QuietCpus& cpus);

/// Returns the quiet CPUs that a knob with this value has not left, or not isolated. Errors: those
/// of cpus_of.
[[nodiscard]] Result<CpuSet> not_left(const Knob& knob, std::string_view value,
                                      const QuietDesired& desired);

/// The input of a plan.
struct QuietRequest {
  KnobValues observed;             ///< knobs that may be written
  std::set<KnobKind> unread = {};  ///< kinds whose knobs could not be listed: kept as they are
  KeptKnobs kept = {};             ///< from earlier plans
  QuietCpus before = {};           ///< until now
  QuietDesired after;              ///< from now on
  std::set<Knob> begun = {};       ///< interrupts that began after a plan had seen the others
};

struct QuietStep {
  Knob knob;
  std::string value;  ///< to write

  friend bool operator==(const QuietStep&, const QuietStep&) = default;
};

/// The steps come in the order of the knobs, except that partitions end first.
struct QuietPlan {
  /// Before the containers move: leave every CPU that is quiet before or after.
  std::vector<QuietStep> leave = {};
  /// After they have moved: knobs regain CPUs that are no longer quiet.
  std::vector<QuietStep> give_back = {};
  KeptKnobs kept = {};           ///< to be stored before the first step
  KeptKnobs kept_after = {};     ///< to be stored after the last one, if none failed
  std::vector<Knob> taken = {};  ///< another program has changed what an earlier plan wrote
};

/// Computes the steps. A knob that has CPUs left keeps those; one that would have none gets every
/// CPU that is not quiet, or keeps its value if there is none. Writes only what changes, and
/// restores the earlier value, byte for byte, of a knob that has no CPU to leave. A value that
/// another program has written since counts as the earlier one. So does the earlier value for new
/// interrupts, for one that began with the CPUs that Pinfold gives new ones. Leaves alone what it
/// cannot parse. A partition begins after the containers have moved, and ends before its CPUs
/// change.
[[nodiscard]] QuietPlan plan_quiet(const QuietRequest& request);

/// Returns the records to keep after the steps: those of the plan, but for a knob whose step failed
/// the earlier record, so that its value is recognized whether or not it was written.
[[nodiscard]] KeptKnobs kept_after(KeptKnobs planned, const KeptKnobs& kept,
                                   const std::set<Knob>& failed);

}  // namespace pinfold::quiet
