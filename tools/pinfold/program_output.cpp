#include "program_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeLimit{10};

tl::unexpected<Error> cannot_run(const std::string& program, int sys_errno,
                                 const std::string& problem) {
  return fail(Error{ErrorCode::kIo, sys_errno, fmt::format("'{}': {}", program, problem)});
}

/// A child process that ends with this object.
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

  /// Waits for its end; returns the status from waitpid.
  int wait() {
    int status = -1;
    while (::waitpid(pid_, &status, 0) == -1 && errno == EINTR) continue;
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
};

/// Starts the program with the pipe as its standard output.
Result<pid_t> start(const std::string& program, const std::vector<std::string>& arguments,
                    int output, int errors) {
  posix_spawn_file_actions_t actions = {};
  if (::posix_spawn_file_actions_init(&actions) != 0) throw std::bad_alloc();
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::array<char*, 1> environment = {nullptr};
  pid_t pid = 0;
  int failed = ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (failed == 0) failed = ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (failed == 0) failed = ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  if (failed == 0) {
    failed =
        ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environment.data());
  }
  (void)::posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return pid;
  return cannot_run(program, failed, "cannot be run");
}

/// Returns ": " and the first line of a program's error output; "" if there is none.
std::string reason_in(int errors) {
  std::array<char, 400> buffer{};
  const ssize_t count = ::pread(errors, buffer.data(), buffer.size(), 0);
  if (count <= 0) return "";
  const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
  return ": " + std::string(text.substr(0, text.find('\n')));
}

/// Reads to the end of the pipe.
Result<std::string> read_output(const std::string& program, const std::string& shown,
                                std::size_t most, int input) {
  const auto deadline = Clock::now() + kTimeLimit;
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd polled{input, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&polled, 1, static_cast<int>(left.count()));
    if (ready == -1 && errno == EINTR) continue;
    if (ready == -1) return cannot_run(program, errno, "cannot be read");
    if (ready == 0) return cannot_run(program, 0, shown + " takes longer than 10 s");
    const ssize_t count = ::read(input, buffer.data(), buffer.size());
    if (count == -1 && errno == EINTR) continue;
    if (count == -1) return cannot_run(program, errno, "cannot be read");
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > most) return cannot_run(program, 0, shown + " prints too much");
  }
}

}  // namespace

Result<std::vector<std::string>> places_of_program(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return fail_errno(failed.value(), "/proc/self/exe");
  const fs::path libexec = here / ".." / PINFOLD_LIBEXEC / name;
  return std::vector<std::string>{here / name, libexec.lexically_normal()};
}

Result<std::string> program_output(const std::string& program,
                                   const std::vector<std::string>& arguments, std::size_t most) {
  const std::string shown = arguments.empty() ? "it" : arguments.front();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot_run(program, errno, "no pipe");
  const UniqueFd input(ends[0]);
  UniqueFd output(ends[1]);
  const UniqueFd errors(::memfd_create("errors", MFD_CLOEXEC));
  if (!errors) return cannot_run(program, errno, "no file for its messages");
  PINFOLD_LET(const auto pid, start(program, arguments, output.get(), errors.get()));
  Child child(pid);
  output.reset();
  PINFOLD_LET(auto text, read_output(program, shown, most, input.get()));
  const int status = child.wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return cannot_run(program, 0, shown + " fails" + reason_in(errors.get()));
  }
  return text;
}

}  // namespace pinfold::tools
