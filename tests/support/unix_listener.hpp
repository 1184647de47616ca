#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::test {

/// Listens on a Unix socket and never waits.
class UnixListener {
 public:
  /// Throws on failure.
  explicit UnixListener(const std::string& path)
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), std::begin(address.sun_path));
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (::bind(listener_.get(), generic, sizeof address) != 0 ||
        ::listen(listener_.get(), 8) != 0) {
      throw std::runtime_error("listen on " + path);
    }
  }

  /// Returns the next connection if a client has connected; does not wait.
  [[nodiscard]] UniqueFd accept() const {
    return UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  }

 private:
  UniqueFd listener_;
};

}  // namespace pinfold::test
