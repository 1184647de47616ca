#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "pinfold/nri_plugin/follower.hpp"
#include "pinfold/nri_pods/plan.hpp"
#include "pinfold/nri_pods/records.hpp"

namespace pinfold::nri {

/// Follows a runtime and has the agent decide and apply.
class Enforcer final : public Follower {
 public:
  explicit Enforcer(FollowerOptions options) : Follower(std::move(options)) {}

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
  /// Tells the agent where the runtime's groups are. Until the runtime has shown all its pods:
  /// nowhere.
  void show_groups(Agent& agent);

 private:
  // enforcer_gate.cpp: decides whether a container may be created and started
  [[nodiscard]] Result<void> make_room(Agent& agent, const api::PodSandbox& pod,
                                       const ContainerId& id);
  [[nodiscard]] Result<void> start_exclusive(Agent& agent, const api::StateChangeEvent& event,
                                             const ContainerId& id);
  [[nodiscard]] Result<void> start_shared(Agent& agent, const api::StateChangeEvent& event,
                                          const ContainerId& id);
  [[nodiscard]] Result<void> check_off_exclusive(const Agent& agent,
                                                 const std::string& directory) const;
  [[nodiscard]] Result<void> enter_sandbox(Agent& agent, const api::PodSandbox& pod,
                                           const ContainerId& id);
  [[nodiscard]] bool is_run_by_sandbox(const Agent& agent, const api::PodSandbox& pod,
                                       const api::Container& container,
                                       const std::string& directory) const;
  [[nodiscard]] Result<std::string> sandbox_group(const Agent& agent,
                                                  const api::PodSandbox& pod) const;
  [[nodiscard]] bool is_in_sandbox(const Agent& agent, const ContainerId& id) const;
  void leave_sandboxes(Agent& agent) const;
  void take_back(Agent& agent, const api::PodSandbox& pod, const ContainerId& id);
  void note_narrowed(const Agent& agent, const ContainerId& id);
  [[nodiscard]] CpuSet attainable(const Agent& agent, const ContainerId& id,
                                  const api::Container& container, const std::string& cpus) const;
  void fit(const Agent& agent, const ContainerId& id, const api::Container& container,
           api::LinuxCPU& cpu) const;
  void fit(const Agent& agent, api::ContainerUpdate& update) const;

  [[nodiscard]] bool knows_all_pods(const Agent& agent) const;
  Result<void> execute(Agent& agent, const AgentRequests& requests);
  void note(Agent& agent, const agent::PodNotes& notes) const;
  Result<void> execute_each(Agent& agent, const AgentRequests& requests);
  void remove(Agent& agent, const AgentRequests& requests);
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
  void adopt_running(Agent& agent);
  [[nodiscard]] static bool is_pinned_elsewhere(const Agent& agent, const agent::Desired& desired,
                                                const ContainerId& id, const CpuSet& cpus);
  void note_unpinned(const Agent& agent, const agent::Desired& desired, const ContainerId& id,
                     const api::Container& container, const std::string& directory);
  void count_unpinned(const std::string& directory, const ContainerId& id, double seconds);
  void remove_ended_pods(Agent& agent);
  void remove_ended(Agent& agent);
  /// Returns the desired CPUs of a container; empty means any.
  [[nodiscard]] static CpuSet desired_cpus(const agent::Desired& desired, const ContainerId& id);

  // enforcer_others.cpp: groups that the runtime has not shown
  [[nodiscard]] enforce::ForeignSearch search_of(const Agent& agent);
  CpuSet confine_others(Agent& agent, const std::string& also = "");
  void note_confined(Agent& agent);
  void note_confined(const Agent& agent, const agent::ConfinedNews& news);
  [[nodiscard]] static ContainerId id_of(const Agent& agent, const KnownPod& pod,
                                         const KnownContainer& container);
  struct Owner;
  [[nodiscard]] Owner owner_of(const Agent& agent, const std::string& directory) const;
  void note_unexplained(const Agent& agent);
  void note_unknown(const Agent& agent, const std::string& directory);
  void set_pod_quotas(Agent& agent) const;
  Result<verbs::Answer> run(Agent& agent, const verbs::Action& action);
  void revert(Agent& agent);

  bool is_synchronized_ = false;
  Records records_;
  /// A group that was counted as an unpinned container.
  struct Noted {
    double seconds = 0;
    bool is_named = false;  ///< the name of its container is known
  };
  std::map<std::string, Noted> noted_;
  /// Groups of created containers that had processes at the last look.
  std::set<std::string> unreported_;
  /// Confined groups, with the number of looks since then that no event has explained.
  std::map<std::string, int> unexplained_;
  std::map<std::string, std::string> unconfined_;  ///< groups, and why they are not confined
  std::set<std::string> kubepods_;    ///< directories of pods seen so far
  std::set<std::string> refused_;     ///< ids of containers that were not allowed to start
  std::map<ContainerId, std::string> narrowed_;  ///< the last line logged per container
  std::set<std::string> remaining_;              ///< what the last revert could not restore
};

/// Returns the processes of a group and of the groups below it; none if it is gone.
[[nodiscard]] std::vector<pid_t> processes_of(const agent::NodeAgent& agent,
                                              const std::string& directory);
/// Returns whether a group exists and has processes. True if it cannot be read.
[[nodiscard]] bool runs_in(const agent::NodeAgent& agent, const std::string& directory);
[[nodiscard]] bool has_exclusive_cpus(const agent::Desired& desired, const ContainerId& id);
/// "container 'c' of pod 'UID'".
[[nodiscard]] std::string title_of(const ContainerId& id);

}  // namespace pinfold::nri
