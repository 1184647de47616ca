#include "pinfold/types/numa_mask.hpp"

#include <gtest/gtest.h>

namespace pinfold {
namespace {

TEST(NumaMask, NarrowerMeansFewerNodesThenLowerMask) {
  EXPECT_TRUE(NumaMask::of(3).narrower_than(NumaMask(0b0011)));
  EXPECT_TRUE(NumaMask(0b0011).narrower_than(NumaMask(0b0101)));
  EXPECT_FALSE(NumaMask(0b0101).narrower_than(NumaMask(0b0101)));
}

TEST(NumaMask, HoldsSixtyFourNodes) {
  const NumaMask all = NumaMask::all(64);
  EXPECT_EQ(all.count(), 64);
  EXPECT_TRUE(all.contains(63));
  EXPECT_EQ(all.to_string(), "0-63");
}

TEST(ForEachMask, GoesByWidthThenLexicographically) {
  std::vector<std::string> seen;
  for_each_mask(3, [&](NumaMask mask) { seen.push_back(mask.to_string()); });
  EXPECT_EQ(seen, (std::vector<std::string>{"0", "1", "2", "0-1", "0,2", "1-2", "0-2"}));
}

TEST(ForEachHintMask, IsEverySubsetUpToSixteenNodes) {
  int count = 0;
  for_each_hint_mask(16, [&](NumaMask) { ++count; });
  EXPECT_EQ(count, (1 << 16) - 1);
}

TEST(ForEachHintMask, WideMasksOfLargerMachinesAreRunsOfNeighbours) {
  int narrow = 0;
  std::vector<std::string> wide;
  for_each_hint_mask(17, [&](NumaMask mask) {
    if (mask.count() <= 3) {
      ++narrow;
    } else if (mask.count() >= 15) {
      wide.push_back(mask.to_string());
    }
  });
  EXPECT_EQ(narrow, 17 + 17 * 16 / 2 + 17 * 16 * 15 / 6);
  EXPECT_EQ(wide, (std::vector<std::string>{"0-14", "1-15", "2-16", "0-15", "1-16", "0-16"}));
}

TEST(ForEachHintMask, EndsOnSixtyFourNodes) {
  int count = 0;
  for_each_hint_mask(64, [&](NumaMask) { ++count; });
  EXPECT_EQ(count, 64 + 2016 + 41664 + 61 * 62 / 2);
}

}  // namespace
}  // namespace pinfold
