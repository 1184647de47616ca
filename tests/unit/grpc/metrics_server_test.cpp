#include "pinfold/metrics/metrics_server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "pinfold/base/unique_fd.hpp"

/// Metrics over HTTP, and clients that never finish: anyone can connect to the port.
namespace pinfold::metrics {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class HttpClient {
 public:
  explicit HttpClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0) {
      throw std::runtime_error("connect");
    }
  }
  void send(const std::string& text) const {
    (void)::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// Returns what arrives until the connection ends.
  [[nodiscard]] std::string rest() const {
    std::string text;
    std::array<char, 4096> buffer{};
    ssize_t size = 0;
    while ((size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0)) > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  UniqueFd socket_;
};

std::vector<prometheus::MetricFamily> one_family() {
  prometheus::MetricFamily family{"pinfold_pods", "Pods", prometheus::MetricType::Gauge, {}};
  family.metric.emplace_back().gauge.value = 7;
  return {family};
}

std::unique_ptr<MetricsServer> serve(const MetricsServerOptions& options = {}) {
  return MetricsServer::start("127.0.0.1:0", one_family, options).value();
}

std::string answer_to(const MetricsServer& server, const std::string& request) {
  const HttpClient client(server.port());
  client.send(request);
  return client.rest();
}

TEST(MetricsServer, AnswersARequest) {
  const auto server = serve();
  const std::string answer = answer_to(*server, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(answer, HasSubstr("\npinfold_pods 7\n"));
}

TEST(MetricsServer, AnswersEachRequestWithItsStatus) {
  const auto server = serve();
  struct Row {
    std::string request;
    const char* status;
  };
  const std::vector<Row> rows = {
      {"GET /metrics HTTP/1.0\r\n\r\n", "200 OK"},
      {"GET /metrics?name=x HTTP/1.1\r\n\r\n", "200 OK"},
      {"HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK"},
      {"GET / HTTP/1.1\r\n\r\n", "404 Not Found"},
      {"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"},
      {"GET\r\n\r\n", "400 Bad Request"},
      {"\r\n\r\n", "400 Bad Request"},
      {"GET /metrics FTP/1\r\n\r\n", "400 Bad Request"},
      {"GET /metrics HTTP/1.1\r\nX: " + std::string(9000, 'x'), "431 Request Header"},
  };
  for (const auto& [request, status] : rows) {
    EXPECT_THAT(answer_to(*server, request), StartsWith(std::string("HTTP/1.1 ") + status))
        << request.substr(0, 60);
  }
  EXPECT_THAT(answer_to(*server, "HEAD /metrics HTTP/1.1\r\n\r\n"), testing::EndsWith("\r\n\r\n"));
}

TEST(MetricsServer, HalfOpenRequestsStarveNobody) {
  MetricsServerOptions options;
  options.max_connections = 4;
  const auto server = serve(options);
  std::vector<HttpClient> half;
  for (int i = 0; i < 100; ++i) {
    half.emplace_back(server->port());
    half.back().send("GET /metrics HTTP/1.1\r\nHo");
    if (i % 10 != 9) continue;
    EXPECT_THAT(answer_to(*server, "GET /metrics HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 OK"));
  }
  EXPECT_EQ(half.front().rest(), "") << "the oldest silent one should be closed";
}

TEST(MetricsServer, ClientsThatDoNotReadStarveNobody) {
  MetricsServerOptions options;
  options.max_connections = 4;
  const auto large = [] {
    auto families = one_family();
    families.front().help = std::string(std::size_t{4} << 20U, 'x');
    return families;
  };
  const auto server = MetricsServer::start("127.0.0.1:0", large, options).value();
  std::vector<HttpClient> slow;
  for (int i = 0; i < 20; ++i) {
    slow.emplace_back(server->port());
    slow.back().send("GET /metrics HTTP/1.1\r\n\r\n");
  }
  EXPECT_THAT(answer_to(*server, "GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 404"));
}

TEST(MetricsServer, EndsARequestThatIsNeverFinished) {
  MetricsServerOptions options;
  options.request_time = std::chrono::milliseconds(1);
  const auto server = serve(options);
  const HttpClient silent(server->port());
  EXPECT_EQ(silent.rest(), "");
  const HttpClient half(server->port());
  half.send("GET /me");
  EXPECT_EQ(half.rest(), "");
}

TEST(MetricsServer, NamesABadAddress) {
  for (const char* const address :
       {"", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "host:1", "[::1:1", "1.2.3.4:-1"}) {
    const auto server = MetricsServer::start(address, one_family);
    ASSERT_FALSE(server) << address;
    EXPECT_EQ(server.error().code, ErrorCode::kInvalidArgument) << address;
    EXPECT_THAT(server.error().message, HasSubstr(std::string("'") + address + "'"));
  }
  for (const char* const address : {"0", ":0", "localhost:0", "127.0.0.1:0"}) {
    EXPECT_TRUE(MetricsServer::start(address, one_family)) << address;
  }
}

TEST(MetricsServer, NamesAnAddressThatIsTaken) {
  const auto first = serve();
  const std::string address = "127.0.0.1:" + std::to_string(first->port());
  const auto second = MetricsServer::start(address, one_family);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("metrics at '" + address + "': "));
}

}  // namespace
}  // namespace pinfold::metrics
