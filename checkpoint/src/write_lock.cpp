#include "write_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/interprocess/sync/file_lock.hpp>
#include <cerrno>
#include <thread>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::checkpoint {
namespace {

using boost::interprocess::file_lock;
using Clock = std::chrono::steady_clock;

/// About the time of a commit. file_lock::timed_lock polls every 6 ms.
constexpr std::chrono::milliseconds kPause{1};

bool lock_until(file_lock& lock, Clock::time_point end) {
  while (!lock.try_lock()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(kPause, end - Clock::now()));
  }
  return true;
}

/// An existing file is not even opened: closing it would release a lock of this process.
Result<void> make_if_missing(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd && errno != EEXIST) return fail_errno(errno, fmt::format("create '{}'", file));
  return {};
}

/// Domain: this process has no lock on the file, because closing the file would release it.
std::string holder_of(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return "another process";
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const int failed = ::fcntl(fd.get(), F_GETLK, &lock);
  // 0 or -1: the process is not visible from here. It may run in another container.
  if (failed != 0 || lock.l_type == F_UNLCK || lock.l_pid <= 0) return "another process";
  const auto comm =
      open_directory(fmt::format("/proc/{}", lock.l_pid)).and_then([](const auto& fs) {
        return fs->read("comm");
      });
  const std::string name = comm && *comm ? (*comm)->substr(0, (*comm)->find('\n')) : "?";
  return fmt::format("process {} ({})", lock.l_pid, name);
}

}  // namespace

// The file is opened once: closing any other descriptor of it would release the lock.
struct WriteLock::Held {
  file_lock lock;
};

WriteLock::WriteLock(std::unique_ptr<Held> held) : held_(std::move(held)) {}

WriteLock::~WriteLock() = default;  // closing the file releases the lock

Result<std::unique_ptr<WriteLock>> WriteLock::acquire(const std::string& file,
                                                      const std::string& queue,
                                                      std::chrono::milliseconds timeout) {
  PINFOLD_TRY(make_if_missing(file));
  PINFOLD_TRY(make_if_missing(queue));
  try {
    const auto end = Clock::now() + timeout;
    bool locked = false;
    auto held = std::make_unique<Held>();
    {
      file_lock next(queue.c_str());
      held->lock = file_lock(file.c_str());
      locked = lock_until(next, end) && lock_until(held->lock, end);
    }
    if (locked) return std::unique_ptr<WriteLock>(new WriteLock(std::move(held)));
    held.reset();
    return fail(ErrorCode::kBusy, fmt::format("lock '{}': {} holds it; waited for {} ms", file,
                                              holder_of(file), timeout.count()));
  } catch (const boost::interprocess::interprocess_exception& error) {
    return fail_errno(error.get_native_error(), fmt::format("lock '{}'", file));
  }
}

}  // namespace pinfold::checkpoint
