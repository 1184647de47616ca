#include "pinfold/server/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "node_samples.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/socket/client.hpp"
#include "temp_dir.hpp"

/// The server, with a worker that only answers, and misbehaving clients.
namespace pinfold::socket {
namespace {

using server::kSmallRequest;
using server::Server;
using server::ServerOptions;
using server::Submit;
using std::chrono::milliseconds;
using testing::HasSubstr;

/// A client that writes arbitrary bytes.
class RawClient {
 public:
  explicit RawClient(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = socket_address(path).value();
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0) {
      throw std::runtime_error("connect");
    }
  }
  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0) return;  // the server has closed the connection
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  [[nodiscard]] int fd() const { return socket_.get(); }
  /// Returns a line without its end, or what came before the connection ended.
  [[nodiscard]] std::string line() const {
    std::string text;
    char c = 0;
    while (::recv(socket_.get(), &c, 1, 0) == 1 && c != '\n') text += c;
    return text;
  }

 private:
  UniqueFd socket_;
};

Hello hello() {
  return {"0", "/state", Config{}, agent::ProfileSource::kDefault, test::two_sockets(), ""};
}

class ServerTest : public testing::Test {
 protected:
  ~ServerTest() override {
    if (!thread_.joinable()) return;
    boost::asio::post(io_, [&] { server_.reset(); });
    guard_.reset();
    thread_.join();
  }
  void start(ServerOptions options = {}) {
    server_ = std::make_unique<Server>(
        io_, listener_, hello(),
        [this](worker::Request request) { return submit_(std::move(request)); },
        std::move(options));
    thread_ = std::thread([&] { io_.run(); });
  }
  [[nodiscard]] Client connect() const { return *Client::connect(listener_.path()).value(); }
  [[nodiscard]] std::size_t connections() {
    std::promise<std::size_t> count;
    boost::asio::post(io_, [&] { count.set_value(server_->connections()); });
    return count.get_future().get();
  }
  void wait_for_connections(std::size_t count) {
    while (connections() != count) std::this_thread::yield();
  }
  void expect_answers() const {
    auto client = connect();
    EXPECT_TRUE(client.call(verbs::CheckpointJournal{}, milliseconds(0)).has_value());
  }

  test::TempDir dir_;
  Listener listener_ = Listener::open(dir_ / "agent.sock").value();
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_ =
      boost::asio::make_work_guard(io_);
  /// Answers immediately.
  Submit submit_ = [](const worker::Request& request) {
    request.done(verbs::Answer(verbs::Done{}));
    return Result<void>();
  };
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

TEST_F(ServerTest, AnswersOneRequestAfterTheOther) {
  start();
  auto client = connect();
  EXPECT_EQ(client.hello().state_dir, "/state");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(client.call(verbs::CheckpointJournal{}, milliseconds(0)).has_value()) << i;
  }
}

TEST_F(ServerTest, PassesTheRequestAndItsDeadlineOn) {
  std::promise<worker::Request> got;
  submit_ = [&](worker::Request request) {
    request.done(verbs::Answer(verbs::Done{}));
    got.set_value(std::move(request));
    return Result<void>();
  };
  start();
  const auto before = std::chrono::steady_clock::now();
  auto client = connect();
  const verbs::Remove remove{PodUid("u"), "c", agent::RunningProcesses::kKill};
  EXPECT_TRUE(client.call(remove, milliseconds(5000)).has_value());
  const worker::Request request = got.get_future().get();
  EXPECT_EQ(encode({request.action, milliseconds(0)}), encode({remove, milliseconds(0)}));
  EXPECT_GE(request.deadline, before + milliseconds(5000));
  EXPECT_LE(request.deadline, std::chrono::steady_clock::now() + milliseconds(5000));
}

TEST_F(ServerTest, AnswersTheErrorOfAFullQueue) {
  submit_ = [](const worker::Request& /*request*/) -> Result<void> {
    return fail(ErrorCode::kBusy, "full");
  };
  start();
  auto client = connect();
  const auto answer = client.call(verbs::CheckpointJournal{}, milliseconds(0));
  EXPECT_EQ(answer.error(), (Error{ErrorCode::kBusy, 0, "full"}));
}

