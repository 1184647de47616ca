#pragma once

#include <map>
#include <string>
#include <vector>

#include "pinfold/nri_plugin/follower.hpp"
#include "pinfold/nri_pods/plan.hpp"

namespace pinfold::nri {

/// Follows a runtime and decides in memory only; compares with what the kernel has.
class Observer final : public Follower {
 public:
  Observer(const Node& node, FollowerOptions options);

  void synchronize(Agent& agent, const api::SynchronizeRequest& request) override;
  [[nodiscard]] Result<api::CreateContainerResponse> create(
      Agent& agent, const api::CreateContainerRequest& request) override;
  [[nodiscard]] api::UpdateContainerResponse update(
      Agent& agent, const api::UpdateContainerRequest& request) override;
  [[nodiscard]] Result<void> change(Agent& agent, const api::StateChangeEvent& event) override;
  void look(Agent& agent) override;
  [[nodiscard]] std::vector<api::ContainerUpdate> updates(Agent& agent, std::size_t limit) override;
  void updated(Agent& agent, const std::vector<api::ContainerUpdate>& updates) override;

 private:
  void execute(const Node& node, const AgentRequests& requests);

  NodeState state_;                            ///< as if the plans had been done
  std::map<std::string, std::string> logged_;  ///< container id to what was logged of it
};

}  // namespace pinfold::nri
