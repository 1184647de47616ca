#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

/// The gate's access to the operating system. Nothing here allocates.
namespace pinfold::gate {

/// Returns the time of CLOCK_MONOTONIC in milliseconds.
[[nodiscard]] std::int64_t now_ms();

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

/// Waits until a descriptor is ready for `events` of poll(2). Returns false at `end_ms`.
[[nodiscard]] bool wait_for(int fd, short events, std::int64_t end_ms);

/// Returns the milliseconds until `end_ms`; not negative.
[[nodiscard]] std::int64_t time_left_ms(std::int64_t end_ms);

}  // namespace pinfold::gate
