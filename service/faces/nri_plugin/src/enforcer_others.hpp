#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "enforcer_part.hpp"
#include "pinfold/agent/confined_groups.hpp"
#include "pinfold/enforce/foreign.hpp"

namespace pinfold::nri {

/// Keeps groups that the runtime does not show off exclusive CPUs, and counts containers that ran
/// unknown or without their cpuset.
class OtherGroups : private EnforcerPart {
 public:
  OtherGroups(const FollowerOptions& options, const KnownPods& known,
              worker::FollowerCounters& counters, verbs::Events& events)
      : EnforcerPart(options, known, events), counters_(counters) {}

  /// Returns whether the runtime has shown all its pods.
  [[nodiscard]] bool is_synchronized() const { return is_synchronized_; }
  void set_synchronized() { is_synchronized_ = true; }
  /// Until the runtime has shown its pods, groups of held pods cannot be distinguished from others.
  [[nodiscard]] bool knows_all_pods(const Agent& agent) const;

  /// Passes the locations of the runtime's groups to the agent; none until the runtime has shown
  /// all its pods.
  void show_groups(Agent& agent);
  /// Keeps the groups of sandboxes and of unknown containers off exclusive CPUs, and `also`, even
  /// if it has no processes. Returns the exclusive CPUs on which some can still run.
  CpuSet confine_others(Agent& agent, const std::string& also = "");
  /// Logs and counts the changes to the runtime's groups. Those below the agent's root are not the
  /// runtime's.
  void note_confined(Agent& agent);
  /// Returns why a group is not confined; nullopt if it is.
  [[nodiscard]] std::optional<std::string> why_unconfined(const std::string& directory) const;

  /// Counts confined groups that no event has explained for a whole interval, because the runtime
  /// makes a group before it reports the sandbox or the start of the container. Until the runtime
  /// has shown its pods, unknown groups cannot be distinguished from sandboxes and have no names.
  void note_unexplained(const Agent& agent);
  /// Counts a running container that was unknown to the agent, if it has, or had until it was
  /// confined, other CPUs than it should. If it was counted before the runtime showed it, adds its
  /// name.
  void note_unpinned(const Agent& agent, const agent::Desired& desired, const ContainerId& id,
                     const api::Container& container, const std::string& directory);
  /// Counts the container of a group once, and each second of its time once.
  void count_unpinned(const std::string& directory, const ContainerId& id, double seconds);

 private:
  [[nodiscard]] enforce::ForeignSearch search_of(const Agent& agent);
  void note_confined(const Agent& agent, const agent::ConfinedNews& news);
  [[nodiscard]] static ContainerId id_of(const Agent& agent, const KnownPod& pod,
                                         const KnownContainer& container);
  struct Owner;
  [[nodiscard]] Owner owner_of(const Agent& agent, const std::string& directory) const;
  void note_unknown(const Agent& agent, const std::string& directory);
  [[nodiscard]] static bool is_pinned_elsewhere(const Agent& agent, const agent::Desired& desired,
                                                const ContainerId& id, const CpuSet& cpus);

  worker::FollowerCounters& counters_;
  bool is_synchronized_ = false;
  /// A group that was counted as an unpinned container.
  struct Noted {
    double seconds = 0;
    bool is_named = false;  ///< the name of its container is known
  };
  std::map<std::string, Noted> noted_;
  /// Confined groups that no event has explained, with the number of looks since then.
  std::map<std::string, int> unexplained_;
  std::map<std::string, std::string> unconfined_;  ///< groups, and why they are not confined
  std::set<std::string> kubepods_;                 ///< directories of pods seen so far
};

}  // namespace pinfold::nri
