#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "connection_fixture.hpp"

/// The answers that a runtime gets over the socket, even if the service is busy, stops or fails.
namespace pinfold::nri {
namespace {

using test::exclusive;
using test::NriConnection;
using test::RuntimeWorld;
using test::shared;
using testing::Contains;
using testing::HasSubstr;

/// Above 4 MiB containerd sends several messages, each with some of the pods and containers.
TEST_F(NriConnection, SynchronizesFiveHundredContainersInParts) {
  constexpr int kPods = 50;
  constexpr int kInPod = 10;
  constexpr int kPartOfPods = 10;
  start();
  run_until([&] { return runtime_->is_registered; });
  ASSERT_TRUE(ask("Configure", api::ConfigureRequest()).has_value());
  std::vector<PodSpec> pods;
  std::vector<std::string> created;
  for (int i = 0; i < kPods; ++i) {
    const bool is_exclusive = i == 7;
    std::vector<std::string> names;
    for (int k = 0; k < kInPod; ++k) {
      const std::string name = "c" + std::to_string(k);
      names.push_back(is_exclusive ? test::limited(name, k == 0 ? "2" : "100m", "1Mi")
                                   : "{name: " + name + "}");
    }
    pods.push_back(test::named("s" + std::to_string(i), names));
  }
  std::size_t containers = 0;
  for (int begin = 0; begin < kPods; begin += kPartOfPods) {
    api::SynchronizeRequest part;
    for (int i = begin; i < begin + kPartOfPods; ++i) {
      const PodSpec& spec = pods[static_cast<std::size_t>(i)];
      *part.add_pods() = world_.sandbox(spec);
      for (const Container& one : spec.containers) {
        const bool runs = i % 2 == 1;
        if (runs) world_.make_group(spec, one.name);
        api::Container shown = world_.container(spec, one.name);
        shown.set_state(runs ? api::ContainerState::CONTAINER_RUNNING
                             : api::ContainerState::CONTAINER_CREATED);
        (*shown.mutable_annotations())["config"] = std::string(30'000, 'x');
        if (!runs) created.push_back(shown.id());
        *part.add_containers() = std::move(shown);
        ++containers;
      }
    }
    ASSERT_LT(part.ByteSizeLong(), std::size_t{4} << 20U);
    ASSERT_GT(part.ByteSizeLong(), std::size_t{2} << 20U);
    const bool is_last = begin + kPartOfPods == kPods;
    part.set_more(!is_last);
    const auto payload = ask("Synchronize", part);
    ASSERT_TRUE(payload.has_value()) << payload.error().message;
    api::SynchronizeResponse answer;
    ASSERT_TRUE(answer.ParseFromString(*payload));
    EXPECT_EQ(answer.more(), !is_last);
    if (!is_last) {
      EXPECT_EQ(answer.update_size(), 0) << "not before it has all";
    }
    for (const auto& update : answer.update()) world_.put(update);
  }
  EXPECT_EQ(containers, 500U);
  for (const std::string& id : created) EXPECT_EQ(world_.record[id], "0,3-7") << id;
  EXPECT_EQ(created.size(), 250U);
  EXPECT_EQ(world_.record.size(), 250U + 4U) << "of the running ones four follow with an answer";
  for (std::size_t i = 1; i < pods.size(); i += 2) {
    for (const Container& one : pods[i].containers) {
      const std::string cpus = i == 7 && one.name == "c0" ? "1-2" : "0,3-7";
      EXPECT_EQ(world_.cpus(pods[i], one.name), cpus) << pods[i].uid.value << " " << one.name;
      const auto on_record = world_.record.find(RuntimeWorld::id_of(pods[i], one.name));
      if (on_record != world_.record.end()) {
        EXPECT_EQ(on_record->second, cpus);
      }
    }
  }
  EXPECT_TRUE(connection_->counters().is_connected);
}

/// Another synchronization makes up for a request that was not handled.
TEST_F(NriConnection, AFullQueueSynchronizesAnew) {
  start();
  connect();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(worker_
                    ->submit(worker::Task{[](const Result<agent::NodeAgent*>& /*agent*/) {
                                            return std::vector<verbs::Event>();
                                          },
                                          worker::Clock::time_point::max()})
                    .has_value());
  }
  const auto stream = runtime_->call("StateChange", sandbox_event(shared("a")));
  run_until([&] { return !connection_->counters().is_connected; }, false);
  run_until([&] { return runtime_->answers_before.contains(stream); }, false);
  EXPECT_EQ(answer_to(runtime_->answers_before.at(stream)), kAgrees);
  connect();
  EXPECT_EQ(connection_->counters().connections, 2U);
}

/// containerd ignores an error here or leaves the sandbox behind.
TEST_F(NriConnection, ASandboxIsAgreedToWhenTheServiceStops) {
  start();
  connect();
  const auto waiting = runtime_->call("StateChange", sandbox_event(shared("a")));
  run_until([&] { return worker_->waiting() > 0; }, false);
  worker_->stop();
  worker_->run();
  run_until([&] { return runtime_->answers.contains(waiting); }, false);
  EXPECT_EQ(answer_to(runtime_->answers.at(waiting)), kAgrees);
  const auto late = runtime_->call("StateChange", sandbox_event(shared("b")));
  run_until([&] { return runtime_->answers.contains(late); }, false);
  EXPECT_EQ(answer_to(runtime_->answers.at(late)), kAgrees);
  api::StateChangeEvent gate;
  gate.set_event(api::Event::START_CONTAINER);
  EXPECT_THAT(answer_to(ask("StateChange", gate)), HasSubstr("is stopping"));
}

TEST_F(NriConnection, ASandboxIsAgreedToWhenTheNodeIsReplaced) {
  start();
  connect();
  verbs::Reconfigure request;
  request.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0-1'\n";
  bool is_done = false;
  ASSERT_TRUE(worker_
                  ->submit(worker::Request{request,
                                           [&](const Result<verbs::Answer>& answer) {
                                             ASSERT_TRUE(answer) << answer.error().message;
                                             is_done = true;
                                           }})
                  .has_value());
  const auto waiting = runtime_->call("StateChange", sandbox_event(shared("a")));
  run_until([&] { return worker_->waiting() > 1; }, false);
  run_until([&] { return runtime_->answers.contains(waiting); });
  ASSERT_TRUE(is_done);
  EXPECT_TRUE(worker_->is_replaced());
  EXPECT_EQ(answer_to(runtime_->answers.at(waiting)), kAgrees);
}

/// Fails every request.
class FailingFollower final : public Follower {
 public:
  explicit FailingFollower(FollowerOptions options) : Follower(std::move(options)) {}
  api::SynchronizeResponse synchronize(Agent& /*agent*/,
                                       const api::SynchronizeRequest& /*request*/) override {
    return {};
  }
  Result<api::CreateContainerResponse> create(
      Agent& /*agent*/, const api::CreateContainerRequest& /*request*/) override {
    return fail(ErrorCode::kInternal, "broken");
  }
  Result<api::UpdateContainerResponse> update(
      Agent& /*agent*/, const api::UpdateContainerRequest& /*request*/) override {
    return api::UpdateContainerResponse();
  }
  api::StopContainerResponse stop(Agent& /*agent*/,
                                  const api::StopContainerRequest& /*request*/) override {
    return {};
  }
  Result<void> change(Agent& /*agent*/, const api::StateChangeEvent& /*event*/) override {
    return fail(ErrorCode::kInternal, "broken");
  }
  void look(Agent& /*agent*/) override {}
};

TEST_F(NriConnection, OnlyTheStartOfAContainerIsAnsweredWithAnError) {
  world_.follower = std::make_unique<FailingFollower>(world_.follower_options());
  start();
  connect();
  for (int number = 1; number < api::Event::LAST; ++number) {
    const auto event = static_cast<api::Event>(number);
    api::StateChangeEvent message;
    message.set_event(event);
    const std::string answer = answer_to(ask("StateChange", message));
    if (event == api::Event::START_CONTAINER) {
      EXPECT_THAT(answer, HasSubstr("broken"));
    } else {
      EXPECT_EQ(answer, kAgrees) << api::Event_Name(event);
    }
  }
  EXPECT_THAT(log_, Contains("NRI: RUN_POD_SANDBOX: broken"));
}

}  // namespace
}  // namespace pinfold::nri
