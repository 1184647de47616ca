#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "confined_groups.hpp"
#include "pinfold/nri_plugin/follower.hpp"
#include "pinfold/nri_pods/plan.hpp"
#include "pinfold/nri_pods/records.hpp"

namespace pinfold::nri {

/// Follows a runtime and lets the agent decide and apply.
class Enforcer final : public Follower {
 public:
  /// `former_pool`: the shared pool of the state that an earlier service has left.
  Enforcer(const Node& node, CpuSet former_pool, FollowerOptions options)
      : Follower(node, std::move(options)), confined_(std::move(former_pool)) {}

  [[nodiscard]] api::SynchronizeResponse synchronize(
      Agent& agent, const api::SynchronizeRequest& request) override;
  [[nodiscard]] Result<api::CreateContainerResponse> create(
      Agent& agent, const api::CreateContainerRequest& request) override;
  [[nodiscard]] api::UpdateContainerResponse update(
      Agent& agent, const api::UpdateContainerRequest& request) override;
  [[nodiscard]] api::StopContainerResponse stop(Agent& agent,
                                                const api::StopContainerRequest& request) override;
  [[nodiscard]] Result<void> change(Agent& agent, const api::StateChangeEvent& event) override;
  void look(Agent& agent) override;
  /// Running containers are about to get exclusive CPUs: what the agent does not know of leaves
  /// these for `allowed`, if it is known.
  void leave_room(const Agent& agent, const CpuSet& allowed);

 private:
  [[nodiscard]] bool knows_all_pods(const Agent& agent) const;
  Result<void> execute(Agent& agent, const AgentRequests& requests);
  void remove(Agent& agent, const AgentRequests& requests);
  void run_sandbox(Agent& agent, const api::PodSandbox& sandbox);
  [[nodiscard]] Result<void> start(Agent& agent, const api::StateChangeEvent& event);
  [[nodiscard]] Result<ContainerId> admit_unknown(Agent& agent, const api::StateChangeEvent& event);
  [[nodiscard]] bool knows(const api::Container& container) const;
  void adopt_started(Agent& agent, const api::StateChangeEvent& event);
  void adopt_unreported(Agent& agent);
  void note_stop(Agent& agent, const api::Container& container);
  void change_ended(Agent& agent, const api::StateChangeEvent& event);
  template <class Response>
  void add_records(Agent& agent, const std::string& except, Response& answer);
  void adopt_running(Agent& agent);
  void note_unpinned(const ContainerId& id, const api::Container& container, const CpuSet& desired,
                     const std::string& directory, const CpuSet& has);
  void count_unpinned(const std::string& directory, const ContainerId& id, double seconds);
  void remove_ended_pods(Agent& agent);
  void remove_ended(Agent& agent);
  /// The desired CPUs of a container; empty: any.
  [[nodiscard]] static CpuSet desired_cpus(const agent::Desired& desired, const ContainerId& id);
  [[nodiscard]] OtherSearch others_of(const Agent& agent) const;
  [[nodiscard]] static agent::Desired desired_now(const Agent& agent);
  CpuSet confine_others(const Agent& agent, const agent::Desired& desired);
  struct Owner;
  [[nodiscard]] Owner owner_of(const Agent& agent, const std::string& directory) const;
  void confine_other(const Agent& agent, const agent::Desired& desired, const OtherGroup& other,
                     CpuSet& left);
  void follow_pool(const Agent& agent, const agent::Desired& desired);
  void note_unexplained(const Agent& agent);
  void note_unknown(const Agent& agent, const std::string& directory);
  void revert(Agent& agent);

  bool is_synchronized_ = false;
  ConfinedGroups confined_;
  Records records_;
  /// A group that was counted as an unpinned container.
  struct Noted {
    double seconds = 0;
    bool is_named = false;  ///< its container was known
  };
  std::map<std::string, Noted> noted_;
  /// Groups of created containers that had processes at the last look.
  std::set<std::string> unreported_;
  /// Groups that were confined, and in how many looks since then no event had explained them.
  std::map<std::string, int> unexplained_;
};

}  // namespace pinfold::nri
