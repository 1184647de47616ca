#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/nri_plugin/connection.hpp"
#include "runtime_world.hpp"
#include "socket_runtime.hpp"

namespace pinfold::nri::test {

/// The plugin over its socket, with a runtime in this process; the worker's rounds run one by one.
class NriConnection : public testing::Test {
 protected:
  explicit NriConnection(settings::NriMode mode = settings::NriMode::kEnforce)
      : mode_(mode), world_(enforce::CgroupVersion::kV2, mode) {}
  void SetUp() override {
    runtime_.emplace(path_);
    worker::WorkerOptions worker_options;
    worker_options.queue_limit = 4;
    worker_ = std::make_unique<worker::Worker>(std::move(*world_.agent), std::move(worker_options));
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
    options.settings.kubelet_root = directory_.path();
    options.settings.mode = mode_;
    options.least_pause = std::chrono::milliseconds(1);
    options.greatest_pause = std::chrono::milliseconds(4);
    options.look_every = std::chrono::milliseconds(5);
    options.log = [this](agent::LogLevel level, std::string_view message) {
      if (level >= agent::LogLevel::kWarning) log_.emplace_back(message);
    };
    options.find_group = [this](const agent::ObservedCgroups& /*enforced*/,
                                pid_t process) -> Result<std::string> {
      if (process != ::getpid()) return fail(ErrorCode::kNotFound, "no such process");
      return runtime_group_;
    };
    options.status = [this](const std::string& line) { status_.push_back(line); };
    auto started =
        RuntimeConnection::start(io_, *worker_, std::move(world_.follower), std::move(options));
    ASSERT_TRUE(started.has_value()) << started.error().message;
    connection_ = *std::move(started);
  }
  /// `works`: whether the worker runs rounds.
  void run_until(const std::function<bool()>& is_so, bool works = true) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_so()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "not within 30 seconds";
      io_.restart();
      io_.run_for(std::chrono::milliseconds(1));
      runtime_->poll();
      if (works) worker_->run_round();
    }
  }
  Result<std::string> ask(const std::string& method, const google::protobuf::MessageLite& message) {
    const auto stream = runtime_->call(method, message.SerializeAsString());
    run_until([&] { return runtime_->answers.contains(stream); });
    return runtime_->answers.at(stream);
  }
  /// Connects, up to the end of the synchronization.
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
  static constexpr std::string_view kAgrees = "agrees";
  /// Returns the answer to an event: an error's message, kAgrees for the empty answer, or its
  /// contents.
  static std::string answer_to(const Result<std::string>& payload) {
    if (!payload) return payload.error().message;
    return payload->empty() ? std::string(kAgrees) : "has " + *payload;
  }
  [[nodiscard]] std::string sandbox_event(const PodSpec& spec) const {
    api::StateChangeEvent event;
    event.set_event(api::Event::RUN_POD_SANDBOX);
    *event.mutable_pod() = world_.sandbox(spec);
    return event.SerializeAsString();
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
  /// Returns the cpuset of the answer, or the message of an error.
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

  const settings::NriMode mode_;
  RuntimeWorld world_;
  pinfold::test::TempDir directory_;
  const std::string path_ = directory_ / "nri.sock";
  std::chrono::seconds unhealthy_after_{60};
  boost::asio::io_context io_;
  std::optional<SocketRuntime> runtime_;
  std::unique_ptr<worker::Worker> worker_;
  std::unique_ptr<RuntimeConnection> connection_;
  std::string runtime_group_ = "/model/system.slice/containerd.service";
  std::vector<std::string> log_;
  std::vector<std::string> status_;
};

}  // namespace pinfold::nri::test
