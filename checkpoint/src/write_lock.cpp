#include "write_lock.hpp"

#include <fmt/format.h>

#include <boost/date_time/posix_time/posix_time_types.hpp>
#include <boost/interprocess/sync/file_lock.hpp>

namespace pinfold::checkpoint {

// The file is opened once: closing any other descriptor of it would release the lock.
struct WriteLock::Held {
  boost::interprocess::file_lock lock;
};

WriteLock::WriteLock(std::unique_ptr<Held> held) : held_(std::move(held)) {}

WriteLock::~WriteLock() = default;  // closing the file releases the lock

Result<std::unique_ptr<WriteLock>> WriteLock::acquire(const std::string& file,
                                                      std::chrono::milliseconds timeout) {
  try {
    auto held = std::make_unique<Held>(Held{boost::interprocess::file_lock(file.c_str())});
    const auto end = boost::posix_time::microsec_clock::universal_time() +
                     boost::posix_time::milliseconds(timeout.count());
    if (!held->lock.try_lock() && !held->lock.timed_lock(end)) {
      return fail(ErrorCode::kBusy,
                  fmt::format("lock '{}': another process holds it, and did for {} ms", file,
                              timeout.count()));
    }
    return std::unique_ptr<WriteLock>(new WriteLock(std::move(held)));
  } catch (const boost::interprocess::interprocess_exception& error) {
    return fail_errno(error.get_native_error(), fmt::format("lock '{}'", file));
  }
}

}  // namespace pinfold::checkpoint
