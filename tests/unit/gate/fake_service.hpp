#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "unix_listener.hpp"

namespace pinfold::gate {

/// A service whose behaviour is a function of the connection; it serves one connection at a time.
class FakeService {
 public:
  using Serve = std::function<void(int connection)>;
  FakeService(const std::string& path, Serve serve)
      : listener_(path), thread_([this, serve = std::move(serve)] {
          while (!is_over_) {
            const UniqueFd connection = listener_.accept();
            if (connection) serve(connection.get());
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  FakeService(const FakeService&) = delete;
  FakeService& operator=(const FakeService&) = delete;
  ~FakeService() {
    is_over_ = true;
    thread_.join();
  }
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  test::UnixListener listener_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

/// Reads a line of a client; "" if it has disconnected.
inline std::string receive_line(int connection) {
  std::string line;
  char c = 0;
  for (;;) {
    pollfd poll{connection, POLLIN, 0};
    (void)::poll(&poll, 1, -1);
    if (::recv(connection, &c, 1, 0) <= 0) return "";
    if (c == '\n') return line;
    line += c;
  }
}

inline void send_line(int connection, const std::string& line) {
  const std::string text = line + "\n";
  (void)::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace pinfold::gate
