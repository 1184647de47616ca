#include "pinfold/web/http_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <future>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace pinfold::web {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using testing::HasSubstr;
using testing::StartsWith;

/// Sends raw bytes and reads the answer.
class RawClient {
 public:
  explicit RawClient(int port) {
    socket_.connect({asio::ip::make_address("127.0.0.1"), static_cast<std::uint16_t>(port)});
  }
  void send(const std::string& text) { asio::write(socket_, asio::buffer(text)); }
  /// Returns everything until the server closes the connection.
  std::string rest() {
    std::string text;
    boost::system::error_code ended;
    asio::read(socket_, asio::dynamic_buffer(text), ended);
    return text;
  }

 private:
  asio::io_context io_;
  tcp::socket socket_{io_};
};

class HttpServerTest : public testing::Test {
 protected:
  /// Starts a server whose answers repeat the request.
  std::unique_ptr<HttpServer> start(HttpServerOptions options = {}) {
    options.address = "127.0.0.1:0";
    return HttpServer::start(options,
                             [](const HttpCall& call) {
                               if (call.path == "/throw") throw std::runtime_error("no memory");
                               return HttpAnswer{200,
                                                 call.method + " " + call.path + " " + call.body,
                                                 "text/plain"};
                             })
        .value();
  }
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  const auto server = start();
  RawClient client(server->port());
  client.send("POST /filter?x=1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
  client.send("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string answers = client.rest();
  EXPECT_THAT(answers, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answers, HasSubstr("POST /filter abc"));
  EXPECT_THAT(answers, HasSubstr("GET /healthz "));
}

TEST_F(HttpServerTest, ReadsBodiesInChunks) {
  const auto server = start();
  RawClient client(server->port());
  client.send(
      "POST /filter HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
  EXPECT_THAT(client.rest(), HasSubstr("POST /filter abc"));
}

TEST_F(HttpServerTest, NamesTheLimitOfABody) {
  HttpServerOptions options;
  options.most_body = 10;
  const auto server = start(options);
  for (const char* const head :
       {"Content-Length: 11\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n0\r\n\r\n"}) {
    RawClient client(server->port());
    client.send(std::string("POST /filter HTTP/1.1\r\n") + head);
    const std::string answer = client.rest();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 ")) << head;
    EXPECT_THAT(answer, HasSubstr("expected at most 10 bytes")) << head;
  }
}

TEST_F(HttpServerTest, LimitsTheBodiesOfAllClientsTogether) {
  HttpServerOptions options;
  options.most_body = 100;
  options.most_bodies = 150;
  const auto server = start(options);
  std::optional<RawClient> slow;
  std::string answer;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!answer.starts_with("HTTP/1.1 503") && std::chrono::steady_clock::now() < end) {
    slow.emplace(server->port());  // reconnects: the other body may have come first
    slow->send("POST /filter HTTP/1.1\r\nContent-Length: 100\r\n\r\nbegin");
    RawClient client(server->port());
    client.send("POST /filter HTTP/1.1\r\nConnection: close\r\nContent-Length: 60\r\n\r\n" +
                std::string(60, 'x'));
    answer = client.rest();
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  slow->send(std::string(95, 'x'));
  RawClient other(server->port());
  other.send("POST /filter HTTP/1.1\r\nConnection: close\r\nContent-Length: 10\r\n\r\n0123456789");
  EXPECT_THAT(other.rest(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, SaysThatGarbageIsNoRequest) {
  const auto server = start();
  RawClient client(server->port());
  client.send("garbage\r\n\r\n");
  const std::string answer = client.rest();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer, HasSubstr("expected an HTTP/1.1 request"));
}

TEST_F(HttpServerTest, ClosesConnectionsThatSendTooSlowly) {
  HttpServerOptions options;
  options.request_time = std::chrono::milliseconds(50);
  const auto server = start(options);
  RawClient silent(server->port());
  RawClient half(server->port());
  half.send("POST /filter HTTP/1.1\r\nContent-Length: 100\r\n\r\nbegin");
  RawClient headless(server->port());
  headless.send("POST /filter HTT");
  EXPECT_EQ(silent.rest(), "");
  for (const std::string& answer : {half.rest(), headless.rest()}) {
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 408 "));
    EXPECT_THAT(answer, HasSubstr("the rest of the request has not arrived in time"));
  }
}

TEST_F(HttpServerTest, AKeptConnectionEndsSilentlyAndASlowRequestOnItDoesNot) {
  HttpServerOptions options;
  options.idle_time = std::chrono::milliseconds(50);
  options.request_time = std::chrono::milliseconds(50);
  const auto server = start(options);
  for (const char* const second : {"", "POST /filter HTTP/1.1\r\nContent-Length: 9\r\n\r\n"}) {
    RawClient client(server->port());
    client.send("POST /filter HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
    client.send(second);
    const std::string answers = client.rest();
    EXPECT_THAT(answers, HasSubstr("POST /filter abc"));
    EXPECT_EQ(answers.find("HTTP/1.1 408 ") != std::string::npos, *second != '\0') << answers;
  }
}

TEST_F(HttpServerTest, ClientsWaitUntilItServes) {
  HttpServerOptions options;
  options.address = "127.0.0.1:0";
  const auto server = HttpServer::open(options, [](const HttpCall&) {
                        return HttpAnswer{200, "served", "text/plain"};
                      }).value();
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  server->serve();
  EXPECT_THAT(client.rest(), HasSubstr("served"));
}

TEST_F(HttpServerTest, NamesAFileOfItsCertificateThatDoesNotExist) {
  HttpServerOptions options;
  options.address = "127.0.0.1:0";
  options.tls = ServerCertificate{"/none/tls.crt", "/none/tls.key", ""};
  const auto server = HttpServer::open(options, [](const HttpCall&) { return HttpAnswer{}; });
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().message, "certificate: read '/none/tls.crt': No such file or directory");
}

TEST_F(HttpServerTest, TheOldestSilentConnectionMakesRoom) {
  HttpServerOptions options;
  options.most_connections = 4;
  const auto server = start(options);
  std::list<RawClient> silent;
  for (int i = 0; i < 10; ++i) silent.emplace_back(server->port());
  RawClient client(server->port());
  client.send("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.rest(), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(silent.front().rest(), "");
}

TEST_F(HttpServerTest, AHandlerThatThrowsFailsItsCallOnly) {
  const auto server = start();
  for (const char* const path : {"/throw", "/healthz"}) {
    RawClient client(server->port());
    client.send(std::string("GET ") + path + " HTTP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(client.rest(),
                StartsWith(path == std::string("/throw") ? "HTTP/1.1 500 " : "HTTP/1.1 200 "));
  }
}

TEST_F(HttpServerTest, AnAnswerThatHasBegunIsSentBeforeTheEnd) {
  std::promise<void> asked;
  std::promise<void> may_answer;
  HttpServerOptions options;
  options.address = "127.0.0.1:0";
  auto server = HttpServer::start(options, [&](const HttpCall&) {
                  asked.set_value();
                  may_answer.get_future().wait();
                  return HttpAnswer{200, "late", "text/plain"};
                }).value();
  RawClient silent(server->port());
  std::optional<RawClient> client(std::in_place, server->port());
  client->send("GET / HTTP/1.1\r\n\r\n");
  asked.get_future().wait();
  std::thread ending([&] { server.reset(); });
  EXPECT_EQ(silent.rest(), "");  // the server is stopping
  may_answer.set_value();
  EXPECT_THAT(client->rest(), HasSubstr("late"));
  client.reset();
  ending.join();
}

TEST_F(HttpServerTest, NamesAnAddressThatIsNone) {
  for (const char* const address : {"nowhere", "127.0.0.1:99999", "127.0.0.1:", ":x"}) {
    HttpServerOptions options;
    options.address = address;
    const auto server = HttpServer::start(options, [](const HttpCall&) { return HttpAnswer{}; });
    ASSERT_FALSE(server) << address;
    EXPECT_EQ(server.error().code, ErrorCode::kInvalidArgument) << address;
  }
}

}  // namespace
}  // namespace pinfold::web
