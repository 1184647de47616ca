#include "pinfold/types/mask_sums.hpp"

#include <gtest/gtest.h>

namespace pinfold {
namespace {

TEST(MaskSums, AreThoseOfTheMembers) {
  for (const int count : {0, 1, 7, 8, 9, 16, 64}) {
    std::vector<std::uint64_t> per_node;
    for (int i = 0; i < count; ++i) per_node.push_back(std::uint64_t{1} << ((i * 37) % 64));
    const MaskSums<std::uint64_t> sums(per_node);
    const NumaMask all = NumaMask::all(count);
    for (const std::uint64_t bits :
         {std::uint64_t{0}, std::uint64_t{0x81}, std::uint64_t{0x100}, std::uint64_t{0xa5a5},
          ~(~std::uint64_t{0} >> 1U) | 1U, ~std::uint64_t{0}}) {
      const NumaMask mask = NumaMask(bits) & all;
      std::uint64_t expected = 0;
      for (const int position : mask.positions()) {
        expected += per_node[static_cast<std::size_t>(position)];
      }
      EXPECT_EQ(sums.of(mask), expected) << mask.to_string() << " of " << count;
    }
  }
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
