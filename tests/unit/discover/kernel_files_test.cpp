#include "pinfold/discover/kernel_files.hpp"

#include <gtest/gtest.h>

namespace pinfold {
namespace {

TEST(CpuMask, ReadsWordsFromTheRight) {
  struct {
    const char* text;
    const char* cpus;
  } cases[] = {
      {"0", ""},
      {"03", "0-1"},
      {"00000000,00000003", "0-1"},
      {"0000,00000000,0000000c", "2-3"},
      {"1,00000000", "32"},
      {"80000001,00000000,ffffffff", "0-31,64,95"},
  };
  for (const auto& c : cases) {
    const auto cpus = parse_cpu_mask(c.text);
    ASSERT_TRUE(cpus) << c.text << ": " << cpus.error().message;
    EXPECT_EQ(cpus->to_string(), c.cpus) << c.text;
  }
}

TEST(CpuMask, RejectsInvalidMasks) {
  for (const char* text : {"", ",", "g", "0x1", "000000000", "1,,1", "1 ", "-1"}) {
    const auto cpus = parse_cpu_mask(text);
    ASSERT_FALSE(cpus) << "'" << text << "'";
    EXPECT_EQ(cpus.error().message,
              "'" + std::string(text) +
                  "': expected a mask of hexadecimal words of up to 8 digits, such as "
                  "'00000000,000000ff'");
  }
}

TEST(CpuMask, RejectsCpusAboveTheDomain) {
  std::string mask = "1";
  for (int word = 0; word < CpuSet::kMaxCpus / 32 - 1; ++word) mask += ",00000000";
  EXPECT_TRUE(parse_cpu_mask(mask));
  EXPECT_FALSE(parse_cpu_mask(mask + ",00000000"));
  mask[0] = '0';
  EXPECT_TRUE(parse_cpu_mask(mask + ",00000000"));
}

TEST(MemTotal, ReadsBothForms) {
  EXPECT_EQ(*parse_mem_total("MemTotal:   16 kB\nMemFree: 3 kB"), 16U * 1024);
  EXPECT_EQ(*parse_mem_total("\nNode 3 MemTotal:  0 kB"), 0U);
  EXPECT_EQ(*parse_mem_total("MemTotal: 9007199254740991 kB"), (std::uint64_t{1} << 63U) - 1024);
  EXPECT_FALSE(parse_mem_total("MemTotal: 9007199254740992 kB"));
  EXPECT_FALSE(parse_mem_total("MemTotal: 18014398509481984 kB"));
  EXPECT_FALSE(parse_mem_total("MemTotal: 16"));
  EXPECT_FALSE(parse_mem_total("MemTotal: 16 MB"));
  EXPECT_FALSE(parse_mem_total("MemTotal: 16 kB kB"));
  EXPECT_FALSE(parse_mem_total(""));
}

TEST(Distances, ReadsARow) {
  EXPECT_EQ(*parse_distances("10 21  31"), (std::vector<std::uint32_t>{10, 21, 31}));
  EXPECT_TRUE(parse_distances("")->empty());
  EXPECT_FALSE(parse_distances("10,21"));
  EXPECT_FALSE(parse_distances("10 -1"));
  EXPECT_FALSE(parse_distances("4294967296"));
}

TEST(HugepageResource, IsNamedAsKubernetesNamesIt) {
  EXPECT_EQ(hugepage_resource(64), "hugepages-64Ki");
  EXPECT_EQ(hugepage_resource(2048), "hugepages-2Mi");
  EXPECT_EQ(hugepage_resource(32768), "hugepages-32Mi");
  EXPECT_EQ(hugepage_resource(1048576), "hugepages-1Gi");
  EXPECT_EQ(hugepage_resource(16777216), "hugepages-16Gi");
  EXPECT_EQ(hugepage_resource(1536), "hugepages-1536Ki");
  EXPECT_EQ(hugepage_resource(std::uint64_t{1} << 40U), "hugepages-1Pi");
  EXPECT_EQ(hugepage_resource(std::uint64_t{1} << 50U), "hugepages-1024Pi");
}

TEST(KernelFiles, TruncatesLongValuesInMessages) {
  const auto id = parse_id(std::string(500, '\n'));
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().message, "'" + std::string(60, '?') + "...': expected a whole number");
}

}  // namespace
}  // namespace pinfold
