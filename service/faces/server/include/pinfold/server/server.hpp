#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "pinfold/socket/listener.hpp"
#include "pinfold/socket/protocol.hpp"
#include "pinfold/worker/request.hpp"

namespace pinfold::server {

struct ServerOptions {
  std::size_t max_connections = 512;
  /// Connections reserved for the owner (see is_owner). When the others are used up, the oldest one
  /// that has never sent anything is closed for a new one; if there is none, the new one is.
  std::size_t reserved_connections = 32;
  /// Limit in bytes for unfinished requests of all clients together. Requests of at most
  /// kSmallRequest and those of the owner do not count.
  std::size_t unfinished_memory = std::size_t{32} << 20U;
  /// Limit in bytes for answers that clients have not read yet. Above it, the oldest connection
  /// that has an unread answer is closed.
  std::size_t unread_memory = std::size_t{64} << 20U;
  std::chrono::milliseconds request_time{60'000};  ///< from one answer to the next whole request
  std::chrono::milliseconds hello_time{10'000};    ///< from connecting to the first whole line
  std::chrono::milliseconds answer_time{30'000};   ///< for a client to read its answer
  /// Checks whether the process at the other end may use the service. Empty: check_client.
  std::function<Result<void>(int connection)> check;
  /// Returns whether a connection is the owner's. Empty: is_owner.
  std::function<bool(int connection)> is_owner;
};

/// Size in bytes up to which any number of clients may send unfinished requests.
inline constexpr std::size_t kSmallRequest = std::size_t{64} << 10U;

/// Takes requests: Worker::submit.
using Submit = std::function<Result<void>(worker::Request)>;

/// Answers the commands; see docs/service.md. One request per connection at a time. A connection
/// that hangs, sends too much or does not read never delays another one, and its memory is bounded.
/// Runs entirely in the one thread of `io`.
class Server {
 public:
  /// `listener` and `io` must outlive the server.
  Server(boost::asio::io_context& io, const socket::Listener& listener, const socket::Hello& hello,
         Submit submit, ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Takes no more connections and requests; requests in progress still get their answer. Every
  /// connection ends with the line of stopping_error().
  void stop();
  [[nodiscard]] std::size_t connections() const;

 private:
  class Session;
  struct Shared;
  static void accept(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace pinfold::server
