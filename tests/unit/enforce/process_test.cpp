#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "pinfold/enforce/page_placement.hpp"
#include "pinfold/enforce/processes.hpp"

/// Processes and their memory, as /proc describes them.
namespace pinfold::enforce {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(PagePlacement, AddsUpNodesByPageSize) {
  const PagesByNode pages = parse_numa_maps(
      "55d0 default file=/N9=1/x mapped=3 N0=2 N1=1 kernelpagesize_kB=4\n"
      "7f00 bind:1 huge anon=1 N1=1 kernelpagesize_kB=2048\n"
      "7f01 default\nN=1 Nx=2 N1= N-1=4\n");
  EXPECT_THAT(pages, ElementsAre(Pair(0, 8192U), Pair(1, 4096U + (2U << 20U))));
  EXPECT_DOUBLE_EQ(share_on({{0, 1}, {1, 3}}, CpuSet{1}), 0.75);
  EXPECT_DOUBLE_EQ(share_on({}, CpuSet{1}), 1);
}

TEST(PagePlacement, CountsBytesThatAreOnAnotherNodeThanBefore) {
  EXPECT_EQ(moved_bytes({{0, 100}, {1, 5}}, {{1, 80}, {2, 25}}), 100U);
  EXPECT_EQ(moved_bytes({{0, 100}}, {{0, 100}}), 0U);
  EXPECT_EQ(moved_bytes({{0, 100}}, {}), 0U);
}

TEST(MovePages, DoesNothingForAProcessWithoutPagesElsewhere) {
  NodeSet all;
  for (const auto& [node, bytes] : pages_of(::getpid())) all |= NodeSet::of(CpuId{node});
  EXPECT_TRUE(migrate_pages(::getpid(), all).has_value());
  EXPECT_TRUE(migrate_pages(0x7ffffff0, NodeSet{0}).has_value());
}

TEST(ProcessList, IdentifiesThisProcess) {
  EXPECT_TRUE(identify(::getpid()).has_value());
  EXPECT_FALSE(identify(0x7ffffff0).has_value());
  EXPECT_TRUE(is_within("/kubepods/pod1/a", "pod1/a"));
  EXPECT_TRUE(is_within("/pod1/a/nested", "pod1/a"));
  EXPECT_FALSE(is_within("/pod1/ab", "pod1/a"));
  EXPECT_FALSE(is_within("/", "pod1/a"));
}

}  // namespace
}  // namespace pinfold::enforce
