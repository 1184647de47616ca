#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "counted_calls.hpp"

namespace {

// NOLINTNEXTLINE(*-avoid-non-const-global-variables)
std::atomic<std::uint64_t> allocation_calls = 0;

}  // namespace

// Not inlined: a compiler that sees only one half of a pair reports a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  allocation_calls.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace pinfold::test {

std::uint64_t allocations() { return allocation_calls; }

}  // namespace pinfold::test
