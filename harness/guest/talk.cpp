#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::guest {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns "", or the reason why the text was not sent.
std::string send_text(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(to, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return describe_errno("send", errno);
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return shutdown(to, SHUT_WR) == 0 ? "" : describe_errno("shutdown", errno);
}

/// Reads to the end of the stream; returns "", or the reason why that failed.
std::string receive_text(int from, Clock::time_point deadline, std::string& text) {
  char chunk[4096];
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd watched = {from, POLLIN, 0};
    const int ready = poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready == 0) return "no answer in time";
    const ssize_t got = ready < 0 ? -1 : read(from, chunk, sizeof chunk);
    if (got == 0) return "";
    if (got < 0 && errno != EINTR) return describe_errno("read", errno);
    if (got > 0) text.append(chunk, static_cast<std::size_t>(got));
  }
}

}  // namespace

Json talk(const Json& request) {
  const std::string path = request.at("socket");
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(request.value("timeLimitMs", 30000));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return refuse("'" + path + "': the path is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return refuse(describe_errno(path, errno));
  }
  std::string text;
  std::string failed = send_text(fd.get(), request.at("text").get<std::string>());
  if (failed.empty()) failed = receive_text(fd.get(), deadline, text);
  if (!failed.empty()) return refuse("'" + path + "': " + failed);
  return {{"ok", true}, {"text", text}};
}

}  // namespace pinfold::guest
