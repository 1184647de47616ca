#include "counted_calls.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

// NOLINTBEGIN(*-avoid-non-const-global-variables)
std::atomic<std::uint64_t> allocation_calls = 0;
std::atomic<std::uint64_t> sync_calls = 0;
// NOLINTEND(*-avoid-non-const-global-variables)

}  // namespace

void* operator new(std::size_t size) {
  allocation_calls.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

extern "C" {
int fsync(int fd) {
  ++sync_calls;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  ++sync_calls;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
}

namespace pinfold::test {

std::uint64_t allocations() { return allocation_calls; }
std::uint64_t syncs() { return sync_calls; }

}  // namespace pinfold::test
