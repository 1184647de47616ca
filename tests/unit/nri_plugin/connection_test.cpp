#include "pinfold/nri_plugin/connection.hpp"

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

#include "pinfold/base/unique_fd.hpp"
#include "runtime_world.hpp"
#include "socket_runtime.hpp"

/// The plugin over its socket: a runtime in this process, and the worker's rounds one by one.
namespace pinfold::nri {
namespace {

using std::chrono::milliseconds;
using test::exclusive;
using test::RuntimeWorld;
using test::shared;
using test::SocketRuntime;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class NriConnection : public testing::Test {
 protected:
  explicit NriConnection(service::NriMode mode = service::NriMode::kEnforce)
      : world_(enforce::CgroupVersion::kV2, mode) {}
  void SetUp() override {
    runtime_.emplace(path_);
    service::WorkerOptions worker_options;
    worker_options.queue_limit = 4;
    worker_ =
        std::make_unique<service::Worker>(std::move(*world_.agent), std::move(worker_options));
    world_.agent.reset();
    worker_->run_round();
  }
  ~NriConnection() override {
    connection_.reset();
    io_.stop();
  }
  void start() {
    ConnectionOptions options;
    options.settings.socket = path_;
    options.settings.unhealthy_after = unhealthy_after_;
    options.least_pause = milliseconds(1);
    options.greatest_pause = milliseconds(4);
    options.look_every = milliseconds(5);
    options.log = [this](agent::LogLevel level, std::string_view message) {
      if (level >= agent::LogLevel::kWarning) log_.emplace_back(message);
    };
    options.status = [this](const std::string& line) { status_.push_back(line); };
    auto started =
        RuntimeConnection::start(io_, *worker_, std::move(world_.follower), std::move(options));
    ASSERT_TRUE(started.has_value()) << started.error().message;
    connection_ = *std::move(started);
  }
  /// `works`: whether the worker has its turns.
  void run_until(const std::function<bool()>& is_so, bool works = true) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_so()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "not within 30 seconds";
      io_.restart();
      io_.run_for(milliseconds(1));
      runtime_->poll();
      if (works) worker_->run_round();
    }
  }
  Result<std::string> ask(const std::string& method, const google::protobuf::MessageLite& message) {
    const auto stream = runtime_->call(method, message.SerializeAsString());
    run_until([&] { return runtime_->answers.contains(stream); });
    return runtime_->answers.at(stream);
  }
  /// Up to the end of the synchronization.
  void connect(const api::SynchronizeRequest& pods = {}) {
    run_until([&] { return runtime_->is_registered; });
    api::ConfigureRequest configure;
    configure.set_runtime_name("containerd");
    configure.set_runtime_version("9.9");
    api::ConfigureResponse events;
    ASSERT_TRUE(events.ParseFromString(ask("Configure", configure).value()));
    EXPECT_EQ(events.events(), kAllEvents);
    ASSERT_TRUE(ask("Synchronize", pods).has_value());
    run_until([&] { return connection_->counters().is_connected; });
  }
  Result<std::string> send(api::Event event, const PodSpec& spec, const std::string& name = "") {
    api::StateChangeEvent message;
    message.set_event(event);
    *message.mutable_pod() = world_.sandbox(spec);
    if (!name.empty()) *message.mutable_container() = world_.container(spec, name);
    return ask("StateChange", message);
  }
  [[nodiscard]] api::CreateContainerRequest to_create(const PodSpec& spec) {
    api::CreateContainerRequest request;
    *request.mutable_pod() = world_.sandbox(spec);
    *request.mutable_container() = world_.container(spec);
    return request;
  }
  /// The cpuset of the answer; the message of an error.
  std::string create(const PodSpec& spec) {
    const auto payload = ask("CreateContainer", to_create(spec));
    if (!payload) return payload.error().message;
    api::CreateContainerResponse answer;
    EXPECT_TRUE(answer.ParseFromString(*payload));
    world_.record[RuntimeWorld::id_of(spec)] = answer.adjust().linux().resources().cpu().cpus();
    EXPECT_TRUE(send(api::Event::POST_CREATE_CONTAINER, spec, "c").has_value());
    return world_.record[RuntimeWorld::id_of(spec)];
  }
  void run_sandbox(const PodSpec& spec) {
    world_.kernel.make_path(world_.pause_group(spec));
    ASSERT_TRUE(send(api::Event::RUN_POD_SANDBOX, spec).has_value());
  }
  void run(const PodSpec& spec) {
    run_sandbox(spec);
    create(spec);
    world_.make_group(spec);
    const auto started = send(api::Event::START_CONTAINER, spec, "c");
    ASSERT_TRUE(started.has_value()) << started.error().message;
  }

  RuntimeWorld world_;
  pinfold::test::TempDir directory_;
  const std::string path_ = directory_ / "nri.sock";
  std::chrono::seconds unhealthy_after_{60};
  boost::asio::io_context io_;
  std::optional<SocketRuntime> runtime_;
  std::unique_ptr<service::Worker> worker_;
  std::unique_ptr<RuntimeConnection> connection_;
  std::vector<std::string> log_;
  std::vector<std::string> status_;
};

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
  NriObservedConnection() : NriConnection(service::NriMode::kObserve) {}
};

TEST_F(NriObservedConnection, TheSnapshotHasTheDifferences) {
  start();
  EXPECT_EQ(worker_->snapshot()->comparison, nullptr);
  connect();
  ASSERT_NE(worker_->snapshot()->comparison, nullptr);
  EXPECT_EQ(*worker_->snapshot()->comparison, service::Comparison());
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

TEST_F(NriConnection, AnErrorIsAnswered) {
  start();
  connect();
  EXPECT_THAT(create(exclusive("big", 9)), HasSubstr("is rejected"));
  const PodSpec b = exclusive("b", 2);
  EXPECT_THAT(send(api::Event::START_CONTAINER, b, "c").error().message, HasSubstr("model"));
  EXPECT_EQ(connection_->counters().create_refusals, 1U);
  EXPECT_EQ(connection_->counters().start_refusals, 1U);
}

/// Nothing is sent unasked: containerd could hang.
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

/// A runtime that does not wait for the answer goes on without the plugin.
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

/// What is not done is made up for by another synchronization.
TEST_F(NriConnection, AFullQueueSynchronizesAnew) {
  start();
  connect();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(worker_
                    ->submit(service::Task{[](const Result<agent::NodeAgent*>& /*agent*/) {
                                             return std::vector<service::Change>();
                                           },
                                           service::Clock::time_point::max()})
                    .has_value());
  }
  api::StateChangeEvent event;
  event.set_event(api::Event::RUN_POD_SANDBOX);
  *event.mutable_pod() = world_.sandbox(shared("a"));
  (void)runtime_->call("StateChange", event.SerializeAsString());
  run_until([&] { return !connection_->counters().is_connected; }, false);
  connect();
  EXPECT_EQ(connection_->counters().connections, 2U);
}

}  // namespace
}  // namespace pinfold::nri
