#include "service.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "pinfold/gate/kernel_text.hpp"
#include "pinfold/gate/line.hpp"

namespace pinfold::gate {
namespace {

constexpr std::string_view kHello = "{\"hello\":{\"version\":2}}\n";

bool is_trusted(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == 0 || peer.uid == ::geteuid());
}

bool connect_to(int connection, std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as connect takes it
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(connection, generic, sizeof address) == 0 && is_trusted(connection);
}

bool send_all(int connection, std::string_view text, std::int64_t end_ms) {
  while (!text.empty()) {
    const ssize_t sent = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (sent < 0 && !wait_for(connection, POLLOUT, end_ms)) return false;
    if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Reads up to a line break. `buffer` gets the beginning of the line, `line` its used part.
bool receive_line(int connection, std::span<char> buffer, std::string_view& line,
                  std::int64_t end_ms) {
  std::size_t size = 0;
  std::array<char, 4096> chunk{};
  while (wait_for(connection, POLLIN, end_ms)) {
    const ssize_t got = ::recv(connection, chunk.data(), chunk.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    const std::string_view text(chunk.data(), static_cast<std::size_t>(std::max(got, ssize_t{0})));
    const std::string_view kept = text.substr(0, std::min(text.find('\n'), buffer.size() - size));
    std::copy(kept.begin(), kept.end(), buffer.data() + size);
    size += kept.size();
    line = {buffer.data(), size};
    if (text.find('\n') != text.npos) return true;
  }
  return false;
}

/// Builds the request. Names keep their JSON escapes; a directory that needs one is not adopted.
std::string_view request_of(const StateName& owner, std::string_view directory, std::int64_t end_ms,
                            std::span<char> buffer) {
  if (directory.find_first_of("\"\\") != directory.npos) return "";
  Line line(buffer);
  line.add(R"({"timeoutSeconds":)").add(time_left_ms(end_ms) / 1000 + 1);
  line.add(R"(,"adopt":{"podUid":")").add(owner.prefix).add(owner.uid);
  line.add(R"(","container":")").add(owner.name);
  line.add(R"(","cgroupPath":")").add(directory).add("\"}}\n");
  return line.fits() ? line.view() : "";
}

}  // namespace

bool ask_to_adopt(const char* socket, const StateName& owner, std::string_view directory,
                  std::int64_t end_ms) {
  const Fd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  std::array<char, 16384> buffer{};
  std::string_view line;
  const std::string_view request = request_of(owner, directory, end_ms, buffer);
  std::array<char, 4096> answer{};
  const int fd = connection.get();
  return connection && !request.empty() && connect_to(fd, socket) && send_all(fd, kHello, end_ms) &&
         receive_line(fd, answer, line, end_ms) && send_all(fd, request, end_ms) &&
         receive_line(fd, answer, line, end_ms) && !is_error_answer(line);
}

}  // namespace pinfold::gate
