#include "pinfold/types/numa_mask.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

TEST(LowestHintMask, IsTheLowestEnumeratedMask) {
  for (const int nodes : {1, 2, 5, 17, 64}) {
    for (int width = 1; width <= std::min(nodes, 5); ++width) {
      // Accepts only masks with the highest position, so that all others are tried first.
      const auto suits = [&](NumaMask mask) { return mask.contains(nodes - 1); };
      NumaMask lowest;
      for_each_hint_mask_of_width(nodes, width, [&](NumaMask mask) {
        if (suits(mask) && (lowest.empty() || mask < lowest)) lowest = mask;
      });
      EXPECT_EQ(lowest_hint_mask(nodes, width, suits), lowest) << nodes << " nodes, " << width;
    }
  }
}

TEST(LowestHintMask, TriesEveryMask) {
  for (const int nodes : {1, 5, 16, 20, 64}) {
    for (const int width : {1, 2, 3, 4, nodes}) {
      if (width > nodes) continue;
      int enumerated = 0;
      for_each_hint_mask_of_width(nodes, width, [&](NumaMask) { ++enumerated; });
      int looked_at = 0;
      const NumaMask found = lowest_hint_mask(nodes, width, [&](NumaMask mask) {
        EXPECT_EQ(mask.count(), width);
        ++looked_at;
        return false;
      });
      EXPECT_TRUE(found.empty());
      EXPECT_EQ(looked_at, enumerated) << nodes << " nodes, " << width;
    }
  }
}

TEST(ForEachChoice, StopsIfTheVisitorReturnsFalse) {
  std::vector<std::vector<int>> seen;
  for_each_choice(4, 2, [&](std::span<const int> members) {
    seen.emplace_back(members.begin(), members.end());
    return seen.size() == 4 ? Enumeration::kStop : Enumeration::kContinue;
  });
  EXPECT_EQ(seen, (std::vector<std::vector<int>>{{0, 1}, {0, 2}, {0, 3}, {1, 2}}));
  for_each_choice(2, 3, [&](std::span<const int> /*members*/) {
    ADD_FAILURE() << "2 numbers have no choice of 3";
    return Enumeration::kStop;
  });
}

TEST(NumaMask, CountsItsNodes) {
  NumaMask mask;
  for (int i = 0; i < NumaMask::kMaxNodes; ++i) {
    EXPECT_EQ(mask.count(), i);
    mask = mask | NumaMask::of((i * 29) % NumaMask::kMaxNodes);
  }
  EXPECT_EQ(mask.count(), NumaMask::kMaxNodes);
}

}  // namespace
}  // namespace pinfold