TEST_F(ServerTest, ABadRequestEndsNoConnection) {
  start();
  const RawClient client(listener_.path());
  client.send(encode_hello_request() + "\n");
  EXPECT_THAT(client.line(), HasSubstr("/state"));
  client.send("{\"dance\":{}}\n");
  EXPECT_THAT(client.line(), HasSubstr("'dance': expected the name of a request"));
  client.send("{\"settle\":{}}\n");
  EXPECT_THAT(client.line(), HasSubstr("done"));
}

TEST_F(ServerTest, AnswersRequestsThatWereSentTogetherInTheirOrder) {
  start();
  const RawClient client(listener_.path());
  client.send(encode_hello_request() + "\n{\"settle\":{}}\n{\"dance\":{}}\n{\"settle\":{}}\n");
  EXPECT_THAT(client.line(), HasSubstr("hello"));
  EXPECT_THAT(client.line(), HasSubstr("done"));
  EXPECT_THAT(client.line(), HasSubstr("dance"));
  EXPECT_THAT(client.line(), HasSubstr("done"));
}

TEST_F(ServerTest, ClientsThatHangBlockNobody) {
  std::vector<worker::Request> unanswered;
  submit_ = [&](worker::Request request) {
    if (std::holds_alternative<verbs::Reconcile>(request.action)) {
      unanswered.push_back(std::move(request));
    } else {
      request.done(verbs::Answer(verbs::Done{}));
    }
    return Result<void>();
  };
  start();
  const RawClient silent(listener_.path());
  const RawClient half(listener_.path());
  half.send(encode_hello_request().substr(0, 5));
  const RawClient waits(listener_.path());
  waits.send(encode_hello_request() + "\n{\"reconcile\":{}}\n");
  EXPECT_THAT(waits.line(), HasSubstr("hello"));
  expect_answers();
}

TEST_F(ServerTest, EndsAConnectionWithoutARequest) {
  ServerOptions options;
  options.request_time = milliseconds(1);
  start(options);
  const RawClient silent(listener_.path());
  EXPECT_EQ(silent.line(), "");
  const RawClient half(listener_.path());
  half.send("{\"hello\":");
  EXPECT_EQ(half.line(), "");
  wait_for_connections(0);
}

TEST_F(ServerTest, EndsAConnectionThatDoesNotRead) {
  std::promise<void> answered;
  submit_ = [&](const worker::Request& request) {
    const std::string large(std::size_t{8} << 20U, 'x');
    request.done(verbs::Answer(verbs::Admissions{{{}}, {Trace{{{"cpu", "c", large}}}}}));
    answered.set_value();
    return Result<void>();
  };
  ServerOptions options;
  options.answer_time = milliseconds(1);
  start(options);
  const RawClient client(listener_.path());
  client.send(encode_hello_request() + "\n{\"settle\":{}}\n");
  answered.get_future().wait();
  wait_for_connections(0);
}

TEST_F(ServerTest, RefusesAMessageThatIsTooLong) {
  start();
  const RawClient client(listener_.path());
  client.send(encode_hello_request() + "\n");
  EXPECT_THAT(client.line(), HasSubstr("hello"));
  client.send(std::string(kMaxRequest + 1, 'x'));
  EXPECT_THAT(client.line(), HasSubstr("message: longer than"));
  EXPECT_EQ(client.line(), "") << "the connection should end";
  expect_answers();
}

TEST_F(ServerTest, RefusesStrangers) {
  ServerOptions options;
  options.check = [](int /*connection*/) -> Result<void> {
    return fail(ErrorCode::kInvalidArgument, "user 7 may not use this service");
  };
  start(options);
  const RawClient client(listener_.path());
  EXPECT_THAT(client.line(), HasSubstr("user 7 may not use this service"));
  EXPECT_EQ(client.line(), "");
}

TEST_F(ServerTest, LetsItsOwnUserIn) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd here(ends[0]);
  const UniqueFd there(ends[1]);
  EXPECT_TRUE(check_client(here.get(), 12345).has_value());
  EXPECT_TRUE(check_server(here.get()).has_value());
}

