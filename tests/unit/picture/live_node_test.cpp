#include "node/live_node.hpp"

#include <gtest/gtest.h>

#include "../../support/temp_dir.hpp"

namespace pinfold::tools {
namespace {

constexpr const char* kBuddyInfo =
    "Node 0, zone      DMA      1      1      1      0      2      1      1      0      1      1"
    "      3 \n"
    "Node 0, zone   Normal    216     55    189    101     84     38     37     27      5      2"
    "    100 \n"
    "Node 1, zone   Normal    216     55    189    101     84     38     37     27      5      0"
    "      0 \n";

TEST(LiveMemory, SumsLargeBlocksOfANumaNode) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
  EXPECT_EQ(in_large_blocks(kBuddyInfo, NumaId{0}, kPage), kMiB * 6 + kMiB * 412);
  EXPECT_EQ(in_large_blocks(kBuddyInfo, NumaId{1}, kPage), 0U);
  EXPECT_EQ(in_large_blocks(kBuddyInfo, NumaId{2}, kPage), std::nullopt);
  EXPECT_EQ(in_large_blocks("Node 0, zone DMA x", NumaId{0}, kPage), std::nullopt);
}

TEST(LiveMemory, IsWhatNumactlPrints) {
  const test::TempDir dir;
  const std::string node = "sys/devices/system/node/node1/";
  dir.write(node + "meminfo",
            "Node 1 MemTotal:       2048 kB\nNode 1 MemFree:        1024 kB\n"
            "Node 1 MemUsed:        1024 kB\n");
  dir.write(node + "hugepages/hugepages-2048kB/free_hugepages", "3\n");
  dir.write(node + "hugepages/hugepages-1048576kB/free_hugepages", "1\n");
  dir.write(node + "hugepages/hugepages-64kB/free_hugepages", "x\n");
  const LiveMemory memory = read_live_memory(dir.path(), NumaId{1});
  EXPECT_EQ(memory.free, std::uint64_t{1} << 20U);
  EXPECT_EQ(memory.hugepages,
            (std::map<std::string, std::uint64_t>{{"hugepages-1Gi", std::uint64_t{1} << 30U},
                                                  {"hugepages-2Mi", std::uint64_t{6} << 20U}}));
  EXPECT_EQ(memory.in_large_blocks, std::nullopt);
  EXPECT_EQ(read_live_memory(dir.path(), NumaId{0}).free, std::nullopt);
}

TEST(CpuLoad, IsTheBusyShareOfTheTimeBetween) {
  const auto before = parse_cpu_times(
      "cpu  9 9 9 9\ncpu0 100 0 100 800 0 0 0 0 0 0\ncpu1 0 0 0 500 500 0 0 0 0 0\n"
      "cpu3 1 1 1 1 1 1 1 1 1 1\nintr 5\n");
  const auto after = parse_cpu_times(
      "cpu0 130 0 120 850 0 0 0 0 30 0\ncpu1 0 0 0 550 550 0 0 0 0 0\ncpu2 1 1 1 1\n"
      "cpu3 0 0 0 0 0 0 0 0 0 0\ncpu99999999 1 1 1 1\n");
  const auto loads = loads_between(before, after);
  ASSERT_EQ(loads.size(), 3U);
  EXPECT_DOUBLE_EQ(loads.at(CpuId{0}), 0.5);
  EXPECT_DOUBLE_EQ(loads.at(CpuId{1}), 0);
  EXPECT_DOUBLE_EQ(loads.at(CpuId{3}), 0);  // the counter went back
}

}  // namespace
}  // namespace pinfold::tools
