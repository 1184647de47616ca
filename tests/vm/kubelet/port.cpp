#include "port.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace pinfold::test {
namespace {

constexpr std::uint16_t kReadOnlyPort = 10255;

void send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace

UniqueFd listen_read_only() {
  UniqueFd port(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  (void)setsockopt(port.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kReadOnlyPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);  // NOLINT: the sockets' own way
  if (bind(port.get(), name, sizeof address) != 0 || listen(port.get(), 8) != 0) return {};
  return port;
}

void answer_one(int port, std::chrono::milliseconds time,
                const std::function<std::string()>& list) {
  pollfd watched = {port, POLLIN, 0};
  if (poll(&watched, 1, static_cast<int>(time.count())) != 1) return;
  const UniqueFd client(accept4(port, nullptr, nullptr, SOCK_CLOEXEC));
  std::array<char, 4096> request{};
  const ssize_t got = read(client.get(), request.data(), request.size());
  const std::string_view asked(request.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  if (!asked.starts_with("GET /pods")) {
    send_all(client.get(), "HTTP/1.0 404 Not Found\r\n\r\n");
    return;
  }
  const std::string text = list();
  send_all(client.get(), fmt::format("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n"
                                     "Content-Length: {}\r\n\r\n{}",
                                     text.size(), text));
}

}  // namespace pinfold::test
