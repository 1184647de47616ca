#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/nri_plugin/follower.hpp"
#include "pinfold/nri_pods/plan.hpp"

namespace pinfold::nri {

/// Follows a runtime, decides in memory only, and compares the result with the kernel's values.
class Observer final : public Follower {
 public:
  Observer(const Node& node, FollowerOptions options);

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

 private:
  void execute(const Node& node, const AgentRequests& requests);
  void create_container(const Agent& agent, const api::PodSandbox& pod,
                        const api::Container& container);
  void take_unknown(const Agent& agent, const api::StateChangeEvent& event);
  void compare(const Agent& agent, const KnownPod& pod, const KnownContainer& container,
               verbs::Comparison& comparison) const;

  /// Returns why a container would have no exclusive CPUs. Domain: it has none in `state_`.
  [[nodiscard]] std::string why_shared(const Node& node, const ContainerId& id) const;

  bool is_synchronized_ = false;
  NodeState state_;                            ///< as if the plans had been carried out
  std::map<PodUid, std::string> why_shared_;   ///< per pod, as far as the runtime showed it
  std::map<ContainerId, std::string> logged_;  ///< the last line logged per container
};

}  // namespace pinfold::nri
