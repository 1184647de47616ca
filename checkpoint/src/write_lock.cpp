#include "write_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

/// About the duration of a commit.
constexpr std::chrono::milliseconds kPause{1};

/// Describes an exclusive lock of a whole file.
struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// Opens the lock file and creates it if necessary. O_CLOEXEC: programs that other threads start
/// must not inherit it.
Result<UniqueFd> open_lock_file(const std::string& file) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, fmt::format("open '{}'", file));
  return fd;
}

bool is_interrupted(const LockWait& wait) {
  return wait.interrupted != nullptr && *wait.interrupted != 0;
}

/// Waits for the lock; returns false if another process holds it until `end` or an interruption.
Result<bool> lock_until(int fd, const std::string& file, const LockWait& wait,
                        Clock::time_point end) {
  while (true) {
    struct flock lock = whole_file();
    if (::fcntl(fd, F_SETLK, &lock) == 0) return true;
    if (errno != EACCES && errno != EAGAIN) {
      return fail_errno(errno, fmt::format("lock '{}'", file));
    }
    if (Clock::now() >= end || is_interrupted(wait)) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(kPause, end - Clock::now()));
  }
}

std::string holder_of(int fd) {
  struct flock lock = whole_file();
  const int failed = ::fcntl(fd, F_GETLK, &lock);
  // 0 or -1: the process is not visible from here; it may run in another container.
  if (failed != 0 || lock.l_type == F_UNLCK || lock.l_pid <= 0) return "another process";
  const auto comm =
      open_directory(fmt::format("/proc/{}", lock.l_pid)).and_then([](const auto& fs) {
        return fs->read("comm");
      });
  const std::string name = comm && *comm ? (*comm)->substr(0, (*comm)->find('\n')) : "?";
  return fmt::format("process {} ({})", lock.l_pid, name);
}

}  // namespace

// The file is opened only once: closing any other descriptor of it would release the lock.
struct WriteLock::Held {
  UniqueFd file;
};

WriteLock::WriteLock(std::unique_ptr<Held> held) : held_(std::move(held)) {}

WriteLock::~WriteLock() = default;  // closing the file releases the lock

Result<std::unique_ptr<WriteLock>> WriteLock::acquire(const std::string& file,
                                                      const std::string& queue, LockWait wait) {
  const auto begin = Clock::now();
  const auto end = begin + wait.timeout;
  bool is_locked = false;
  auto held = std::make_unique<Held>();
  {
    PINFOLD_LET(const UniqueFd next, open_lock_file(queue));
    PINFOLD_LET(held->file, open_lock_file(file));
    PINFOLD_LET(const bool is_next, lock_until(next.get(), queue, wait, end));
    if (is_next) {
      PINFOLD_LET(is_locked, lock_until(held->file.get(), file, wait, end));
    }
  }
  if (is_locked) return std::unique_ptr<WriteLock>(new WriteLock(std::move(held)));
  const auto waited = std::chrono::floor<std::chrono::milliseconds>(Clock::now() - begin);
  const bool was_interrupted = Clock::now() < end;
  return fail(
      Error{ErrorCode::kBusy, was_interrupted ? EINTR : 0,
            fmt::format("lock '{}': {} holds it; {} {} ms", file, holder_of(held->file.get()),
                        was_interrupted ? "interrupted after" : "waited for",
                        was_interrupted ? waited.count() : wait.timeout.count())});
}

}  // namespace pinfold::checkpoint
