#include "pinfold/metrics/metrics_server.hpp"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <exception>
#include <list>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "pinfold/text/host_port.hpp"

namespace pinfold::metrics {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using Clock = asio::steady_timer::clock_type;

constexpr std::size_t kMostHead = 8192;  // bytes of a request

/// Without a host, means all addresses of the machine.
Result<tcp::endpoint> parse_address(const std::string& address) {
  const HostPort at = split_host_port(address);
  error_code failed;
  const auto ip = asio::ip::make_address(at.host, failed);
  if (!failed && at.port) return tcp::endpoint(ip, *at.port);
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("metrics at '{}': expected an IP address and a port, such as '127.0.0.1:9470'",
                  address));
}

std::string answer(std::string_view status, std::string_view type, std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, type, body.size(), body);
}

std::string answer_error(std::string_view status) {
  return answer(status, "text/plain", fmt::format("{}\n", status));
}

/// Returns the answer to the head of a request.
std::string answer_to(std::string_view head, const MetricsServer::Collect& collect) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const auto first = line.find(' ');
  const auto second = line.find(' ', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || !line.substr(second + 1).starts_with("HTTP/1.")) {
    return answer_error("400 Bad Request");
  }
  const std::string_view method = line.substr(0, first);
  std::string_view path = line.substr(first + 1, second - first - 1);
  path = path.substr(0, path.find('?'));
  if (path != "/metrics") return answer_error("404 Not Found");
  if (method != "GET" && method != "HEAD") return answer_error("405 Method Not Allowed");
  constexpr std::string_view kType = "text/plain; version=0.0.4; charset=utf-8";
  std::string text = answer("200 OK", kType, prometheus::TextSerializer().Serialize(collect()));
  if (method == "HEAD") text.resize(text.find("\r\n\r\n") + 4);
  return text;
}

}  // namespace

/// Used only by the server's thread, except for start() and the destructor.
struct MetricsServer::Parts {
  class Connection;
  using Connections = std::list<std::shared_ptr<Connection>>;

  Parts(Collect of_collect, const MetricsServerOptions& of_options)
      : collect(std::move(of_collect)), options(of_options) {}

  Result<void> listen(const std::string& address);
  void accept();
  void make_room();

  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer retry{io};
  Collect collect;
  MetricsServerOptions options;
  Connections connections;  ///< in order of arrival
  std::thread thread;
};

/// One connection: reads the head of a request, answers it and closes.
class MetricsServer::Parts::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Parts& parts)
      : parts_(parts), socket_(std::move(socket)), timer_(parts.io) {}

  [[nodiscard]] bool is_answered() const { return !output_.empty(); }

  void start() {
    limit_time(parts_.options.request_time);
    read_on();
  }
  void close() {
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
    const auto self = shared_from_this();
    parts_.connections.remove(self);
  }

 private:
  void limit_time(milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](error_code cancelled) {
      // A timer that has already expired may have been set anew since.
      if (!cancelled && self->timer_.expiry() <= Clock::now()) self->close();
    });
  }
  void read_on() {
    socket_.async_read_some(asio::buffer(chunk_),
                            [self = shared_from_this()](error_code failed, std::size_t size) {
                              if (failed) return self->close();
                              self->input_.append(self->chunk_.data(), size);
                              self->look();
                            });
  }
  void look() {
    if (input_.find("\r\n\r\n") != std::string::npos) {
      write(answer_or_error());
    } else if (input_.size() > kMostHead) {
      write(answer_error("431 Request Header Fields Too Large"));
    } else {
      read_on();
    }
  }
  [[nodiscard]] std::string answer_or_error() const {
    try {
      return answer_to(input_, parts_.collect);
    } catch (const std::exception&) {  // out of memory
      return answer_error("500 Internal Server Error");
    }
  }
  void write(std::string text) {
    output_ = std::move(text);
    limit_time(parts_.options.answer_time);
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this()](error_code /*failed*/, std::size_t /*size*/) {
                        error_code ignored;
                        self->socket_.shutdown(tcp::socket::shutdown_both, ignored);
                        self->close();
                      });
  }

  Parts& parts_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  std::string input_;
  std::string output_;
  std::array<char, 2048> chunk_{};
};

Result<void> MetricsServer::Parts::listen(const std::string& address) {
  PINFOLD_LET(const tcp::endpoint endpoint, parse_address(address));
  error_code failed;
  acceptor.open(endpoint.protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(endpoint, failed);
  if (!failed) acceptor.listen(tcp::acceptor::max_listen_connections, failed);
  if (!failed) return {};
  return fail(ErrorCode::kIo, fmt::format("metrics at '{}': {}", address, failed.message()));
}

void MetricsServer::Parts::accept() {
  acceptor.async_accept([this](error_code failed, tcp::socket socket) {
    if (!acceptor.is_open()) return;
    if (!failed) {
      make_room();
      connections.push_back(std::make_shared<Connection>(std::move(socket), *this));
      connections.back()->start();
      return accept();
    }
    constexpr milliseconds kPause(100);  // too many open files: wait until others are closed
    retry.expires_after(kPause);
    retry.async_wait([this](error_code cancelled) {
      if (!cancelled && acceptor.is_open()) accept();
    });
  });
}

void MetricsServer::Parts::make_room() {
  if (connections.size() < options.max_connections) return;
  const auto silent = std::find_if(connections.begin(), connections.end(),
                                   [](const auto& one) { return !one->is_answered(); });
  const auto oldest = silent == connections.end() ? *connections.begin() : *silent;
  oldest->close();
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& address,
                                                            Collect collect,
                                                            const MetricsServerOptions& options) {
  std::unique_ptr<MetricsServer> server(
      new MetricsServer(std::make_unique<Parts>(std::move(collect), options)));
  Parts& parts = *server->parts_;
  PINFOLD_TRY(parts.listen(address));
  parts.accept();
  parts.thread = std::thread([&parts] { parts.io.run(); });
  return server;
}

MetricsServer::MetricsServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

MetricsServer::~MetricsServer() {
  parts_->io.stop();
  if (parts_->thread.joinable()) parts_->thread.join();
}

int MetricsServer::port() const { return parts_->acceptor.local_endpoint().port(); }

}  // namespace pinfold::metrics
