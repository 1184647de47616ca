#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "pinfold/agent/log.hpp"
#include "pinfold/socket/listener.hpp"

namespace pinfold::grpc {

struct EndpointOptions {
  std::size_t max_connections = 64;
  std::size_t reserved_connections = 8;  ///< reserved for the owner, see is_owner
  int max_streams = 32;                  ///< concurrent calls per connection
  int max_message = 4 << 20;             ///< bytes of a request
  std::size_t memory = 128U << 20U;      ///< bytes of all requests and answers together
  std::chrono::seconds keepalive{60};    ///< a client that answers no ping within this time is gone
  /// Checks whether the process at the other end may use the socket. Empty: check_client with the
  /// group of the listener.
  std::function<Result<void>(int connection)> check;
  /// Returns whether a connection is the owner's. Empty: is_owner.
  std::function<bool(int connection)> is_owner;
  agent::LogSink log;
};

/// A gRPC server on a Unix socket. It accepts connections itself, to check the process at the other
/// end before gRPC reads a byte: gRPC does not show peer credentials. Connections of strangers and
/// those above the limit are closed and logged.
class Endpoint {
 public:
  /// Serves until the object is destroyed. `services` must outlive it. Errors: kIo, kInternal.
  [[nodiscard]] static Result<std::unique_ptr<Endpoint>> start(
      socket::Listener listener, const std::vector<::grpc::Service*>& services,
      EndpointOptions options);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  /// Accepts no more calls, cancels the open ones and waits until they have ended. What completes
  /// these calls must outlive the endpoint.
  ~Endpoint();

 private:
  using Acceptor = ::grpc::experimental::ExternalConnectionAcceptor;
  /// A connection that gRPC owns. It has ended when the descriptor no longer refers to this socket.
  struct Connection {
    int fd;
    ino_t inode;
    bool is_owners;
  };

  Endpoint(socket::Listener listener, EndpointOptions options)
      : listener_(std::move(listener)), options_(std::move(options)) {}
  void accept_all();
  void accept_one();
  void forget_ended();
  [[nodiscard]] bool has_room(bool is_owners) const;
  void log(agent::LogLevel level, const std::string& message) const {
    if (options_.log) options_.log(level, message);
  }

  socket::Listener listener_;
  EndpointOptions options_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<::grpc::Server> server_;
  UniqueFd stop_;  ///< eventfd
  std::vector<Connection> connections_;
  bool is_full_ = false;  ///< connections above the limit were closed
  std::thread thread_;
};

}  // namespace pinfold::grpc
