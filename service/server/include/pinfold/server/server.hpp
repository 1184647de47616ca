#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "pinfold/server/listener.hpp"
#include "pinfold/socket/protocol.hpp"

namespace pinfold::service {

struct ServerOptions {
  std::size_t max_connections = 512;
  std::chrono::milliseconds request_time{60'000};  ///< from one answer to the next whole request
  std::chrono::milliseconds answer_time{30'000};   ///< for a client to read its answer
  /// Whether the process at the other end may use the service. Empty: check_client.
  std::function<Result<void>(int connection)> check;
};

/// Where requests go: Worker::submit.
using Submit = std::function<Result<void>(Request)>;

/// Answers the commands: docs/service.md. One request of a connection at a time; a connection that
/// hangs, sends too much or does not read never delays another one. All of it runs in the threads
/// of `io`: one.
class Server {
 public:
  /// `listener` and `io` outlive the server.
  Server(boost::asio::io_context& io, const Listener& listener, const Hello& hello, Submit submit,
         ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Takes no more connections and requests; those that wait for an answer still get it.
  /// Every connection ends with the line of stopping_error().
  void stop();
  [[nodiscard]] std::size_t connections() const;

 private:
  class Session;
  struct Shared;
  static void accept(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace pinfold::service
