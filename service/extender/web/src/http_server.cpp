#include "pinfold/web/http_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/optional.hpp>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "pinfold/base/read_file.hpp"
#include "pinfold/text/host_port.hpp"

namespace pinfold::web {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Certificates = std::shared_ptr<asio::ssl::context>;

constexpr std::size_t kMostHead = std::size_t{16} << 10U;

Result<tcp::endpoint> parse_address(const std::string& address) {
  const HostPort at = split_host_port(address);
  error_code failed;
  const auto ip = asio::ip::make_address(at.host, failed);
  if (!failed && at.port) return tcp::endpoint(ip, *at.port);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("address '{}': expected an IP address and a port, such as '0.0.0.0:9472'",
                          address));
}

/// Every connection shows its certificate, and certificates are renewed every minute.
void forbid_resumption(SSL_CTX* context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
}

/// Reads a file and gives it to `use(buffer, error)`. Its own reading says why: OpenSSL's errors
/// about files have no text.
template <class Use>
Result<void> use_file(const std::string& what, const std::string& file, Use&& use) {
  PINFOLD_LET_WRAP(const std::string text, read_file(file), what);
  error_code failed;
  use(asio::buffer(text), failed);
  if (!failed) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} '{}': {}; expected a file in PEM{}", what, file, failed.message(),
                          what == "key" ? ", the key of the certificate" : ""));
}

Result<Certificates> read_certificates(const ServerCertificate& files) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  forbid_resumption(context->native_handle());
  PINFOLD_TRY(use_file("certificate", files.certificate, [&](auto text, error_code& failed) {
    context->use_certificate_chain(text, failed);
  }));
  PINFOLD_TRY(use_file("key", files.key, [&](auto text, error_code& failed) {
    context->use_private_key(text, asio::ssl::context::pem, failed);
  }));
  if (files.client_ca.empty()) return context;
  PINFOLD_TRY(use_file("client CA", files.client_ca, [&](auto text, error_code& failed) {
    context->add_certificate_authority(text, failed);
  }));
  error_code failed;
  context->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, failed);
  return context;
}

}  // namespace

/// A connection over any kind of stream.
class ServerConnection {
 public:
  ServerConnection() = default;
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  virtual ~ServerConnection() = default;

  virtual void start() = 0;
  /// Closes it from any thread.
  virtual void close_soon() = 0;
  /// Closes it from any thread, but not before the answer that is being made or sent.
  virtual void end_soon() = 0;
  /// Whether it waits for a request that a client has not sent completely.
  [[nodiscard]] virtual bool is_waiting() const = 0;
};

struct HttpServer::Parts {
  Parts(HttpServerOptions of_options, Handler of_handler)
      : options(std::move(of_options)), handler(std::move(of_handler)), io(options.threads) {}

  Result<void> listen();
  void accept();
  void add(tcp::socket socket);
  void make_room();
  void end();
  [[nodiscard]] Certificates current_certificates() {
    const std::lock_guard lock(mutex);
    return certificates;
  }

  HttpServerOptions options;
  Handler handler;
  std::atomic<std::size_t> bodies{0};  ///< bytes that may still be received
  std::mutex mutex;
  Certificates certificates;  ///< nullptr: plain HTTP
  asio::io_context io;        ///< its destructor ends the connections, which use all of the above
  tcp::acceptor acceptor{asio::make_strand(io)};
  asio::steady_timer retry{acceptor.get_executor()};
  std::list<std::weak_ptr<ServerConnection>> connections;  ///< of the acceptor's strand; by age
  std::vector<std::thread> threads;
};

