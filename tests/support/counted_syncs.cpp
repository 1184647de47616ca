#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "counted_calls.hpp"

namespace {

// NOLINTNEXTLINE(*-avoid-non-const-global-variables)
std::atomic<std::uint64_t> sync_calls = 0;

}  // namespace

extern "C" {
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): C libraries use other names
int fsync(int fd) {
  ++sync_calls;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  ++sync_calls;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
}

namespace pinfold::test {

std::uint64_t syncs() { return sync_calls; }

}  // namespace pinfold::test
