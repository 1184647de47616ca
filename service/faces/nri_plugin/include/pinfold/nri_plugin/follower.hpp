#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/nri_pods/known_pods.hpp"
#include "pinfold/nri_pods/recover.hpp"
#include "pinfold/settings/nri_settings.hpp"
#include "pinfold/verbs/event.hpp"
#include "pinfold/verbs/execute.hpp"
#include "pinfold/worker/snapshot.hpp"

namespace pinfold::nri {

/// Returns how many seconds a process of this machine has been running; 0 if unknown.
[[nodiscard]] double age_of(pid_t process);

struct FollowerOptions {
  settings::PodLevelResources pod_level = settings::PodLevelResources::kAny;
  std::string mount;  ///< mount point of the cpuset hierarchy
  agent::LogSink log;
  std::function<double(pid_t)> age = age_of;
  /// Additional directories of kubelet pods, besides those that the runtime's pods show.
  std::set<std::string> kubepods;
  /// See NriSettings.
  std::vector<std::string> handlers_without_groups;
  settings::AssignedFor assigned_for = settings::AssignedFor::kAnnotated;
};

/// Follows the requests of a runtime: plans, has the agent carry it out, and answers. Runs entirely
/// in the turns of a worker; one caller at a time.
class Follower {
 public:
  using Agent = agent::NodeAgent;

  virtual ~Follower() = default;

  /// Receives all pods of the runtime.
  [[nodiscard]] virtual api::SynchronizeResponse synchronize(
      Agent& agent, const api::SynchronizeRequest& request) = 0;
  /// Handles CreateContainer. Errors: the reason why the container cannot be created.
  [[nodiscard]] virtual Result<api::CreateContainerResponse> create(
      Agent& agent, const api::CreateContainerRequest& request) = 0;
  /// Handles UpdateContainer. Errors: the reason why the container is not resized.
  [[nodiscard]] virtual Result<api::UpdateContainerResponse> update(
      Agent& agent, const api::UpdateContainerRequest& request) = 0;
  [[nodiscard]] virtual api::StopContainerResponse stop(
      Agent& agent, const api::StopContainerRequest& request) = 0;
  /// Handles any other event. Errors: only for START_CONTAINER, the reason why the container cannot
  /// start.
  [[nodiscard]] virtual Result<void> change(Agent& agent, const api::StateChangeEvent& event) = 0;
  /// Called periodically. Finds changes that no event reports.
  virtual void look(Agent& agent) = 0;

  [[nodiscard]] const worker::FollowerCounters& counters() const { return counters_; }
  /// Returns the events since the last call.
  [[nodiscard]] verbs::Events take_events() { return std::exchange(events_, {}); }
  /// Returns the latest comparison if one was made since the last call.
  [[nodiscard]] std::optional<verbs::Comparison> take_comparison() {
    return std::exchange(comparison_, std::nullopt);
  }

 protected:
  explicit Follower(FollowerOptions options) : options_(std::move(options)) {}

  void log(agent::LogLevel level, const std::string& message) const {
    if (options_.log) options_.log(level, message);
  }
  /// Returns what is known of node and cluster at present; a reconfiguration changes the node.
  [[nodiscard]] Premises premises(const Agent& agent) const;
  [[nodiscard]] KnownPods::AgeOf age() const {
    return [this](std::uint32_t process) { return options_.age(static_cast<pid_t>(process)); };
  }
  /// Returns StopContainer, which is the only notice of a stopped container, as an event.
  [[nodiscard]] static api::StateChangeEvent event_of(const api::StopContainerRequest& request);

  FollowerOptions options_;
  KnownPods known_;
  worker::FollowerCounters counters_;
  std::optional<verbs::Comparison> comparison_;
  verbs::Events events_;
};

}  // namespace pinfold::nri
