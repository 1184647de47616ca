#include "pinfold/process/notify.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/socket/unix_socket.hpp"

namespace pinfold::process {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

void Notifier::send(std::string_view message) const {
  auto address = socket::socket_address(socket_);
  if (!address) return;
  const std::size_t size = offsetof(sockaddr_un, sun_path) + socket_.size();
  if (socket_.front() == '@') address->sun_path[0] = '\0';  // abstract address
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  (void)::sendto(socket.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 socket::generic(*address), static_cast<socklen_t>(size));
}

std::optional<std::chrono::microseconds> watchdog_time(const std::string& usec,
                                                       const std::string& pid) {
  const auto time = parse_number<std::int64_t>(usec);
  if (!time || *time <= 0) return std::nullopt;
  if (!pid.empty() && parse_number<pid_t>(pid) != ::getpid()) return std::nullopt;
  return std::chrono::microseconds(*time);
}

std::string reloading_message() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  constexpr std::int64_t kMicroseconds = 1'000'000;
  constexpr std::int64_t kNanoseconds = 1000;
  return fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                     now.tv_sec * kMicroseconds + now.tv_nsec / kNanoseconds);
}

}  // namespace pinfold::process
