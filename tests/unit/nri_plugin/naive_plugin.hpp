#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime_world.hpp"
#include "simple_pinning.hpp"

namespace pinfold::nri::test {

/// Mistakes that plugins can make and the example does not; one at a time.
enum class Habit {
  kNone,
  kForgetsAtSynchronize,  ///< keeps only the containers that are shown
  kUpdatesByItself,       ///< sends its own request to update others, before the answer
  kClearsCpusets,         ///< no cpuset instead of all CPUs
  kRejectsSandboxes,      ///< with an error, if there are too few CPUs
};

/// The plugin of examples/nri as a follower. It assumes that its answers take effect: it has no
/// gate, reads nothing back and does not look.
class NaivePlugin : public Follower {
 public:
  NaivePlugin(RuntimeWorld& world, Habit habit)
      : Follower(world.follower_options()), world_(world), habit_(habit) {}

  api::SynchronizeResponse synchronize(Agent& /*agent*/,
                                       const api::SynchronizeRequest& request) override {
    if (habit_ == Habit::kForgetsAtSynchronize) pinning_ = new_pinning();
    pinning_.synchronize(request);
    return {};
  }
  Result<api::CreateContainerResponse> create(Agent& /*agent*/,
                                              const api::CreateContainerRequest& request) override {
    auto answer = pinning_.create(request);
    if (!answer) return answer;
    if (habit_ == Habit::kUpdatesByItself) {
      for (const api::ContainerUpdate& update : answer->update()) world_.update_by_itself(update);
      answer->clear_update();
    }
    clear(*answer->mutable_adjust()->mutable_linux()->mutable_resources()->mutable_cpu());
    return answer;
  }
  Result<api::UpdateContainerResponse> update(
      Agent& /*agent*/, const api::UpdateContainerRequest& /*request*/) override {
    return api::UpdateContainerResponse();
  }
  api::StopContainerResponse stop(Agent& /*agent*/,
                                  const api::StopContainerRequest& request) override {
    auto answer = pinning_.end(request);
    for (auto& update : *answer.mutable_update()) {
      clear(*update.mutable_linux()->mutable_resources()->mutable_cpu());
    }
    return answer;
  }
  Result<void> change(Agent& /*agent*/, const api::StateChangeEvent& event) override {
    const auto& cpu = event.pod().linux().pod_resources().cpu();
    const auto period = static_cast<std::int64_t>(cpu.period().value());
    const auto free = static_cast<std::int64_t>(pinning_.shared().size());
    if (event.event() == api::Event::RUN_POD_SANDBOX && habit_ == Habit::kRejectsSandboxes &&
        cpu.quota().value() > period * free) {
      return fail(ErrorCode::kUnsupported, "the pod does not fit");
    }
    if (event.event() == api::Event::REMOVE_CONTAINER) {
      api::StopContainerRequest end;
      *end.mutable_container() = event.container();
      (void)pinning_.end(end);
    }
    return {};
  }
  void look(Agent& /*agent*/) override {}

 private:
  static simple_pinning::SimplePinning new_pinning() { return {CpuSet::range(0, 7), CpuSet{0}}; }
  void clear(api::LinuxCPU& cpu) const {
    const bool is_all = cpu.cpus() == CpuSet::range(0, 7).to_string();
    if (habit_ == Habit::kClearsCpusets && is_all) cpu.clear_cpus();
  }

  RuntimeWorld& world_;
  Habit habit_;
  simple_pinning::SimplePinning pinning_ = new_pinning();
};

}  // namespace pinfold::nri::test
