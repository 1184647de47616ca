#include "local_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace pinfold::quiet {
namespace {

constexpr suseconds_t kTimeoutUs = 200'000;

tl::unexpected<Error> no_answer(int error, const char* what) {
  if (error == EAGAIN || error == EWOULDBLOCK) {
    return fail(
        Error{ErrorCode::kUnsupported, EAGAIN, fmt::format("{}: no answer within 0.2 s", what)});
  }
  return fail_errno(error, what);
}

Result<void> limit_time(int connection) {
  const timeval timeout{0, kTimeoutUs};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (::setsockopt(connection, SOL_SOCKET, option, &timeout, sizeof timeout) != 0) {
      return fail_errno(errno, "set a time limit");
    }
  }
  return {};
}

}  // namespace

Result<UniqueFd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("socket '{}': its path is too long", path));
  }
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  UniqueFd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection) return fail_errno(errno, "make a socket");
  PINFOLD_TRY(limit_time(connection.get()));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the system call wants it
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(connection.get(), generic, sizeof address) != 0) {
    return fail_errno(errno, fmt::format("connect to '{}'", path));
  }
  return connection;
}

Result<void> send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return no_answer(errno, "send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::string> receive(int connection, std::size_t most) {
  std::string bytes(most, '\0');
  while (true) {
    const ssize_t size = ::recv(connection, bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return no_answer(errno, "receive");
    bytes.resize(static_cast<std::size_t>(size));
    return bytes;
  }
}

}  // namespace pinfold::quiet
