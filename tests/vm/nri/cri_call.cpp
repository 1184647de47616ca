#include "cri_call.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::driver {
namespace {

constexpr const char* kSocket = "/run/pinfold-cri.sock";

[[noreturn]] void fail_call(const std::string& what, const std::string& why) {
  throw std::runtime_error(what + ": " + why);
}

UniqueFd connect_to_client() {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (void)std::strncpy(address.sun_path, kSocket, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail_call(kSocket, strerrordesc_np(errno));
  }
  return fd;
}

std::string read_to_end(int fd) {
  std::string answer;
  char chunk[4096];
  for (ssize_t got = 0; (got = read(fd, chunk, sizeof chunk)) > 0;) {
    answer.append(chunk, static_cast<std::size_t>(got));
  }
  return answer;
}

}  // namespace

nlohmann::json call(const std::string& method, const nlohmann::json& request) {
  const UniqueFd fd = connect_to_client();
  const std::string text =
      nlohmann::json({{"method", method}, {"request", request}, {"timeLimitMs", 120000}}).dump();
  if (send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()) ||
      shutdown(fd.get(), SHUT_WR) != 0) {
    fail_call(method, strerrordesc_np(errno));
  }
  const std::string answer = read_to_end(fd.get());
  const nlohmann::json reply = nlohmann::json::parse(answer, nullptr, false);
  if (!reply.is_object() || !reply.contains("reply")) fail_call(method, answer);
  return reply["reply"];
}

}  // namespace pinfold::driver
