#include "pinfold/place/cpu_tree.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pinfold::place {
namespace {

/// 700 cores of two threads, whose numbers are 700 apart, on two NUMA nodes.
CpuTree far_siblings() {
  std::vector<CpuPlace> cpus;
  for (int i = 0; i < 1400; ++i) {
    const int core = i % 700;
    cpus.push_back({i, core, core / 350, core / 350, core / 7});
  }
  return {cpus, 2};
}

std::vector<std::int32_t> list(std::span<const std::int32_t> indices) {
  return {indices.begin(), indices.end()};
}

TEST(CpuTree, GroupsHaveTheirCpusInEveryWord) {
  const CpuTree tree = far_siblings();
  for (const Level level : {Level::kNuma, Level::kSocket, Level::kCache, Level::kCore}) {
    int sum = 0;
    for (const CpuGroup& group : tree.groups(level)) {
      EXPECT_EQ(count_common(tree.all(), group), group.size);
      sum += group.size;
    }
    EXPECT_EQ(sum, 1400) << to_string(level);
  }
  for_each_cpu(tree.all(), [&](std::int32_t cpu) {
    const CpuGroup& core = tree.group(Level::kCore, tree.group_of(Level::kCore, cpu));
    ASSERT_EQ(core.size, 2);
    ASSERT_EQ(first_common(tree.all(), core), cpu % 700);
    ASSERT_NE(core.word(static_cast<std::size_t>(cpu / kBits)) >> (cpu % kBits) & 1U, 0U);
  });
}

TEST(CpuTree, SortsByFreeCpusThenById) {
  const CpuTree tree = far_siblings();
  HeapArena memory(std::size_t{1} << 20U);
  const Cpus free = memory.arena().make<Word>(tree.words());
  for (const int cpu : {0, 700, 1, 351, 352, 1052, 353, 1053}) insert(free, cpu);
  EXPECT_EQ(list(tree.sorted(Level::kNuma, free, memory.arena())),
            (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(list(tree.sorted(Level::kCore, free, memory.arena())),
            (std::vector<std::int32_t>{1, 0, 351, 352, 353}));
  for (const int cpu : {2, 3, 4, 5, 6, 7, 8}) insert(free, cpu);
  EXPECT_EQ(list(tree.sorted(Level::kNuma, free, memory.arena())),
            (std::vector<std::int32_t>{1, 0}));
}

TEST(Arena, ThrowsBeyondItsMemoryAndTakesBackAScope) {
  std::array<std::byte, 256> bytes{};
  Arena arena(bytes);
  {
    const Arena::Scope scope(arena);
    EXPECT_EQ(arena.make<std::uint64_t>(20).size(), 20U);
    EXPECT_THROW((void)arena.make<std::uint64_t>(20), std::bad_alloc);
  }
  EXPECT_EQ(arena.make<std::uint64_t>(20)[19], 0U);
  EXPECT_THROW((void)Arena({}).make<char>(1), std::bad_alloc);
}

}  // namespace
}  // namespace pinfold::place
