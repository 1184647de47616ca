#include "pinfold/nri/plugin.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/nri/session.hpp"
#include "pinfold/nri/ttrpc.hpp"
#include "recorded.hpp"
#include "temp_dir.hpp"
#include "unix_listener.hpp"

namespace pinfold::nri {
namespace {

using std::chrono::milliseconds;
using test::kContainerd17;
using test::recorded;

/// The runtime's end of the socket: sends and receives bytes without waiting.
class FakeRuntime {
 public:
  explicit FakeRuntime(const std::string& path) : listener_(path) {}

  /// Returns true once a plugin has connected. Closes the previous connection.
  bool accept() {
    UniqueFd connection = listener_.accept();
    if (!connection) return false;
    connection_ = std::move(connection);
    input_.clear();
    return true;
  }
  void close() { connection_.reset(); }

  void send(std::string_view bytes) {
    ASSERT_EQ(::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Returns false if the plugin does not read. Domain: the message is small enough to be sent as a
  /// whole.
  bool try_send(std::string_view bytes) {
    return ::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  /// Returns all bytes of this connection.
  const std::string& input() {
    std::array<char, 65536> buffer{};
    ssize_t size = 0;
    while ((size = ::recv(connection_.get(), buffer.data(), buffer.size(), 0)) > 0) {
      input_.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return input_;
  }
  /// Returns true if the next bytes are these, and removes them.
  bool received(const std::string& expected) {
    if (input().size() < expected.size()) return false;
    EXPECT_EQ(test::hex(input_.substr(0, expected.size())), test::hex(expected));
    input_.erase(0, expected.size());
    return true;
  }

 private:
  pinfold::test::UnixListener listener_;
  UniqueFd connection_;
  std::string input_;
};

/// Records its calls and gives the answers set by the test.
class NotingHandler : public Handler {
 public:
  void registered() override { notes.emplace_back("registered"); }
  void handle(api::ConfigureRequest request, Reply<api::ConfigureResponse> reply) override {
    notes.push_back("configure " + request.runtime_version());
    api::ConfigureResponse response;
    response.set_events(kAllEvents);
    reply(std::move(response));
  }
  void handle(api::SynchronizeRequest request, Reply<api::SynchronizeResponse> reply) override {
    notes.push_back("synchronize " + std::to_string(request.containers_size()));
    reply(api::SynchronizeResponse());
  }
  void handle(api::CreateContainerRequest request,
              Reply<api::CreateContainerResponse> reply) override {
    notes.push_back("create " + request.container().name());
    creating.push_back(std::move(reply));
  }
  void handle(api::UpdateContainerRequest request,
              Reply<api::UpdateContainerResponse> reply) override {
    notes.push_back("update " + request.container().name());
    reply(api::UpdateContainerResponse());
  }
  void handle(api::StopContainerRequest request, Reply<api::StopContainerResponse> reply) override {
    notes.push_back("stop " + request.container().name());
    reply(api::StopContainerResponse());
  }
  void handle(api::StateChangeEvent request, Reply<api::Empty> reply) override {
    notes.push_back("event " + std::to_string(request.event()) + " " + request.pod().name());
    reply(api::Empty());
  }
  void shut_down() override { notes.emplace_back("shutdown"); }
  void disconnected(const Error& error, milliseconds pause) override {
    errors.push_back(error);
    pauses.push_back(pause);
    if (on_disconnected) on_disconnected();
  }

  std::vector<std::string> notes;
  std::vector<Error> errors;
  std::function<void()> on_disconnected;
  std::vector<milliseconds> pauses;
  std::vector<Reply<api::CreateContainerResponse>> creating;
};

class NriPlugin : public testing::Test {
 protected:
  [[nodiscard]] PluginOptions options() const {
    PluginOptions options;
    options.identity = {"pin", "10"};
    options.socket = path_;
    options.least_pause = milliseconds(1);
    options.greatest_pause = milliseconds(4);
    return options;
  }
  Plugin start() { return Plugin::start(io_, handler_, options()).value(); }

  /// Runs the plugin until a condition holds.
  void run_until(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_so()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "not within 30 seconds";
      io_.restart();
      io_.run_for(milliseconds(1));
    }
  }
  void expect_from_plugin(const std::string& bytes) {
    run_until([&] { return runtime_->received(bytes); });
  }
  /// Connects, up to the first synchronization.
  void connect() {
    run_until([&] { return runtime_->accept(); });
    expect_from_plugin(recorded(kContainerd17, "register"));
    runtime_->send(recorded(kContainerd17, "register-answer") +
                   recorded(kContainerd17, "configure"));
    expect_from_plugin(recorded(kContainerd17, "configure-answer"));
    runtime_->send(recorded(kContainerd17, "synchronize-empty"));
    expect_from_plugin(recorded(kContainerd17, "synchronize-answer"));
  }
  void listen() { runtime_.emplace(path_); }

  pinfold::test::TempDir directory_;
  std::string path_ = directory_ / "nri.sock";
  boost::asio::io_context io_;
  NotingHandler handler_;
  std::optional<FakeRuntime> runtime_;
};

api::CreateContainerResponse cpus(const std::string& cpus, const std::string& mems) {
  api::CreateContainerResponse response;
  auto& cpu = *response.mutable_adjust()->mutable_linux()->mutable_resources()->mutable_cpu();
  cpu.set_cpus(cpus);
  cpu.set_mems(mems);
  return response;
}

TEST_F(NriPlugin, PlaysTheRecordedExchange) {
  listen();
  const Plugin plugin = start();
  connect();
  runtime_->send(recorded(kContainerd17, "run-pod-sandbox"));
  expect_from_plugin(recorded(kContainerd17, "run-pod-sandbox-answer"));
  runtime_->send(recorded(kContainerd17, "create-container"));
  run_until([&] { return handler_.creating.size() == 1; });
  // The decision comes later, from another thread.
  std::thread([reply = handler_.creating[0]] { reply(cpus("2-3", "1")); }).join();
  expect_from_plugin(recorded(kContainerd17, "create-container-answer"));
  EXPECT_EQ(handler_.notes, (std::vector<std::string>{"registered", "configure 1.7.24~ds1",
                                                      "synchronize 0", "event 1 p1", "create c1"}));
  EXPECT_TRUE(handler_.errors.empty());
}

TEST_F(NriPlugin, AReplyKnowsItsDeadline) {
  listen();
  const Plugin plugin = start();
  connect();
  const auto before = std::chrono::steady_clock::now();
  runtime_->send(recorded(kContainerd17, "create-container"));
  run_until([&] { return handler_.creating.size() == 1; });
  const auto deadline = handler_.creating[0].deadline();
  ASSERT_TRUE(deadline);
  // Part of the two seconds had passed when the frame was written.
  EXPECT_GT(*deadline, before + milliseconds(1900));
  EXPECT_LE(*deadline, std::chrono::steady_clock::now() + milliseconds(2000));
}

TEST_F(NriPlugin, OnlyTheFirstAnswerCounts) {
  listen();
  const Plugin plugin = start();
  connect();
  runtime_->send(recorded(kContainerd17, "create-container"));
  run_until([&] { return handler_.creating.size() == 1; });
  handler_.creating[0](cpus("2-3", "1"));
  handler_.creating[0](fail(ErrorCode::kBusy, "too late"));
  expect_from_plugin(recorded(kContainerd17, "create-container-answer"));
  runtime_->send(recorded(kContainerd17, "stop-pod-sandbox"));
  run_until([&] { return handler_.notes.back() == "event 2 p1"; });
  // Only the answer on stream 29.
  run_until([&] { return runtime_->input().size() >= 20; });
  EXPECT_EQ(test::hex(runtime_->input()),
            "00000001"
            "0000000c"
            "00000002"
            "0000001d"
            "0200"
            "1200");
}

TEST_F(NriPlugin, ComesBackWhenTheRuntimeRestarts) {
  listen();
  const Plugin plugin = start();
  connect();
  runtime_->send(recorded(kContainerd17, "create-container"));
  run_until([&] { return handler_.creating.size() == 1; });
  runtime_.reset();
  run_until([&] { return handler_.errors.size() >= 4; });
  EXPECT_EQ(handler_.errors[0].message, "NRI: the runtime closed the connection");
  EXPECT_EQ(handler_.errors[1].message, "NRI: connect to '" + path_ + "': Connection refused");
  EXPECT_EQ(handler_.errors[1].sys_errno, ECONNREFUSED);
  handler_.pauses.resize(4);
  EXPECT_EQ(handler_.pauses,
            (std::vector{milliseconds(1), milliseconds(2), milliseconds(4), milliseconds(4)}));
  // An answer to a call of the previous connection is dropped.
  handler_.creating[0](cpus("2-3", "1"));
  directory_.remove("nri.sock");
  run_until([&] { return handler_.errors.back().code == ErrorCode::kNotFound; });
  listen();
  handler_.notes.clear();
  connect();
  EXPECT_EQ(handler_.notes,
            (std::vector<std::string>{"registered", "configure 1.7.24~ds1", "synchronize 0"}));
  // The pauses start from the beginning.
  handler_.pauses.clear();
  runtime_->close();
  run_until([&] { return !handler_.pauses.empty(); });
  EXPECT_EQ(handler_.pauses[0], milliseconds(1));
}

TEST_F(NriPlugin, GarbageEndsTheConnection) {
  listen();
  const Plugin plugin = start();
  run_until([&] { return runtime_->accept(); });
  runtime_->send("HTTP/1.1 400 Bad Request\r\n");
  run_until([&] { return !handler_.errors.empty(); });
  EXPECT_EQ(handler_.errors[0].message.substr(0, 43),
            "multiplexer: a frame of connection 12134861");
  run_until([&] { return runtime_->accept(); });
  expect_from_plugin(recorded(kContainerd17, "register"));
}

TEST_F(NriPlugin, DoesNotReadFromARuntimeThatDoesNotRead) {
  listen();
  const Plugin plugin = start();
  connect();
  // Each rejection is longer than its request.
  std::size_t sent = 0;
  for (std::uint32_t stream = 101; sent < 64U << 20U; stream += 2) {
    const ttrpc::Frame frame{stream, ttrpc::FrameType::kRequest, 0,
                             ttrpc::encode(ttrpc::TtrpcRequest{"x", "", "", 0, {}})};
    std::string bytes;
    multiplex(ConnectionId::kPlugin, ttrpc::encode(frame), bytes);
    bool is_taken = runtime_->try_send(bytes);
    for (int i = 0; !is_taken && i < 20; ++i) {
      io_.restart();
      io_.run_for(milliseconds(1));
      is_taken = runtime_->try_send(bytes);
    }
    if (!is_taken) break;
    sent += bytes.size();
  }
  EXPECT_LT(sent, 8U << 20U);
  // Once the runtime reads, it gets all answers.
  const std::size_t requests = sent / 21;
  const std::string status = ttrpc::encode(ttrpc::TtrpcResponse{
      ttrpc::Status{ttrpc::StatusCode::kUnimplemented, "unknown service 'x'"}, std::nullopt});
  run_until([&] { return runtime_->input().size() >= requests * (18 + status.size()); });
  EXPECT_EQ(runtime_->input().size(), requests * (18 + status.size()));
  EXPECT_TRUE(handler_.errors.empty());
}

TEST_F(NriPlugin, TriesAgainWithoutAnAnswerToTheRegistration) {
  listen();
  PluginOptions impatient = options();
  impatient.registration_timeout = milliseconds(10);
  const Plugin plugin = Plugin::start(io_, handler_, impatient).value();
  run_until([&] { return runtime_->accept(); });
  run_until([&] { return !handler_.errors.empty(); });
  EXPECT_EQ(handler_.errors[0].message, "NRI: registration: the runtime did not answer in time");
  run_until([&] { return runtime_->accept(); });
}

/// Sends the update request that was recorded with containerd 1.7.24.
void update(Plugin& plugin, milliseconds time_limit,
            std::optional<Result<api::UpdateContainersResponse>>& outcome) {
  const std::string frame = recorded(kContainerd17, "update-containers");
  ttrpc::FrameReader reader;
  std::string_view input = std::string_view(frame).substr(8);
  const auto call = ttrpc::decode_request(reader.next(input).value().payload).value();
  api::UpdateContainersRequest request;
  ASSERT_TRUE(request.ParseFromString(call.payload));
  std::thread([&] {
    plugin.update_containers(std::move(request), time_limit,
                             [&outcome](auto result) { outcome = std::move(result); });
  }).join();
}

TEST_F(NriPlugin, UpdatesContainers) {
  listen();
  Plugin plugin = start();
  connect();
  std::optional<Result<api::UpdateContainersResponse>> outcome;
  update(plugin, milliseconds(5000), outcome);
  // All but the last bytes, which are the time limit.
  const std::string expected = recorded(kContainerd17, "update-containers");
  run_until([&] { return runtime_->input().size() == expected.size(); });
  EXPECT_EQ(test::hex(runtime_->input().substr(0, expected.size() - 6)),
            test::hex(expected.substr(0, expected.size() - 6)));
  EXPECT_FALSE(outcome);
  runtime_->send(recorded(kContainerd17, "update-containers-answer"));
  run_until([&] { return outcome.has_value(); });
  EXPECT_TRUE(*outcome);
}

TEST_F(NriPlugin, AnUpdateEndsWithItsTimeLimitOrTheConnection) {
  Plugin plugin = start();
  std::optional<Result<api::UpdateContainersResponse>> early;
  update(plugin, milliseconds(5000), early);
  run_until([&] { return early.has_value(); });
  EXPECT_EQ(early->error().message, "NRI: no runtime is connected");

  listen();
  connect();
  std::optional<Result<api::UpdateContainersResponse>> slow;
  update(plugin, milliseconds(1), slow);
  run_until([&] { return slow.has_value(); });
  EXPECT_EQ(slow->error().message, "NRI: update: the runtime did not answer in time");

  std::optional<Result<api::UpdateContainersResponse>> lost;
  update(plugin, milliseconds::max(), lost);
  run_until([&] { return runtime_->input().size() > 200; });
  runtime_->close();
  run_until([&] { return lost.has_value(); });
  EXPECT_EQ(lost->error().code, ErrorCode::kIo);
  EXPECT_EQ(lost->error().message, "NRI: the runtime closed the connection");
}

TEST_F(NriPlugin, ItsEndIsQuiet) {
  listen();
  std::optional<Result<api::UpdateContainersResponse>> outcome;
  {
    Plugin plugin = start();
    connect();
    runtime_->send(recorded(kContainerd17, "create-container"));
    run_until([&] { return handler_.creating.size() == 1; });
    update(plugin, milliseconds(60'000), outcome);
    run_until([&] { return runtime_->input().size() > 100; });
  }
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error().message, "NRI: the plugin has ended");
  const auto notes = handler_.notes;
  handler_.creating[0](cpus("2-3", "1"));
  io_.restart();
  io_.run();  // returns: nothing is pending
  EXPECT_EQ(handler_.notes, notes);
  EXPECT_TRUE(handler_.errors.empty());
}

TEST_F(NriPlugin, TheHandlerCanEndIt) {
  std::optional<Plugin> plugin(start());
  handler_.on_disconnected = [&] { plugin.reset(); };
  io_.restart();
  io_.run();  // returns: there is no next attempt
  EXPECT_EQ(handler_.errors.size(), 1U);
}

TEST_F(NriPlugin, ChecksItsOptions) {
  PluginOptions wrong = options();
  wrong.identity.index = "7";
  EXPECT_EQ(Plugin::start(io_, handler_, wrong).error().message,
            "NRI: index '7': expected two digits");
  wrong = options();
  wrong.socket = std::string(108, 'x');
  EXPECT_EQ(Plugin::start(io_, handler_, wrong).error().code, ErrorCode::kInvalidArgument);
  wrong.socket.clear();
  EXPECT_EQ(Plugin::start(io_, handler_, wrong).error().message,
            "NRI: socket '': expected a path of 1 to 107 bytes");
  wrong = options();
  wrong.least_pause = milliseconds(0);
  EXPECT_EQ(Plugin::start(io_, handler_, wrong).error().message,
            "NRI: time limit 0 ms: expected 1 ms to a day");
}

}  // namespace
}  // namespace pinfold::nri
