#include "read_in_child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold {
namespace {

/// The child first writes the size of the text, so that a truncated text is noticed.
using Size = std::uint64_t;

void limit(__rlimit_resource_t resource, rlim_t most) {
  const rlimit value = {most, most};
  (void)::setrlimit(resource, &value);
}

/// Limits the child's resources and resets its signals, so that handlers of the program do not run.
void confine() {
  constexpr rlim_t kSeconds = 20;
  limit(RLIMIT_CPU, kSeconds);
  limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__
  limit(RLIMIT_AS, rlim_t{4} << 30U);
#endif
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGXCPU}) {
    (void)::signal(signal, SIG_DFL);
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

[[noreturn]] void be_child(int out, const std::function<std::optional<std::string>()>& work) {
  confine();
  try {
    const auto text = work();
    if (!text) ::_exit(0);
    const Size size = text->size();
    const std::string_view head(reinterpret_cast<const char*>(&size), sizeof(size));
    ::_exit(write_all(out, head) && write_all(out, *text) ? 0 : 1);
  } catch (...) {
    ::_exit(1);
  }
}

Result<std::string> read_all(int fd) {
  std::string bytes;
  std::array<char, 8192> chunk = {};
  while (true) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(errno, "read from a child process");
    if (count == 0) return bytes;
    bytes.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

/// Waits for the child; returns 0 if the program that uses this library has already reaped it.
int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return status;
}

}  // namespace

Result<std::optional<std::string>> read_in_child(
    const std::function<std::optional<std::string>()>& work) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork");
  if (child == 0) be_child(out.get(), work);
  out.reset();
  auto bytes = read_all(in.get());
  const int status = wait_for(child);
  PINFOLD_TRY(bytes);
  if (WIFSIGNALED(status)) {
    const char* const name = ::sigabbrev_np(WTERMSIG(status));
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the process that read it was killed by signal {}",
                            name == nullptr ? std::to_string(WTERMSIG(status)) : name));
  }
  if (bytes->empty() && status == 0) return std::optional<std::string>();
  Size size = 0;
  if (bytes->size() >= sizeof(size)) std::memcpy(&size, bytes->data(), sizeof(size));
  if (bytes->size() != sizeof(size) + size) {
    return fail(ErrorCode::kInvalidArgument, "the process that read it failed");
  }
  return std::optional(bytes->substr(sizeof(size)));
}

}  // namespace pinfold
