#include "pinfold/types/cpuset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace pinfold {
namespace {

TEST(CpuSetParse, RoundTripsLists) {
  for (const char* list : {"", "0", "0-3", "0-3,8,10-11", "63-64", "1023-1024", "8191", "65535"}) {
    const auto set = CpuSet::parse(list);
    ASSERT_TRUE(set) << list << ": " << set.error().message;
    EXPECT_EQ(set->to_string(), list);
  }
}

TEST(CpuSet, CountsEveryCpuOnce) {
  CpuSet odd;
  for (std::int32_t last = 0; last < 1200; ++last) {
    const CpuSet all = CpuSet::range(0, last);
    EXPECT_EQ(all.size(), static_cast<std::size_t>(last) + 1);
    if (last % 2 == 1) odd.insert(CpuId{last});
    EXPECT_EQ(odd.size(), static_cast<std::size_t>(last + 1) / 2);
    EXPECT_EQ(all.count_common(odd), odd.size());
    EXPECT_TRUE(all.contains_all(odd));
    EXPECT_EQ(odd.contains_all(all), false);
  }
}

TEST(CpuSetParse, MergesUnorderedAndOverlappingRanges) {
  EXPECT_EQ(CpuSet::parse("4,0-2,1-3")->to_string(), "0-4");
}

TEST(CpuSetParse, RejectsWithGoText) {
  const struct {
    const char* list;
    const char* message;
  } cases[] = {
      {"3-1", "invalid range \"3-1\" (3 > 1)"},
      {"a", "strconv.Atoi: parsing \"a\": invalid syntax"},
      {"0-", "strconv.Atoi: parsing \"\": invalid syntax"},
      {"-1", "strconv.Atoi: parsing \"\": invalid syntax"},
      {"0,", "strconv.Atoi: parsing \"\": invalid syntax"},
      {" 1", "strconv.Atoi: parsing \" 1\": invalid syntax"},
      {"1 2", "strconv.Atoi: parsing \"1 2\": invalid syntax"},
      {"99999999999999999999",
       "strconv.Atoi: parsing \"99999999999999999999\": value out of range"},
      {"65536", "cpu id 65536 is out of range, expected 0 to 65535"},
  };
  for (const auto& c : cases) {
    const auto set = CpuSet::parse(c.list);
    ASSERT_FALSE(set) << c.list;
    EXPECT_EQ(set.error().message, c.message) << c.list;
  }
}

TEST(CpuSet, SetAlgebraAcrossWords) {
  const CpuSet a = CpuSet::range(60, 70);
  const CpuSet b = CpuSet::range(66, 200);
  EXPECT_EQ((a | b).to_string(), "60-200");
  EXPECT_EQ((a & b).to_string(), "66-70");
  EXPECT_EQ((a - b).to_string(), "60-65");
  EXPECT_EQ((b - a).to_string(), "71-200");
  EXPECT_EQ(a.count_common(b), 5U);
  EXPECT_TRUE(a.intersects(b));
  EXPECT_FALSE((a - b).intersects(b));
  EXPECT_TRUE((a | b).contains_all(a));
  EXPECT_FALSE(a.contains_all(b));
}

TEST(CpuSet, EqualityDoesNotDependOnHistory) {
  const CpuSet common = CpuSet::range(0, 5000) & (CpuSet::range(0, 9) | CpuSet::range(5001, 6000));
  EXPECT_EQ(common, CpuSet::range(0, 9));
  CpuSet a{1, 5000};
  a.erase(CpuId{5000});
  EXPECT_EQ(a, CpuSet{1});
  EXPECT_EQ(a.last(), CpuId{1});
  a.erase(CpuId{1});
  EXPECT_EQ(a, CpuSet{});
  EXPECT_TRUE(a.empty());
}

TEST(CpuSet, IteratesInAscendingOrder) {
  const CpuSet set{300, 2, 64, 63};
  std::vector<int> ids;
  for (const CpuId cpu : set) ids.push_back(cpu.value);
  EXPECT_EQ(ids, (std::vector<int>{2, 63, 64, 300}));
  EXPECT_EQ(set.first(), CpuId{2});
  EXPECT_EQ(set.last(), CpuId{300});
  EXPECT_EQ(set.size(), 4U);
}

}  // namespace
}  // namespace pinfold
