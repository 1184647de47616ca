#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "pinfold/nri_plugin/follower.hpp"

/// What the parts of the enforcer share.
namespace pinfold::nri {

/// A part of the enforcer, which owns what the references refer to.
class EnforcerPart {
 protected:
  using Agent = agent::NodeAgent;

  EnforcerPart(const FollowerOptions& options, const KnownPods& known, verbs::Events& events)
      : options_(options), known_(known), events_(events) {}

  void log(agent::LogLevel level, const std::string& message) const {
    if (options_.log) options_.log(level, message);
  }
  /// Executes an action and keeps its events.
  Result<verbs::Answer> run(Agent& agent, const verbs::Action& action) const {
    auto answer = verbs::execute(agent, action);
    if (answer) verbs::add_events(action, *answer, events_);
    return answer;
  }
  /// Checks, and if that fails reconciles and checks once more: a container may have ended during
  /// the first write.
  template <class Check>
  Result<void> ensure(Agent& agent, Check check) const {
    if (check()) return {};
    (void)run(agent, verbs::Reconcile{});
    return check();
  }

  const FollowerOptions& options_;
  const KnownPods& known_;
  verbs::Events& events_;
};

/// Returns the processes of a group and of the groups below it; none if it is gone.
[[nodiscard]] std::vector<pid_t> processes_of(const agent::NodeAgent& agent,
                                              const std::string& directory);
/// Returns whether a group exists and has processes. True if it cannot be read.
[[nodiscard]] bool runs_in(const agent::NodeAgent& agent, const std::string& directory);
[[nodiscard]] bool has_exclusive_cpus(const agent::Desired& desired, const ContainerId& id);
/// Returns the desired CPUs of a container; empty means any.
[[nodiscard]] CpuSet desired_cpus(const agent::Desired& desired, const ContainerId& id);
/// Returns "container 'c' of pod 'UID'".
[[nodiscard]] std::string title_of(const ContainerId& id);

}  // namespace pinfold::nri
