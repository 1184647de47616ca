#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

/// What the gate needs of the operating system. Nothing here allocates.
namespace pinfold::gate {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

/// Owns a file descriptor.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// Opens the file whose path is `parts`, one after the other. Flags: of open(2), O_CLOEXEC is
/// added.
[[nodiscard]] int open_path(std::initializer_list<std::string_view> parts, int flags);

/// Reads everything, into a buffer that must be larger. Returns nullopt if that fails.
[[nodiscard]] std::optional<std::string_view> read_all(int fd, std::span<char> buffer);

/// Reads a small file in the same way, without the line break at its end.
[[nodiscard]] std::optional<std::string_view> read_file(
    std::initializer_list<std::string_view> parts, std::span<char> buffer);

/// Waits until a descriptor is ready for `events` of poll(2). Returns false at `end`.
[[nodiscard]] bool wait_for(int fd, short events, TimePoint end);

/// The part of a wait that is left; not negative.
[[nodiscard]] std::chrono::milliseconds time_left(TimePoint end);

}  // namespace pinfold::gate
