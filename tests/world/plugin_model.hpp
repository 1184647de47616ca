#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model.hpp"
#include "pinfold/agent/desired.hpp"
#include "pinfold/nri/messages.hpp"
#include "pinfold/service/request.hpp"

namespace pinfold::world {

/// What a plugin must make of the calls of a runtime: which changes of the state, each committed by
/// itself. It knows what the calls have told, and in place of amounts that are recovered from them
/// the pods as they are.
class PluginModel {
 public:
  using Steps = std::vector<service::Action>;
  /// The pod with this UID, if the runtime has it.
  using SpecOf = std::function<const PodSpec*(const PodUid&)>;

  explicit PluginModel(SpecOf spec_of) : spec_of_(std::move(spec_of)) {}

  /// What a call must lead to in this state. Takes note of what it tells.
  [[nodiscard]] Steps begin(const agent::AgentState& state, const nri::Request& call);
  /// What the containers of these steps have on the runtime's record.
  [[nodiscard]] const PlacesOfPods& places() const { return places_; }
  /// The call was answered, and this is the state now.
  void end(const agent::AgentState& state, const nri::Request& call);
  /// These pods have ended, and no call has told so.
  [[nodiscard]] Steps end_pods(const agent::AgentState& state, const std::vector<PodUid>& pods);

 private:
  struct Told {
    std::string name;
    std::string id;
    bool is_over = false;
  };
  struct Pod {
    PodUid uid;
    std::vector<Told> containers;  ///< one of each name, in the order in which the names came
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