namespace {

/// Serves one connection. `Stream` is beast::tcp_stream, or a TLS stream on it.
template <class Stream, class Server>
class StreamConnection final
    : public ServerConnection,
      public std::enable_shared_from_this<StreamConnection<Stream, Server>> {
 public:
  static constexpr bool kIsTls = !std::is_same_v<Stream, beast::tcp_stream>;

  StreamConnection(tcp::socket socket, Server& server, Certificates certificates)
      : server_(server),
        certificates_(std::move(certificates)),
        stream_(make_stream(std::move(socket), certificates_)) {}
  StreamConnection(const StreamConnection&) = delete;
  StreamConnection& operator=(const StreamConnection&) = delete;
  ~StreamConnection() override { release_body(); }

  void start() override {
    asio::dispatch(stream_.get_executor(), [self = self()] { self->begin(); });
  }
  void close_soon() override {
    asio::post(stream_.get_executor(), [self = self()] { self->close(); });
  }
  void end_soon() override {
    asio::post(stream_.get_executor(), [self = self()] {
      self->is_ending_ = true;
      if (self->is_waiting_) self->close();
    });
  }
  [[nodiscard]] bool is_waiting() const override { return is_waiting_; }

 private:
  static Stream make_stream(tcp::socket socket, const Certificates& certificates) {
    if constexpr (kIsTls) {
      return Stream(std::move(socket), *certificates);
    } else {
      return Stream(std::move(socket));
    }
  }
  auto self() { return this->shared_from_this(); }
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  void begin() {
    if constexpr (kIsTls) {
      lowest().expires_after(server_.options.handshake_time);
      stream_.async_handshake(asio::ssl::stream_base::server, [self = self()](error_code failed) {
        if (failed) return self->refuse_client(failed);
        self->read_head(self->server_.options.request_time);
      });
    } else {
      read_head(server_.options.request_time);
    }
  }

  void refuse_client(error_code failed) {
    error_code ignored;
    const auto client = lowest().socket().remote_endpoint(ignored);
    if (!ignored && failed != asio::error::eof) {
      server_.options.warn(
          fmt::format("client {}: no TLS connection: {}; expected a client with a certificate "
                      "that the server accepts",
                      client.address().to_string(), failed.message()));
    }
    close();
  }

  void read_head(std::chrono::milliseconds time) {
    is_waiting_ = true;
    parser_.emplace();
    parser_->header_limit(kMostHead);
    parser_->body_limit(server_.options.most_body);
    limit_reading(time);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = self()](error_code failed, std::size_t /*size*/) {
                              self->end_limit();
                              if (failed) return self->fail_read(failed);
                              self->read_body();
                            });
  }

  void read_body() {
    const auto declared = parser_->content_length();
    const std::uint64_t size = parser_->chunked() ? server_.options.most_body
                               : declared         ? *declared
                                                  : 0;
    if (size > server_.options.most_body) return fail_read(http::error::body_limit);
    reserved_ = static_cast<std::size_t>(size);
    if (server_.bodies.fetch_add(reserved_) + reserved_ > server_.options.most_bodies) {
      return answer_and_close(http::status::service_unavailable,
                              "the requests of all clients together are too large; try again");
    }
    limit_reading(server_.options.request_time);
    http::async_read(stream_, buffer_, *parser_,
                     [self = self()](error_code failed, std::size_t /*size*/) {
                       self->end_limit();
                       if (failed) return self->fail_read(failed);
                       self->handle();
                     });
  }

  /// Ends the reading that begins after `time`. The stream's own limit would close the socket, so
  /// that no answer could be sent.
  void limit_reading(std::chrono::milliseconds time) {
    lowest().expires_never();
    is_late_ = false;
    deadline_.expires_after(time);
    deadline_.async_wait([self = self(), reading = ++reading_](error_code cancelled) {
      if (cancelled || reading != self->reading_) return;
      self->is_late_ = true;
      self->lowest().cancel();
    });
  }
  void end_limit() {
    ++reading_;
    deadline_.cancel();
  }

  void release_body() { server_.bodies -= std::exchange(reserved_, 0); }

  void fail_read(error_code failed) {
    if (is_late_ && (parser_->got_some() || buffer_.size() > 0)) {
      return answer_and_close(http::status::request_timeout,
                              "the rest of the request has not arrived in time");
    }
    if (failed == http::error::body_limit) {
      return answer_and_close(http::status::payload_too_large,
                              fmt::format("the request is too large; expected at most {} bytes",
                                          server_.options.most_body));
    }
    const bool is_http_error =
        failed.category() == http::make_error_code(http::error::bad_method).category();
    if (is_http_error && failed != http::error::end_of_stream &&
        failed != http::error::partial_message) {
      return answer_and_close(http::status::bad_request,
                              "expected an HTTP/1.1 request: " + failed.message());
    }
    close();
  }

  void handle() {
    is_waiting_ = false;
    auto& request = parser_->get();
    const std::string target(request.target());
    HttpCall call{std::string(request.method_string()), target.substr(0, target.find('?')),
                  std::move(request.body())};
    HttpAnswer answer = answer_to(call);
    release_body();
    write(static_cast<http::status>(answer.status), std::move(answer.body), answer.type,
          request.keep_alive(), request.method() == http::verb::head);
  }

  HttpAnswer answer_to(const HttpCall& call) {
    try {
      return server_.handler(call);
    } catch (const std::exception& error) {  // out of memory
      constexpr int kInternalError = 500;
      return {kInternalError, std::string(error.what()) + "\n", "text/plain"};
    }
  }

  void answer_and_close(http::status status, const std::string& message) {
    release_body();
    write(status, message + "\n", "text/plain", false, false);
  }

  void write(http::status status, std::string body, const std::string& type, bool keep_alive,
             bool is_head) {
    answer_ = http::response<http::string_body>(status, 11);
    answer_.set(http::field::content_type, type);
    answer_.keep_alive(keep_alive);
    answer_.content_length(body.size());
    if (!is_head) answer_.body() = std::move(body);
    lowest().expires_after(server_.options.answer_time);
    http::async_write(stream_, answer_, [self = self()](error_code failed, std::size_t /*size*/) {
      const bool ends = failed || self->is_ending_ || !self->answer_.keep_alive();
      self->answer_ = {};  // large ones do not wait for the next request
      if (ends) return self->finish();
      self->read_head(self->server_.options.idle_time);
    });
  }

  /// Ends the connection so that the client still gets the answer: unread bytes from the client
  /// would reset it.
  void finish() {
    error_code ignored;
    lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
    constexpr std::chrono::seconds kLinger(2);
    lowest().expires_after(kLinger);
    drain();
  }
  void drain() {
    lowest().async_read_some(buffer_.prepare(kMostHead),
                             [self = self()](error_code failed, std::size_t /*size*/) {
                               if (failed) return self->close();
                               self->drain();
                             });
  }

  void close() {
    error_code ignored;
    end_limit();
    lowest().socket().close(ignored);
  }

  Server& server_;
  Certificates certificates_;  ///< before the stream, which uses it
  Stream stream_;
  asio::steady_timer deadline_{stream_.get_executor()};
  std::uint64_t reading_ = 0;  ///< number of the last reading that has begun or ended
  bool is_late_ = false;       ///< the deadline has ended the reading
  beast::flat_buffer buffer_;
  boost::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> answer_;
  std::size_t reserved_ = 0;  ///< of the server's `bodies`
  std::atomic<bool> is_waiting_{true};
  bool is_ending_ = false;
};

}  // namespace

