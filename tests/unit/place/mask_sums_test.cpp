#include "pinfold/place/mask_sums.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pinfold::place {
namespace {

TEST(MaskSums, AreThoseOfTheMembers) {
  for (const int count : {0, 1, 7, 8, 9, 16, 64}) {
    std::vector<std::uint64_t> per_node;
    for (int i = 0; i < count; ++i) per_node.push_back(std::uint64_t{1} << ((i * 37) % 64));
    HeapArena memory(8192);
    const MaskSums<std::uint64_t> sums(std::span<const std::uint64_t>(per_node), memory.arena());
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

}  // namespace
}  // namespace pinfold::place