TEST_F(ServerTest, RefusesAnotherVersion) {
  start();
  const RawClient client(listener_.path());
  client.send("{\"hello\":{\"version\":1}}\n");
  EXPECT_THAT(client.line(), HasSubstr("speaks version 2"));
  EXPECT_EQ(client.line(), "");
}

TEST_F(ServerTest, WantsAHelloFirst) {
  start();
  const RawClient client(listener_.path());
  client.send("{\"settle\":{}}\n");
  EXPECT_THAT(client.line(), HasSubstr("expected the name of a greeting"));
  EXPECT_EQ(client.line(), "");
}

TEST_F(ServerTest, LimitsTheConnections) {
  ServerOptions options;
  options.max_connections = 2;
  start(options);
  auto first = std::make_unique<RawClient>(listener_.path());
  const RawClient second(listener_.path());
  wait_for_connections(2);
  const auto third = Client::connect(listener_.path());
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, ErrorCode::kBusy);
  first.reset();
  wait_for_connections(1);
  expect_answers();
}

TEST_F(ServerTest, RefusesALongFirstLine) {
  start();
  const RawClient client(listener_.path());
  client.send(std::string(kMaxHelloRequest + 1, 'x'));
  EXPECT_THAT(client.line(), HasSubstr("message: longer than 4096 bytes"));
}

/// Clients that are not the owner's, unless the test says otherwise.
class CrowdedServerTest : public ServerTest {
 protected:
  [[nodiscard]] ServerOptions of_others() {
    ServerOptions options;
    options.is_owner = [this](int /*connection*/) { return is_owner_.load(); };
    return options;
  }
  [[nodiscard]] std::unique_ptr<RawClient> greeted() {
    auto client = std::make_unique<RawClient>(listener_.path());
    client->send(encode_hello_request() + "\n");
    EXPECT_THAT(client->line(), HasSubstr("hello"));
    return client;
  }

  std::atomic<bool> is_owner_ = false;
};

TEST_F(CrowdedServerTest, TheOldestSilentConnectionMakesRoom) {
  ServerOptions options = of_others();
  options.max_connections = 4;
  options.reserved_connections = 1;
  start(options);
  const auto talks = greeted();
  const RawClient oldest(listener_.path());
  const RawClient other(listener_.path());
  wait_for_connections(3);
  expect_answers();
  EXPECT_EQ(oldest.line(), "") << "it should be closed";
  talks->send("{\"settle\":{}}\n");
  EXPECT_THAT(talks->line(), HasSubstr("done"));
}

TEST_F(CrowdedServerTest, TheOwnerHasConnectionsThatOthersCannotTake) {
  ServerOptions options = of_others();
  options.max_connections = 3;
  options.reserved_connections = 1;
  start(options);
  const auto first = greeted();
  const auto second = greeted();
  const RawClient refused(listener_.path());
  EXPECT_THAT(refused.line(), HasSubstr("too many connections"));
  EXPECT_EQ(refused.line(), "");
  is_owner_ = true;
  expect_answers();
}

TEST_F(CrowdedServerTest, RequestsSayWhoSendsThem) {
  std::atomic<worker::Origin> origin = worker::Origin::kOwner;
  submit_ = [&](const worker::Request& request) {
    origin = request.origin;
    request.done(verbs::Answer(verbs::Done{}));
    return Result<void>();
  };
  start(of_others());
  expect_answers();
  EXPECT_EQ(origin, worker::Origin::kOther);
  is_owner_ = true;
  expect_answers();
  EXPECT_EQ(origin, worker::Origin::kOwner);
}