Result<void> HttpServer::Parts::listen() {
  PINFOLD_LET(const tcp::endpoint endpoint, parse_address(options.address));
  error_code failed;
  acceptor.open(endpoint.protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(endpoint, failed);
  if (!failed) acceptor.listen(tcp::acceptor::max_listen_connections, failed);
  if (!failed) return {};
  return fail(ErrorCode::kIo, fmt::format("listen at '{}': {}", options.address, failed.message()));
}

void HttpServer::Parts::accept() {
  acceptor.async_accept(asio::make_strand(io), [this](error_code failed, tcp::socket socket) {
    if (!acceptor.is_open()) return;
    if (!failed) {
      add(std::move(socket));
      return accept();
    }
    constexpr std::chrono::milliseconds kPause(100);  // too many open files: wait for others
    retry.expires_after(kPause);
    retry.async_wait([this](error_code cancelled) {
      if (!cancelled && acceptor.is_open()) accept();
    });
  });
}

void HttpServer::Parts::add(tcp::socket socket) {
  make_room();
  std::shared_ptr<ServerConnection> connection;
  if (auto with = current_certificates()) {
    using Tls = StreamConnection<beast::ssl_stream<beast::tcp_stream>, Parts>;
    connection = std::make_shared<Tls>(std::move(socket), *this, std::move(with));
  } else {
    using Plain = StreamConnection<beast::tcp_stream, Parts>;
    connection = std::make_shared<Plain>(std::move(socket), *this, nullptr);
  }
  connections.push_back(connection);
  connection->start();
}

void HttpServer::Parts::make_room() {
  connections.remove_if([](const auto& one) { return one.expired(); });
  if (connections.size() < options.most_connections) return;
  for (auto it = connections.begin(); it != connections.end(); ++it) {
    const auto connection = it->lock();
    if (connection && !connection->is_waiting()) continue;
    if (connection) connection->close_soon();
    connections.erase(it);
    return;
  }
}

void HttpServer::Parts::end() {
  asio::post(acceptor.get_executor(), [this] {
    error_code ignored;
    acceptor.close(ignored);
    retry.cancel();
    for (const auto& one : connections) {
      if (const auto connection = one.lock()) connection->end_soon();
    }
  });
}

Result<std::unique_ptr<HttpServer>> HttpServer::open(HttpServerOptions options, Handler handler) {
  std::unique_ptr<HttpServer> server(
      new HttpServer(std::make_unique<Parts>(std::move(options), std::move(handler))));
  Parts& parts = *server->parts_;
  PINFOLD_TRY(server->renew_certificates());
  PINFOLD_TRY(parts.listen());
  return server;
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, Handler handler) {
  PINFOLD_LET(auto server, open(std::move(options), std::move(handler)));
  server->serve();
  return server;
}

void HttpServer::serve() {
  parts_->accept();
  for (int i = 0; i < parts_->options.threads; ++i) {
    parts_->threads.emplace_back([parts = parts_.get()] { parts->io.run(); });
  }
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() {
  parts_->end();
  for (std::thread& thread : parts_->threads) thread.join();
}

int HttpServer::port() const { return parts_->acceptor.local_endpoint().port(); }

Result<void> HttpServer::renew_certificates() {
  if (!parts_->options.tls) return {};
  PINFOLD_LET(auto certificates, read_certificates(*parts_->options.tls));
  const std::lock_guard lock(parts_->mutex);
  parts_->certificates = std::move(certificates);
  return {};
}

}  // namespace pinfold::web
