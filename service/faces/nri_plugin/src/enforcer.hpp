#pragma once

#include <set>
#include <string>
#include <utility>

#include "enforcer_execution.hpp"
#include "enforcer_gate.hpp"
#include "enforcer_others.hpp"
#include "enforcer_sandboxes.hpp"
#include "pinfold/nri_plugin/follower.hpp"
#include "pinfold/nri_pods/records.hpp"

namespace pinfold::nri {

/// Follows a runtime and has the agent decide and apply.
class Enforcer final : public Follower {
 public:
  explicit Enforcer(FollowerOptions options) : Follower(std::move(options)) {}
  Enforcer(const Enforcer&) = delete;
  Enforcer& operator=(const Enforcer&) = delete;
  ~Enforcer() override = default;

  [[nodiscard]] api::SynchronizeResponse synchronize(
      Agent& agent, const api::SynchronizeRequest& request) override;
  [[nodiscard]] Result<api::CreateContainerResponse> create(
      Agent& agent, const api::CreateContainerRequest& request) override;
  [[nodiscard]] Result<api::UpdateContainerResponse> update(
      Agent& agent, const api::UpdateContainerRequest& request) override;
  [[nodiscard]] api::StopContainerResponse stop(Agent& agent,
                                                const api::StopContainerRequest& request) override;
  [[nodiscard]] Result<void> change(Agent& agent, const api::StateChangeEvent& event) override;
  void look(Agent& agent) override;
  /// Passes the locations of the runtime's groups to the agent: see OtherGroups.
  void show_groups(Agent& agent) { others_.show_groups(agent); }

 private:
  void run_sandbox(Agent& agent, const api::PodSandbox& sandbox);
  [[nodiscard]] Result<ContainerId> start(Agent& agent, const api::StateChangeEvent& event);
  [[nodiscard]] Result<ContainerId> admit_unknown(Agent& agent, const api::StateChangeEvent& event);
  [[nodiscard]] bool knows(const api::Container& container) const;
  void adopt_started(Agent& agent, const api::StateChangeEvent& event);
  void adopt_unreported(Agent& agent);
  void note_stop(Agent& agent, const api::Container& container);
  void change_ended(Agent& agent, const api::StateChangeEvent& event);
  template <class Response>
  void add_records(Agent& agent, const std::string& except, Response& answer);
  [[nodiscard]] std::optional<agent::AdoptedGroup> find_unadopted(Agent& agent,
                                                                  const agent::Desired& desired,
                                                                  const api::PodSandbox& sandbox,
                                                                  const api::Container& shown,
                                                                  const ContainerId& id);
  void adopt_running(Agent& agent);
  void remove_ended_pods(Agent& agent);
  void remove_ended(Agent& agent);
  void set_pod_quotas(Agent& agent) const;
  void revert(Agent& agent);

  OtherGroups others_{options_, known_, counters_, events_};
  Sandboxes sandboxes_{options_, known_, events_};
  Gate gate_{options_, known_, others_, sandboxes_, events_};
  Execution execution_{options_, known_, others_, sandboxes_, events_};
  Records records_;
  /// Groups of created containers that had processes at the last look.
  std::set<std::string> unreported_;
  std::set<std::string> had_own_group_;  ///< ids of containers that ran in their own group
  std::set<std::string> refused_;        ///< ids of containers that were not allowed to start
  std::set<std::string> remaining_;      ///< what the last revert could not restore
};

}  // namespace pinfold::nri