TEST_F(CrowdedServerTest, UnfinishedRequestsShareABoundedMemory) {
  ServerOptions options = of_others();
  options.unfinished_memory = std::size_t{1} << 20U;
  start(options);
  const auto one = greeted();
  const auto other = greeted();
  const std::string part(800'000, 'x');
  one->send(part);
  other->send(part);
  std::array<pollfd, 2> fds = {pollfd{one->fd(), POLLIN, 0}, pollfd{other->fd(), POLLIN, 0}};
  ASSERT_GT(::poll(fds.data(), fds.size(), -1), 0);
  const RawClient& refused = fds[0].revents != 0 ? *one : *other;
  EXPECT_THAT(refused.line(), HasSubstr("too many unfinished requests"));
  EXPECT_EQ(refused.line(), "");
  expect_answers();
}

TEST_F(CrowdedServerTest, ClientsThatDoNotReadShareABoundedMemory) {
  submit_ = [&](const worker::Request& request) {
    const std::string large(std::size_t{2} << 20U, 'x');
    request.done(verbs::Answer(verbs::Admissions{{{}}, {Trace{{{"cpu", "c", large}}}}}));
    return Result<void>();
  };
  ServerOptions options = of_others();
  options.unread_memory = std::size_t{3} << 20U;
  start(options);
  const auto slow = greeted();
  slow->send("{\"settle\":{}}\n");
  const auto other = greeted();
  wait_for_connections(2);
  other->send("{\"settle\":{}}\n");
  wait_for_connections(1);
}

TEST_F(ServerTest, StopsAfterTheAnswersThatAreDue) {
  std::promise<worker::Request> got;
  submit_ = [&](worker::Request request) {
    got.set_value(std::move(request));
    return Result<void>();
  };
  start();
  const RawClient idle(listener_.path());
  const RawClient waits(listener_.path());
  waits.send(encode_hello_request() + "\n{\"settle\":{}}\n");
  const worker::Request request = got.get_future().get();
  boost::asio::post(io_, [&] { server_->stop(); });
  EXPECT_THAT(idle.line(), HasSubstr("the service is stopping"));
  EXPECT_EQ(idle.line(), "");
  request.done(verbs::Answer(verbs::Done{}));
  EXPECT_THAT(waits.line(), HasSubstr("hello"));
  EXPECT_THAT(waits.line(), HasSubstr("done"));
  EXPECT_THAT(waits.line(), HasSubstr("the service is stopping"));
  EXPECT_EQ(waits.line(), "");
  wait_for_connections(0);
}

TEST_F(ServerTest, AClientThatSendsToAStoppingServiceHearsThatNothingWasDone) {
  start();
  auto client = connect();
  const RawClient silent(listener_.path());
  wait_for_connections(2);
  boost::asio::post(io_, [&] { server_->stop(); });
  wait_for_connections(0);
  const auto answer = client.call(verbs::CheckpointJournal{}, milliseconds(0));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error(), agent::stopping_error());
  EXPECT_TRUE(agent::is_stopping(answer.error()));
  EXPECT_THAT(silent.line(), HasSubstr("the service is stopping"));
}

TEST_F(ServerTest, AClientThatLeavesCostsNothing) {
  std::promise<worker::Request> got;
  submit_ = [&](worker::Request request) {
    got.set_value(std::move(request));
    return Result<void>();
  };
  start();
  {
    const RawClient client(listener_.path());
    client.send(encode_hello_request() + "\n{\"settle\":{}}\n");
    const worker::Request request = got.get_future().get();
    got = {};
    request.done(verbs::Answer(verbs::Done{}));
  }
  wait_for_connections(0);
}

TEST_F(ServerTest, AChangeWhoseAnswerIsLostHasAnUnknownOutcome) {
  submit_ = [&](const worker::Request& /*request*/) {
    boost::asio::post(io_, [&] { server_.reset(); });  // as if it were killed
    return Result<void>();
  };
  start();
  auto client = connect();
  const auto lost = client.call(verbs::Remove{PodUid("u"), "", {}}, milliseconds(0));
  ASSERT_FALSE(lost);
  EXPECT_TRUE(agent::is_unknown_outcome(lost.error())) << lost.error().message;
  EXPECT_THAT(lost.error().message, HasSubstr("the change may have been made"));
}

TEST_F(ServerTest, ALostAnswerToAQuestionIsNoUnknownOutcome) {
  submit_ = [&](const worker::Request& /*request*/) {
    boost::asio::post(io_, [&] { server_.reset(); });
    return Result<void>();
  };
  start();
  auto client = connect();
  const auto lost = client.call(verbs::CheckpointJournal{}, milliseconds(0));
  ASSERT_FALSE(lost);
  EXPECT_FALSE(agent::is_unknown_outcome(lost.error())) << lost.error().message;
  EXPECT_EQ(lost.error().sys_errno, ECONNRESET);
}

