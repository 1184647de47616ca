#include "kubelet_version.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <new>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeLimit{10};
constexpr std::size_t kMostBytes = 256;

tl::unexpected<Error> cannot_run(const std::string& program, int sys_errno,
                                 const std::string& problem) {
  return fail(Error{ErrorCode::kIo, sys_errno, fmt::format("'{}': {}", program, problem)});
}

/// A child process, which ends with this object.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)wait();
  }

  /// Waits for its end; the status as waitpid gives it.
  int wait() {
    int status = -1;
    while (::waitpid(pid_, &status, 0) == -1 && errno == EINTR) continue;
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
};

/// Starts `program --version` with the pipe as its standard output.
Result<pid_t> start(const std::string& program, int output) {
  posix_spawn_file_actions_t actions = {};
  if (::posix_spawn_file_actions_init(&actions) != 0) throw std::bad_alloc();
  std::string path = program;
  std::string option = "--version";
  const std::array<char*, 3> arguments = {path.data(), option.data(), nullptr};
  const std::array<char*, 1> environment = {nullptr};
  pid_t pid = 0;
  int failed = ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (failed == 0) failed = ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (failed == 0) {
    failed =
        ::posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments.data(), environment.data());
  }
  (void)::posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return pid;
  return cannot_run(program, failed, "cannot be run");
}

/// Reads to the end of the pipe.
Result<std::string> read_output(const std::string& program, int input) {
  const auto deadline = Clock::now() + kTimeLimit;
  std::string text;
  std::array<char, kMostBytes + 1> buffer{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd polled{input, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&polled, 1, static_cast<int>(left.count()));
    if (ready == -1 && errno == EINTR) continue;
    if (ready == -1) return cannot_run(program, errno, "cannot be read");
    if (ready == 0) return cannot_run(program, 0, "--version takes longer than 10 s");
    const ssize_t count = ::read(input, buffer.data(), buffer.size());
    if (count == -1 && errno == EINTR) continue;
    if (count == -1) return cannot_run(program, errno, "cannot be read");
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kMostBytes) return cannot_run(program, 0, "--version prints too much");
  }
}

}  // namespace

Result<std::string> kubelet_version(const std::string& program) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot_run(program, errno, "no pipe");
  const UniqueFd input(ends[0]);
  UniqueFd output(ends[1]);
  PINFOLD_LET(const auto pid, start(program, output.get()));
  Child child(pid);
  output.reset();
  PINFOLD_LET(auto text, read_output(program, input.get()));
  const int status = child.wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return cannot_run(program, 0, "--version fails");
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace pinfold::tools
