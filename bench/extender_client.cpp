// extender-client PORT: sends calls to an extender over one connection that is kept, and measures
// each from the first byte of the request to the last of the answer. bench/extender starts it.
//
// Standard input has calls, "VERB BYTES\n" and a body of so many bytes; standard output an answer
// for each, "NANOSECONDS BYTES\n" and its body.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using Clock = std::chrono::steady_clock;

/// A connection to a port of this machine.
class Connection {
 public:
  explicit Connection(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    (void)::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // as Go's clients do
    // The interface of sockets demands the cast.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("no connection");
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::close(socket_); }

  /// Returns the body of the answer.
  std::string call(const std::string& verb, const std::string& body) {
    send("POST /" + verb +
         " HTTP/1.1\r\nHost: extender\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body);
    std::string answer;
    std::size_t end = std::string::npos;
    while ((end = answer.find("\r\n\r\n")) == std::string::npos) receive(answer);
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::size_t at = answer.find(kLength);
    if (!answer.starts_with("HTTP/1.1 200 ") || at > end) throw std::runtime_error(answer);
    const std::size_t whole =
        end + 4 + std::strtoull(answer.c_str() + at + kLength.size(), nullptr, 10);
    answer.reserve(whole);
    while (answer.size() < whole) receive(answer);
    return answer.substr(end + 4);
  }

 private:
  void send(const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t part = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (part <= 0) throw std::runtime_error("the connection ends");
      sent += static_cast<std::size_t>(part);
    }
  }
  void receive(std::string& text) {
    std::array<char, 65'536> buffer;
    const ssize_t part = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (part <= 0) throw std::runtime_error("the connection ends");
    text.append(buffer.data(), static_cast<std::size_t>(part));
  }

  int socket_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("expected PORT");
    Connection connection(static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10)));
    std::string verb;
    std::size_t size = 0;
    while (std::cin >> verb >> size && std::cin.get() == '\n') {
      std::string body(size, '\0');
      std::cin.read(body.data(), static_cast<std::streamsize>(size));
      const auto start = Clock::now();
      const std::string answer = connection.call(verb, body);
      const std::chrono::nanoseconds passed = Clock::now() - start;
      std::cout << passed.count() << ' ' << answer.size() << '\n' << answer << std::flush;
    }
    return 0;
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "extender-client: %s\n", error.what());
    return 1;
  }
}
