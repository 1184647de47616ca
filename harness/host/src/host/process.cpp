#include "pinfold/harness/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <map>
#include <mutex>

namespace pinfold::harness {
namespace {

/// Higher than the descriptors that a child inherits.
constexpr int kFirstFree = 10;

/// Runs between fork and exec. On failure writes errno to `report` and exits.
[[noreturn]] void become(const ChildOptions& options, char* const* argv, std::vector<int> inherited,
                         pid_t parent, int report) {
  const auto give_up = [report] {
    const int failed = errno;
    (void)!write(report, &failed, sizeof failed);
    _exit(127);
  };
  (void)setpgid(0, 0);  // the terminal sends Ctrl-C only to the parent, which cleans up
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  sigset_t none;
  (void)sigemptyset(&none);
  (void)pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR);  // NOLINT(android-cloexec-open): inherited
  (void)dup2(null, 0);
  (void)dup2(options.output >= 0 ? options.output : null, 1);
  (void)dup2(options.output >= 0 ? options.output : null, 2);
  for (int& fd : inherited) fd = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree);
  for (std::size_t i = 0; i < inherited.size(); ++i) {
    if (inherited[i] >= 0) (void)dup2(inherited[i], 3 + static_cast<int>(i));
  }
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) give_up();
  (void)execvp(argv[0], argv);
  give_up();
  _exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  std::vector<char*> argv;
  for (const std::string& argument : options.argv) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  write_end = UniqueFd(fcntl(write_end.get(), F_DUPFD_CLOEXEC, kFirstFree));
  const pid_t parent = getpid();
  ChildProcess child;
  child.pid_ = fork();
  if (child.pid_ < 0) return fail_errno(errno, "fork");
  if (child.pid_ == 0) become(options, argv.data(), options.inherited, parent, write_end.get());
  (void)setpgid(child.pid_, child.pid_);  // in parent and child, to avoid a race
  write_end = UniqueFd();
  child.ended_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, child.pid_, 0)));
  int failed = 0;
  if (read(read_end.get(), &failed, sizeof failed) == sizeof failed) {
    return fail_errno(failed, fmt::format("run '{}'", options.argv.front()));
  }
  if (!child.ended_) return fail_errno(errno, "pidfd_open");
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ended_(std::move(other.ended_)),
      status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(ended_, other.ended_);
  std::swap(status_, other.status_);
  return *this;
}

ChildProcess::~ChildProcess() { kill_now(); }

std::optional<int> ChildProcess::wait_status() {
  int status = 0;
  if (!status_ && pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

std::optional<int> ChildProcess::wait_until(Clock::time_point deadline) {
  while (!wait_status()) {
    const auto left = std::chrono::ceil<Milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return std::nullopt;
    pollfd watched = {ended_.get(), POLLIN, 0};
    (void)poll(&watched, 1, static_cast<int>(std::min<std::int64_t>(left, 60000)));
  }
  return status_;
}

void ChildProcess::kill_now() {
  if (pid_ <= 0) return;
  // The group may contain children of the process even after it has ended.
  (void)kill(-pid_, SIGKILL);
  int status = 0;
  if (!status_ && waitpid(pid_, &status, 0) == pid_) status_ = status;
}

Result<Finished> run_program(const std::vector<std::string>& argv, Milliseconds limit) {
  const UniqueFd capture(memfd_create("output", MFD_CLOEXEC));
  if (!capture) return fail_errno(errno, "memfd_create");
  PINFOLD_LET(auto child, ChildProcess::start({argv, {}, capture.get()}));
  const auto status = child.wait_until(Clock::now() + limit);
  if (!status) {
    return fail(ErrorCode::kBusy,
                fmt::format("'{}' took longer than {} ms", argv.front(), limit.count()));
  }
  Finished finished;
  finished.exit_status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
  (void)lseek(capture.get(), 0, SEEK_SET);
  char chunk[4096];
  ssize_t got = 0;
  while ((got = read(capture.get(), chunk, sizeof chunk)) > 0) {
    finished.output.append(chunk, static_cast<std::size_t>(got));
  }
  return finished;
}

std::string file_facts(const std::filesystem::path& file) {
  std::error_code none;
  const auto time = std::filesystem::last_write_time(file, none).time_since_epoch().count();
  const auto size = std::filesystem::file_size(file, none);
  return fmt::format("{} {} {}\n", file.string(), time, size);
}

Result<Finished> ask_program(const std::vector<std::string>& argv, Milliseconds limit) {
  static std::mutex mutex;  // scenarios may run in parallel
  static std::map<std::string, Finished> answers;
  std::string question;
  for (const std::string& argument : argv) question += file_facts(argument);
  {
    const std::lock_guard lock(mutex);
    if (const auto it = answers.find(question); it != answers.end()) return it->second;
  }
  PINFOLD_LET(auto answer, run_program(argv, limit));
  const std::lock_guard lock(mutex);
  if (answer.exit_status == 0) answers.emplace(question, answer);
  return answer;
}

namespace {

/// Writes the file that replaces `path`, and returns its name.
Result<std::filesystem::path> write_draft(const std::filesystem::path& path,
                                          std::string_view bytes) {
  static std::atomic<int> number{0};  // scenarios may run in parallel
  std::filesystem::path draft =
      fmt::format("{}.{}.{}.tmp", path.string(), getpid(), number.fetch_add(1));
  errno = 0;
  std::ofstream out(draft, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (out.fail())
    return fail_errno(errno == 0 ? EIO : errno, fmt::format("write '{}'", path.string()));
  return draft;
}

}  // namespace

Result<void> check_writable(const std::filesystem::path& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    return fail_errno(EISDIR, fmt::format("write '{}'", path.string()));
  }
  PINFOLD_LET(const auto draft, write_draft(path, ""));
  std::filesystem::remove(draft, failed);
  return {};
}

Result<void> write_file(const std::filesystem::path& path, std::string_view bytes) {
  PINFOLD_LET(const auto draft, write_draft(path, bytes));
  std::error_code failed;
  std::filesystem::rename(draft, path, failed);
  if (failed) return fail_errno(failed.value(), fmt::format("write '{}'", path.string()));
  return {};
}

}  // namespace pinfold::harness
