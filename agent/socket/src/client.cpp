#include "pinfold/socket/client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "pinfold/agent/outcome.hpp"
#include "pinfold/socket/unix_socket.hpp"

namespace pinfold::socket {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// What ends a wait for the service.
struct WaitEnd {
  Clock::time_point time;
  const volatile std::sig_atomic_t* interrupted;
};

/// Waits until the descriptor is ready. Looks at the flag at intervals, because another thread may
/// set it. Errors: kIo; kBusy with EINTR after an interruption.
Result<void> wait_for(int fd, short event, const WaitEnd& end) {
  constexpr milliseconds kPause{20};
  while (true) {
    if (end.interrupted != nullptr && *end.interrupted != 0) {
      return tl::unexpected(Error{ErrorCode::kBusy, EINTR, "the wait was interrupted"});
    }
    const auto left = std::chrono::ceil<milliseconds>(end.time - Clock::now());
    const auto pause = end.interrupted == nullptr ? left : std::min(left, kPause);
    pollfd entry{fd, event, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(pause.count()));
    if (ready > 0) return {};
    if (left.count() <= 0) return fail_errno(ETIMEDOUT, "no answer");
    if (ready < 0 && errno != EINTR) return fail_errno(errno, "poll");
  }
}

/// Returns whether everything was sent. If not, the service has closed the connection, and its
/// earlier output can still be read.
Result<bool> send_all(int fd, std::string_view rest, const WaitEnd& end) {
  while (!rest.empty()) {
    PINFOLD_TRY(wait_for(fd, POLLOUT, end));
    const ssize_t sent = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return false;
    } else if (errno != EAGAIN && errno != EINTR) {
      return fail_errno(errno, "send");
    }
  }
  return true;
}

}  // namespace

Result<std::optional<Client>> Client::connect(const std::string& socket, milliseconds answer_time,
                                              const volatile std::sig_atomic_t* interrupted) {
  PINFOLD_LET(const sockaddr_un address, socket_address(socket));
  UniqueFd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection) return fail_errno(errno, "socket");
  std::string name = fmt::format("service at '{}'", socket);
  if (::connect(connection.get(), generic(address), sizeof address) != 0) {
    const int reason = errno;
    for (const int absent : {ENOENT, ENOTDIR, ECONNREFUSED, EACCES}) {
      if (reason == absent) return std::nullopt;
    }
    if (reason == EAGAIN) return fail(ErrorCode::kBusy, name + ": too many connections");
    return fail_errno(reason, name);
  }
  PINFOLD_TRY_WRAP(check_server(connection.get()), name);
  Client client(std::move(connection), std::move(name), answer_time, interrupted);
  auto line = client.exchange(encode_hello_request(), milliseconds::zero());
  const bool ends =
      !line && (line.error().sys_errno == ECONNRESET || agent::is_stopping(line.error()));
  if (ends) return std::nullopt;
  if (!line) return fail(std::move(line).error());
  auto hello = decode_hello(*line);
  if (!hello && agent::is_stopping(hello.error())) return std::nullopt;
  PINFOLD_LET_WRAP(client.hello_, std::move(hello), client.name_);
  return client;
}

Result<verbs::Answer> Client::call(verbs::Action action, milliseconds timeout) {
  const bool changes = verbs::can_change(action);
  auto line = exchange(encode({std::move(action), timeout}), timeout);
  if (line) return decode_answer(*line);
  if (changes && is_sent_) return fail(agent::unknown_outcome(line.error().message));
  return fail(std::move(line).error());
}

Result<std::string> Client::exchange(std::string message, milliseconds longest) {
  is_sent_ = false;
  if (message.size() > kMaxRequest) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: the request is longer than {} bytes", name_, kMaxRequest));
  }
  message += '\n';
  const auto end = Clock::now() + answer_time_ + longest;
  PINFOLD_LET_WRAP(is_sent_, send_all(connection_.get(), message, {end, interrupted_}), name_);
  auto line = receive(end);
  // An incomplete request is not executed, so it may be sent to the next service.
  if (!line && !is_sent_) return fail(agent::stopping_error());
  if (!line) return fail(std::move(line).error().wrap(name_));
  return line;
}

Result<std::string> Client::receive(Clock::time_point end) {
  std::array<char, 8192> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t searched = 0;
  while (true) {
    const std::size_t line_end = received_.find('\n', searched);
    if (line_end != std::string::npos) {
      std::string line = received_.substr(0, line_end);
      received_.erase(0, line_end + 1);
      return line;
    }
    searched = received_.size();
    if (received_.size() > kMaxMessage) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("answer longer than {} bytes", kMaxMessage));
    }
    PINFOLD_TRY(wait_for(connection_.get(), POLLIN, {end, interrupted_}));
    const ssize_t got = ::recv(connection_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0) return fail_errno(ECONNRESET, "it closed the connection");
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return fail_errno(errno, "receive");
    received_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace pinfold::socket