TEST(ClientTest, FindsNoService) {
  const test::TempDir dir;
  EXPECT_FALSE(Client::connect(dir / "none.sock").value());
  dir.write("file", "");
  EXPECT_FALSE(Client::connect(dir / "file").value());
}

TEST(ClientTest, OneThatEndsIsNoService) {
  const test::TempDir dir;
  std::optional<Listener> listener = Listener::open(dir / "agent.sock").value();
  std::thread ends([&] {
    pollfd entry{listener->fd(), POLLIN, 0};
    (void)::poll(&entry, 1, -1);
    const UniqueFd connection(::accept4(listener->fd(), nullptr, nullptr, SOCK_CLOEXEC));
  });
  const auto client = Client::connect(dir / "agent.sock");
  ends.join();
  ASSERT_TRUE(client.has_value()) << client.error().message;
  EXPECT_FALSE(*client);
}

TEST(ClientTest, OneThatStopsIsNoService) {
  const test::TempDir dir;
  const Listener listener = Listener::open(dir / "agent.sock").value();
  std::thread stops([&] {
    pollfd entry{listener.fd(), POLLIN, 0};
    (void)::poll(&entry, 1, -1);
    const UniqueFd connection(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string line = encode(Result<verbs::Answer>(fail(agent::stopping_error()))) + "\n";
    (void)::send(connection.get(), line.data(), line.size(), MSG_NOSIGNAL);
  });
  const auto client = Client::connect(dir / "agent.sock");
  stops.join();
  ASSERT_TRUE(client.has_value()) << client.error().message;
  EXPECT_FALSE(*client);
}

// NOLINTNEXTLINE(*-avoid-non-const-global-variables): another thread sets it
volatile std::sig_atomic_t client_interrupted = 0;

TEST(ClientTest, AnotherThreadInterruptsAWait) {
  const test::TempDir dir;
  const auto silent = Listener::open(dir / "agent.sock");  // nothing accepts
  client_interrupted = 0;
  std::thread interrupts([] {
    std::this_thread::sleep_for(milliseconds(50));
    client_interrupted = 1;
  });
  const auto client =
      Client::connect(dir / "agent.sock", std::chrono::minutes(10), &client_interrupted);
  interrupts.join();
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, ErrorCode::kBusy);
  EXPECT_EQ(client.error().sys_errno, EINTR);
}

TEST(ClientTest, DoesNotKnowWhetherAnInterruptedChangeWasMade) {
  const test::TempDir dir;
  const Listener listener = Listener::open(dir / "agent.sock").value();
  client_interrupted = 0;
  std::thread hangs([&] {  // after the first answer
    pollfd entry{listener.fd(), POLLIN, 0};
    (void)::poll(&entry, 1, -1);
    const UniqueFd connection(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string line = encode(hello()) + "\n";
    (void)::send(connection.get(), line.data(), line.size(), MSG_NOSIGNAL);
    std::string received;
    while (std::count(received.begin(), received.end(), '\n') < 2) {
      std::array<char, 4096> buffer{};
      const ssize_t got = ::recv(connection.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) return;
      received.append(buffer.data(), static_cast<std::size_t>(got));
    }
    client_interrupted = 1;
    (void)::recv(connection.get(), &entry, 1, 0);  // until the client closes the connection
  });
  {
    auto client =
        Client::connect(dir / "agent.sock", std::chrono::minutes(10), &client_interrupted);
    ASSERT_TRUE(client.has_value()) << client.error().message;
    ASSERT_TRUE(client->has_value());
    const auto answer = (*client)->call(verbs::Reconcile{}, milliseconds(1));
    ASSERT_FALSE(answer.has_value());
    EXPECT_TRUE(agent::is_unknown_outcome(answer.error())) << answer.error().message;
  }
  hangs.join();
}

TEST(ClientTest, DoesNotWaitForEver) {
  const test::TempDir dir;
  const auto silent = Listener::open(dir / "agent.sock");  // nothing accepts
  const auto client = Client::connect(dir / "agent.sock", milliseconds(1));
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, ErrorCode::kIo);
  EXPECT_THAT(client.error().message, HasSubstr("no answer"));
}

}  // namespace
}  // namespace pinfold::socket
