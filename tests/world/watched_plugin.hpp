#pragma once

#include <functional>
#include <utility>

#include "pinfold/nri_plugin/follower.hpp"
#include "world.hpp"

namespace pinfold::world {

/// The plugin as the runtime reaches it: `watch` sees each call before and after. With
/// Bug::kRefuseAll it refuses every container.
class WatchedPlugin final : public nri::Follower {
 public:
  struct Watch {
    std::function<void(const nri::PluginRequest&)> begin;
    std::function<void(const nri::PluginRequest&, const Result<void>& answer)> end;
  };

  /// `plugin` must outlive it.
  WatchedPlugin(nri::Follower& plugin, Watch watch, Bug bug)
      : Follower(nri::FollowerOptions{}), plugin_(plugin), watch_(std::move(watch)), bug_(bug) {}

  [[nodiscard]] nri::api::SynchronizeResponse synchronize(
      Agent& agent, const nri::api::SynchronizeRequest& request) override {
    return call(request, [&] { return plugin_.synchronize(agent, request); });
  }
  [[nodiscard]] Result<nri::api::CreateContainerResponse> create(
      Agent& agent, const nri::api::CreateContainerRequest& request) override {
    return call(request, [&]() -> Result<nri::api::CreateContainerResponse> {
      if (bug_ == Bug::kRefuseAll) return fail(ErrorCode::kUnsupported, "it is refused");
      return plugin_.create(agent, request);
    });
  }
  [[nodiscard]] Result<nri::api::UpdateContainerResponse> update(
      Agent& agent, const nri::api::UpdateContainerRequest& request) override {
    return call(request, [&] { return plugin_.update(agent, request); });
  }
  [[nodiscard]] nri::api::StopContainerResponse stop(
      Agent& agent, const nri::api::StopContainerRequest& request) override {
    return call(request, [&] { return plugin_.stop(agent, request); });
  }
  [[nodiscard]] Result<void> change(Agent& agent,
                                    const nri::api::StateChangeEvent& event) override {
    return call(event, [&] { return plugin_.change(agent, event); });
  }
  void look(Agent& agent) override { plugin_.look(agent); }

 private:
  template <class T>
  [[nodiscard]] static Result<void> outcome_of(const Result<T>& answer) {
    if (answer) return {};
    return fail(answer.error());
  }
  template <class T>
  [[nodiscard]] static Result<void> outcome_of(const T& /*answer*/) {
    return {};
  }
  template <class Message, class Do>
  auto call(const Message& message, const Do& act) -> decltype(act()) {
    const nri::PluginRequest request(message);
    watch_.begin(request);
    auto answer = act();
    watch_.end(request, outcome_of(answer));
    return answer;
  }

  nri::Follower& plugin_;
  Watch watch_;
  Bug bug_;
};

}  // namespace pinfold::world
