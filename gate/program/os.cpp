#include "os.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

#include "pinfold/gate/line.hpp"

namespace pinfold::gate {

Fd::~Fd() {
  if (fd_ >= 0) (void)::close(fd_);
}

int open_path(std::initializer_list<std::string_view> parts, int flags) {
  std::array<char, PATH_MAX> buffer{};
  Line path({buffer.data(), buffer.size() - 1});
  for (const std::string_view part : parts) path.add(part);
  if (!path.fits()) return -1;
  return ::open(buffer.data(), flags | O_CLOEXEC);
}

std::optional<std::string_view> read_all(int fd, std::span<char> buffer) {
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t got = ::read(fd, buffer.data() + size, buffer.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return std::string_view(buffer.data(), size);
    size += static_cast<std::size_t>(got);
  }
  return std::nullopt;
}

std::optional<std::string_view> read_file(std::initializer_list<std::string_view> parts,
                                          std::span<char> buffer) {
  const Fd fd(open_path(parts, O_RDONLY));
  auto text = fd ? read_all(fd.get(), buffer) : std::nullopt;
  if (text && text->ends_with('\n')) text->remove_suffix(1);
  return text;
}

std::int64_t now_ms() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::int64_t time_left_ms(std::int64_t end_ms) {
  return std::max(end_ms - now_ms(), std::int64_t{0});
}

bool wait_for(int fd, short events, std::int64_t end_ms) {
  for (;;) {
    const int left = static_cast<int>(time_left_ms(end_ms));
    pollfd poll{fd, events, 0};
    const int ready = ::poll(&poll, 1, left);
    if (ready > 0) return true;
    if (left == 0 || (ready < 0 && errno != EINTR)) return false;
  }
}

}  // namespace pinfold::gate
