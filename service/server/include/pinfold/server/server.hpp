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
  /// Of these, only for the owner (see is_owner). Above the rest the oldest one that has never said
  /// anything is closed for a new one; if there is none, the new one is.
  std::size_t reserved_connections = 32;
  /// Of what clients have sent of unfinished requests, in bytes, for all of them together. A
  /// request of at most kSmallRequest does not count, nor do those of the owner.
  std::size_t unfinished_memory = std::size_t{32} << 20U;
  /// Of answers that clients have not read yet. Above it the one is closed that reads the longest.
  std::size_t unread_memory = std::size_t{64} << 20U;
  std::chrono::milliseconds request_time{60'000};  ///< from one answer to the next whole request
  std::chrono::milliseconds hello_time{10'000};    ///< from the connection to the first whole line
  std::chrono::milliseconds answer_time{30'000};   ///< for a client to read its answer
  /// Whether the process at the other end may use the service. Empty: check_client.
  std::function<Result<void>(int connection)> check;
  /// Whether it is the owner's. Empty: is_owner.
  std::function<bool(int connection)> is_owner;
};

/// Of requests that any number of clients may send in part, in bytes.
inline constexpr std::size_t kSmallRequest = std::size_t{64} << 10U;

/// Where requests go: Worker::submit.
using Submit = std::function<Result<void>(Request)>;

/// Answers the commands: docs/service.md. One request of a connection at a time; a connection that
/// hangs, sends too much or does not read never delays another one, and its memory is bounded. All
/// of it runs in the threads of `io`: one.
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
