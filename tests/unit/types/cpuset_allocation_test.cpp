// A separate program, because it replaces its allocation functions.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "pinfold/types/cpuset.hpp"

namespace {

// Counts allocations by operator new. NOLINTNEXTLINE(*-avoid-non-const-global-variables)
std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace pinfold {
namespace {

TEST(CpuSetAllocation, NoneBelow1024Cpus) {
  const std::size_t before = allocations;
  const CpuSet all = CpuSet::range(0, 1023);
  CpuSet copy = (all - CpuSet::range(100, 200)) | CpuSet{1023, 150};
  copy.insert(CpuId{512});
  copy.erase(CpuId{0});
  const auto parsed = CpuSet::parse("0-3,8,1000-1023");
  std::size_t sum = 0;
  for (const CpuId cpu : copy&* parsed) sum += static_cast<std::size_t>(cpu.value);
  const std::size_t after = allocations;
  EXPECT_EQ(after, before);
  EXPECT_GT(sum, 0U);
}

TEST(CpuSetAllocation, IsCounted) {
  const std::size_t before = allocations;
  const CpuSet far = CpuSet::of(CpuId{8191});
  EXPECT_GT(allocations, before) << far;
}

}  // namespace
}  // namespace pinfold
