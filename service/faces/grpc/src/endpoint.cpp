#include "pinfold/grpc/endpoint.hpp"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

namespace pinfold::grpc {
namespace {

using agent::LogLevel;
using std::chrono::milliseconds;

void configure(::grpc::ServerBuilder& builder, const EndpointOptions& options) {
  constexpr int kHandshakeMs = 10'000;  // time to begin with HTTP/2
  ::grpc::ResourceQuota quota;
  quota.Resize(options.memory);
  builder.SetResourceQuota(quota);
  constexpr int kIdleMs = 600'000;
  builder.SetMaxReceiveMessageSize(options.max_message);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  const auto keepalive = static_cast<int>(milliseconds(options.keepalive).count());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive);
}

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::start(socket::Listener listener,
                                                  const std::vector<::grpc::Service*>& services,
                                                  EndpointOptions options) {
  if (!options.check) {
    options.check = [group = listener.group()](int connection) {
      return socket::check_client(connection, group);
    };
  }
  if (!options.is_owner) options.is_owner = socket::is_owner;
  std::unique_ptr<Endpoint> endpoint(new Endpoint(std::move(listener), std::move(options)));
  endpoint->stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!endpoint->stop_) return fail_errno(errno, "eventfd");
  // Otherwise protobuf prints a line to standard error for each malformed string of a client.
  google::protobuf::SetLogHandler(nullptr);
  ::grpc::ServerBuilder builder;
  configure(builder, endpoint->options_);
  for (::grpc::Service* const service : services) builder.RegisterService(service);
  endpoint->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      ::grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      ::grpc::InsecureServerCredentials());
  endpoint->server_ = builder.BuildAndStart();
  if (endpoint->server_ == nullptr) {
    return fail(ErrorCode::kInternal,
                fmt::format("socket '{}': gRPC does not start", endpoint->listener_.path()));
  }
  endpoint->thread_ = std::thread([self = endpoint.get()] { self->accept_all(); });
  return endpoint;
}

Endpoint::~Endpoint() {
  if (!thread_.joinable()) return;
  (void)::eventfd_write(stop_.get(), 1);
  thread_.join();
  constexpr milliseconds kLastAnswers(500);
  server_->Shutdown(std::chrono::system_clock::now() + kLastAnswers);
}

void Endpoint::accept_all() {
  std::array<pollfd, 2> fds = {pollfd{stop_.get(), POLLIN, 0}, pollfd{listener_.fd(), POLLIN, 0}};
  while (true) {
    (void)::poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0) accept_one();
  }
}

void Endpoint::accept_one() {
  UniqueFd connection(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) {
    if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) return;
    constexpr int kPauseMs = 100;  // too many open files: wait until others are closed
    pollfd stop{stop_.get(), POLLIN, 0};
    (void)::poll(&stop, 1, kPauseMs);
    return;
  }
  if (const auto allowed = options_.check(connection.get()); !allowed) {
    log(LogLevel::kWarning, fmt::format("socket '{}': {}: connection closed", listener_.path(),
                                        allowed.error().message));
    return;
  }
  forget_ended();
  const bool is_owners = options_.is_owner(connection.get());
  if (!has_room(is_owners)) {
    if (!std::exchange(is_full_, true)) {
      log(LogLevel::kWarning, fmt::format("socket '{}': {} connections: further ones are closed",
                                          listener_.path(), connections_.size()));
    }
    return;
  }
  is_full_ = false;
  struct stat status {};
  if (::fstat(connection.get(), &status) != 0) return;
  connections_.push_back({connection.get(), status.st_ino, is_owners});
  Acceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listener_.fd();
  parameters.fd = connection.release();
  acceptor_->HandleNewConnection(&parameters);
}

bool Endpoint::has_room(bool is_owners) const {
  if (is_owners) return connections_.size() < options_.max_connections;
  const std::size_t reserved = std::min(options_.reserved_connections, options_.max_connections);
  const auto others = std::count_if(connections_.begin(), connections_.end(),
                                    [](const Connection& one) { return !one.is_owners; });
  return static_cast<std::size_t>(others) < options_.max_connections - reserved;
}

void Endpoint::forget_ended() {
  std::erase_if(connections_, [](const Connection& connection) {
    struct stat status {};
    return ::fstat(connection.fd, &status) != 0 || status.st_ino != connection.inode;
  });
}

}  // namespace pinfold::grpc
