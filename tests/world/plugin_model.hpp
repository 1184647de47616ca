#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model.hpp"
#include "pinfold/agent/desired.hpp"
#include "pinfold/nri/messages.hpp"
#include "pinfold/verbs/execute.hpp"

namespace pinfold::world {

/// Predicts what a plugin must do for the calls of a runtime: a sequence of changes of the state,
/// each committed separately. It knows what the calls have said, but uses the real pod specs
/// instead of the amounts that a plugin recovers from the calls.
class PluginModel {
 public:
  using Steps = std::vector<verbs::Action>;
  /// Returns the pod with this UID, if the runtime has it.
  using SpecOf = std::function<const PodSpec*(const PodUid&)>;

  explicit PluginModel(SpecOf spec_of) : spec_of_(std::move(spec_of)) {}

  /// Returns what a call must lead to in this state, and records what it says.
  [[nodiscard]] Steps begin(const agent::AgentState& state, const nri::PluginRequest& call);
  /// Returns the resources on the runtime's record for the containers of these steps.
  [[nodiscard]] const PlacesOfPods& places() const { return places_; }
  /// Records that the call was answered and has led to this state.
  void end(const agent::AgentState& state, const nri::PluginRequest& call);
  /// Removes pods that have ended without a call that says so.
  [[nodiscard]] Steps end_pods(const agent::AgentState& state, const std::vector<PodUid>& pods);

 private:
  struct Told {
    std::string name;
    std::string id;
    bool is_over = false;
  };
  struct Pod {
    PodUid uid;
    std::vector<Told> containers;  ///< one for each name, in order of first appearance
    bool is_from_synchronize = false;

    [[nodiscard]] Told* find(const std::string& name);
  };

  [[nodiscard]] Steps create(const agent::AgentState& state, const nri::api::PodSandbox& sandbox,
                             const nri::api::Container& container);
  [[nodiscard]] Steps synchronize(const agent::AgentState& state,
                                  const nri::api::SynchronizeRequest& request);
  [[nodiscard]] Steps change(const agent::AgentState& state,
                             const nri::api::StateChangeEvent& event);
  void end_container(const nri::api::Container& container, bool is_removed);
  /// Removes the pods that the runtime does not have.
  [[nodiscard]] Steps remove_ended(const agent::AgentState& state) const;
  void add(const nri::api::PodSandbox& sandbox, const nri::api::Container& container);
  [[nodiscard]] PodSpec part_of(const PodUid& uid, const std::vector<std::string>& names) const;

  SpecOf spec_of_;
  PlacesOfPods places_;
  std::map<std::string, Pod> pods_;  ///< by the id of their sandbox
};

}  // namespace pinfold::world
