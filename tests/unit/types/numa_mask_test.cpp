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

}  // namespace
}  // namespace pinfold
