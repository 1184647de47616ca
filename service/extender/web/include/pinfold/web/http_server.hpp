#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold::web {

struct HttpCall {
  std::string method;  ///< "POST"
  std::string path;    ///< without the query
  std::string body;
};
struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
};

/// Files in PEM.
struct ServerCertificate {
  std::string certificate;  ///< with the chain
  std::string key;
  std::string client_ca;  ///< clients need a certificate of it; "": they need none

  friend bool operator==(const ServerCertificate&, const ServerCertificate&) = default;
};

struct HttpServerOptions {
  std::string address;                   ///< "HOST:PORT", "PORT" or "[::1]:PORT"
  std::optional<ServerCertificate> tls;  ///< nullopt: plain HTTP
  std::size_t most_body = std::size_t{32} << 20U;
  /// Limit in bytes for all bodies that are being received at one time.
  std::size_t most_bodies = std::size_t{96} << 20U;
  std::size_t most_connections = 256;
  std::chrono::milliseconds handshake_time{5'000};
  std::chrono::milliseconds request_time{10'000};  ///< for a client to send a request
  std::chrono::milliseconds answer_time{10'000};   ///< and to read the answer
  std::chrono::milliseconds idle_time{120'000};    ///< between two requests
  int threads = 4;
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

/// Serves HTTP/1.1 with kept connections, plain or over TLS (1.2 or newer). A client that is slow
/// or silent delays no other one: it holds a connection, but no thread; beyond the limit, the
/// oldest connection that has not sent a whole request makes room for a new one. Answers without
/// the handler: 400 for what is not HTTP, 408 for a request whose rest does not come in time, 413
/// for a body larger than `most_body`, 503 if the bodies together would be too large.
class HttpServer {
 public:
  /// Several threads may call it at a time.
  using Handler = std::function<HttpAnswer(const HttpCall&)>;

  /// Opens a server: clients can connect, and wait until it serves. Errors: kInvalidArgument for an
  /// invalid address or certificate; kNotFound for a file that does not exist; kIo.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> open(HttpServerOptions options,
                                                                Handler handler);
  /// Opens a server and serves. Errors: as for open.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options,
                                                                 Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Waits for the calls of the handler that have begun, and for their answers to be sent.
  ~HttpServer();

  /// Answers from now on; to be called once.
  void serve();
  [[nodiscard]] int port() const;
  /// Reads the certificates again, for new connections. Errors: as for open; the old ones stay.
  Result<void> renew_certificates();

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace pinfold::web
