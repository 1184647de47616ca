#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connection_fixture.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::nri {
namespace {

using std::chrono::milliseconds;
using test::exclusive;
using test::NriConnection;
using test::RuntimeWorld;
using test::shared;
using test::SocketRuntime;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(NriConnection, PinsAContainer) {
  start();
  connect();
  const PodSpec b = exclusive("b", 2);
  run(b);
  EXPECT_EQ(world_.cpus(b), "1-2");
  const auto counters = connection_->counters();
  EXPECT_EQ(counters.connections, 1U);
  EXPECT_GT(counters.answers.sum, 0);
  EXPECT_THAT(status_, Contains("NRI: connected to containerd 9.9"));
  api::StopContainerRequest stop;
  *stop.mutable_pod() = world_.sandbox(b);
  *stop.mutable_container() = world_.container(b);
  world_.end(b);
  ASSERT_TRUE(ask("StopContainer", stop).has_value());
  EXPECT_TRUE(worker_->snapshot()->state.adopted.empty());
  ASSERT_TRUE(send(api::Event::STOP_POD_SANDBOX, b).has_value());
  EXPECT_THAT(worker_->snapshot()->state.node.pods, IsEmpty());
}

class NriObservedConnection : public NriConnection {
 protected:
  NriObservedConnection() : NriConnection(settings::NriMode::kObserve) {}
};

TEST_F(NriObservedConnection, TheSnapshotHasTheDifferences) {
  start();
  EXPECT_EQ(worker_->snapshot()->comparison, nullptr);
  connect();
  ASSERT_NE(worker_->snapshot()->comparison, nullptr);
  EXPECT_EQ(*worker_->snapshot()->comparison, verbs::Comparison());
  const PodSpec b = exclusive("b", 2);
  run(b);
  ASSERT_TRUE(send(api::Event::POST_START_CONTAINER, b, "c").has_value());
  auto comparison = worker_->snapshot()->comparison;
  EXPECT_EQ(comparison->compared, 1U);
  ASSERT_EQ(comparison->differences.size(), 1U);
  EXPECT_EQ(comparison->differences[0].desired_cpus, (CpuSet{1, 2}));
  world_.kernel.find(world_.group(b))->files["cpuset.cpus"] = "1-2";
  run_until([&] { return worker_->snapshot()->comparison->differences.empty(); });
  EXPECT_EQ(worker_->snapshot()->comparison->compared, 1U) << "found by a look";
}

constexpr const char* kStatic = R"({"policyName":"static","defaultCpuSet":"0-7","checksum":1})";
constexpr const char* kNone = R"({"policyName":"none","defaultCpuSet":"","checksum":1})";

/// Only one of the two may decide about a node's CPUs.
TEST_F(NriConnection, AKubeletWhosePolicyBecomesStaticMakesItUnhealthy) {
  start();
  connect();
  const PodSpec b = exclusive("b", 2);
  run(b);
  EXPECT_TRUE(connection_->counters().is_healthy);
  directory_.write("cpu_manager_state", kStatic);
  run_until([&] { return connection_->counters().kubelet_is_static; });
  EXPECT_FALSE(connection_->counters().is_healthy);
  EXPECT_TRUE(connection_->counters().is_connected);
  EXPECT_THAT(status_.back(), HasSubstr("set cpuManagerPolicy: none"));
  const auto looks = std::chrono::steady_clock::now() + milliseconds(30);
  run_until([&] { return std::chrono::steady_clock::now() > looks; });
  EXPECT_THAT(log_, ElementsAre(HasSubstr("has the policy static"))) << "one line";
  EXPECT_EQ(world_.cpus(b), "1-2") << "what runs keeps its CPUs";
  api::CreateContainerRequest pinned = to_create(exclusive("d", 1));
  pinned.mutable_container()->mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus("1");
  EXPECT_THAT(ask("CreateContainer", pinned).error().message,
              HasSubstr("set cpuManagerPolicy: none"));

  runtime_->close();  // a new connection does not make it healthy
  run_until([&] { return !connection_->counters().is_connected; });
  connect();
  EXPECT_FALSE(connection_->counters().is_healthy);
  EXPECT_THAT(status_.back(), HasSubstr("set cpuManagerPolicy: none"));

  directory_.write("cpu_manager_state", kNone);
  run_until([&] { return connection_->counters().is_healthy; });
  EXPECT_FALSE(connection_->counters().kubelet_is_static);
  EXPECT_EQ(status_.back(), "NRI: connected to containerd 9.9");
}

TEST_F(NriObservedConnection, AKubeletWithTheStaticPolicyIsCompared) {
  directory_.write("cpu_manager_state", kStatic);
  start();
  connect();
  const PodSpec b = exclusive("b", 2);
  run_sandbox(b);
  api::CreateContainerRequest pinned = to_create(b);
  api::Container& container = *pinned.mutable_container();
  container.mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus("5-6");
  EXPECT_EQ(answer_to(ask("CreateContainer", pinned)), kAgrees);
  world_.put(container.id(), "5-6");
  world_.make_group(b);
  ASSERT_TRUE(send(api::Event::START_CONTAINER, b, "c").has_value());
  run_until([&] { return worker_->snapshot()->comparison->compared == 1; });
  ASSERT_EQ(worker_->snapshot()->comparison->differences.size(), 1U);
  EXPECT_EQ(worker_->snapshot()->comparison->differences[0].observed_cpus, (CpuSet{5, 6}));
  EXPECT_TRUE(connection_->counters().is_healthy);
  EXPECT_FALSE(connection_->counters().kubelet_is_static);
}

/// The runtime's shims run there, too, and no plugin may confine them.
TEST_F(NriConnection, WarnsOfARuntimeThatCanUseExclusiveCpus) {
  world_.kernel.make_path("system.slice/containerd.service");
  world_.kernel.find("system.slice/containerd.service")->has_cpuset = false;  // as its slice
  auto& slice = world_.kernel.find("system.slice")->files;
  slice["cpuset.cpus"] = "0-2";
  start();
  connect();
  const PodSpec b = exclusive("b", 2);
  run(b);
  run_until([&] { return connection_->counters().runtime_overlap == 2; });
  const auto is_warning = HasSubstr("containerd.service': the runtime, its shims");
  const auto looks = std::chrono::steady_clock::now() + milliseconds(30);
  run_until([&] { return std::chrono::steady_clock::now() > looks; });
  EXPECT_THAT(log_, ElementsAre(testing::AllOf(is_warning, HasSubstr("exclusive CPUs 1-2: "))));
  slice["cpuset.cpus"] = "0";
  run_until([&] { return connection_->counters().runtime_overlap == 0; });
  slice["cpuset.cpus"] = "0-1";
  run_until([&] { return connection_->counters().runtime_overlap == 1; });
  EXPECT_THAT(log_, ElementsAre(is_warning, is_warning)) << "it has begun again";
  runtime_group_ = "/model/nowhere";
  run_until([&] { return connection_->counters().runtime_overlap == 0; });
  EXPECT_EQ(log_.size(), 2U) << "what is not known is no warning";
}

TEST_F(NriConnection, AnErrorIsAnswered) {
  start();
  connect();
  EXPECT_THAT(create(exclusive("big", 9)), HasSubstr("is rejected"));
  const PodSpec b = exclusive("b", 2);
  EXPECT_THAT(send(api::Event::START_CONTAINER, b, "c").error().message, HasSubstr("model"));
  EXPECT_EQ(connection_->counters().create_refusals, 1U);
  EXPECT_EQ(connection_->counters().start_refusals, 1U);
}

/// Nothing is sent without a request, since containerd could hang.
TEST_F(NriConnection, UpdatesTheRuntimesRecordWithAnswers) {
  start();
  connect();
  const PodSpec a = shared("a");
  run(a);
  run_sandbox(exclusive("b", 2));
  const auto answered = ask("CreateContainer", to_create(exclusive("b", 2)));
  ASSERT_TRUE(answered.has_value());
  api::CreateContainerResponse created;
  ASSERT_TRUE(created.ParseFromString(*answered));
  ASSERT_EQ(created.update_size(), 1);
  EXPECT_EQ(created.update(0).container_id(), RuntimeWorld::id_of(a));
  EXPECT_EQ(created.update(0).linux().resources().cpu().cpus(), "0,3-7");
  ASSERT_TRUE(send(api::Event::STOP_POD_SANDBOX, exclusive("b", 2)).has_value());
  api::StopContainerRequest stop;
  *stop.mutable_pod() = world_.sandbox(shared("other"));
  *stop.mutable_container() = world_.container(shared("other"));
  const auto stopped = ask("StopContainer", stop);
  ASSERT_TRUE(stopped.has_value());
  api::StopContainerResponse response;
  ASSERT_TRUE(response.ParseFromString(*stopped));
  ASSERT_EQ(response.update_size(), 1);
  EXPECT_EQ(response.update(0).linux().resources().cpu().cpus(), "0-7");
}

/// A runtime that does not wait for the answer continues without the plugin.
TEST_F(NriConnection, WhatWasTooSlowIsFoundAfterwards) {
  start();
  connect();
  const PodSpec b = exclusive("b", 2);
  const auto stream =
      runtime_->call("CreateContainer", to_create(b).SerializeAsString(), milliseconds(20));
  const auto end = std::chrono::steady_clock::now() + milliseconds(40);
  run_until([&] { return std::chrono::steady_clock::now() > end; }, false);
  worker_->run_round();
  EXPECT_THAT(worker_->snapshot()->state.node.pods, IsEmpty()) << "too late: not done";
  run_until([&] { return runtime_->answers.contains(stream); });
  ASSERT_FALSE(runtime_->answers.at(stream).has_value());
  EXPECT_THAT(runtime_->answers.at(stream).error().message, HasSubstr("time limit"));
  runtime_->close();
  world_.run_unseen(b);
  run_until([&] { return !connection_->counters().is_connected; });
  api::SynchronizeRequest pods;
  *pods.add_pods() = world_.sandbox(b);
  api::Container container = world_.container(b);
  container.set_state(api::ContainerState::CONTAINER_RUNNING);
  *pods.add_containers() = container;
  connect(pods);
  EXPECT_EQ(world_.cpus(b), "1-2");
  EXPECT_EQ(connection_->counters().found_unpinned, 1U);
  EXPECT_EQ(connection_->counters().connections, 2U);
}

TEST_F(NriConnection, LooksWithoutARuntime) {
  start();
  connect();
  const PodSpec b = exclusive("b", 2);
  run(b);
  runtime_.reset();
  ::unlink(path_.c_str());
  runtime_.emplace(path_);
  const PodSpec unseen = shared("unseen");
  world_.run_unseen(unseen);
  run_until([&] { return world_.cpus(unseen) == "0,3-7"; });
}

TEST_F(NriConnection, WithoutARuntimeItIsUnhealthy) {
  unhealthy_after_ = std::chrono::seconds(1);
  runtime_.reset();
  ::unlink(path_.c_str());
  start();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (connection_->counters().is_healthy && std::chrono::steady_clock::now() < end) {
    io_.restart();
    io_.run_for(milliseconds(10));
    worker_->run_round();
  }
  EXPECT_FALSE(connection_->counters().is_healthy);
  EXPECT_THAT(status_, Contains(HasSubstr("no runtime for 1 s")));
  EXPECT_EQ(std::count_if(log_.begin(), log_.end(),
                          [](const auto& line) { return line.find("connect to") != line.npos; }),
            1)
      << "the same error is logged once";
  runtime_.emplace(path_);
  connect();
  EXPECT_TRUE(connection_->counters().is_healthy);
}

}  // namespace
}  // namespace pinfold::nri
