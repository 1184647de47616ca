#include "pinfold/forecast/memory_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "pinfold/forecast/memory_watch.hpp"
#include "pinfold/forecast/sample.hpp"
#include "temp_dir.hpp"

namespace pinfold::forecast {
namespace {

using enforce::NodeSet;
using enforce::PagesByNode;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kMib = 1024 * kKib;

TEST(NumaMeminfo, CountsWhatProcessesCanGet) {
  const auto info = parse_numa_meminfo(
      "\nNode 1 MemTotal:       1000 kB\nNode 1 MemFree:         100 kB\n"
      "Node 1 Active(anon):    300 kB\nNode 1 Active(file):     20 kB\n"
      "Node 1 Inactive(file):   30 kB\nNode 1 Shmem:            50 kB\n"
      "Node 1 KReclaimable:      8 kB\nNode 1 SReclaimable:      7 kB\n");
  ASSERT_TRUE(info);
  EXPECT_EQ(*info, (NumaMeminfo{1000 * kKib, 100 * kKib, 50 * kKib, 8 * kKib}));
}

TEST(NumaMeminfo, KernelsBefore420CountOnlySlabs) {
  const auto info = parse_numa_meminfo(
      "Node 0 MemTotal: 10 kB\nNode 0 MemFree: 1 kB\nNode 0 SReclaimable: 3 kB\n");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->reclaimable, 3 * kKib);
}

TEST(NumaMeminfo, AnythingElseIsNone) {
  for (const char* const text :
       {"", "Node 0 MemTotal: 10 kB\n", "Node 0 MemFree: 10 kB\n", "MemTotal: 10 kB\nMemFree: 1 kB",
        "Node x MemTotal: 10 kB\nNode x MemFree: 1 kB\n",
        "Node 0 MemTotal: -1 kB\nNode 0 MemFree: 1 kB\n",
        "Node 0 MemTotal: 99999999999999999 kB\nNode 0 MemFree: 1 kB\n"}) {
    EXPECT_FALSE(parse_numa_meminfo(text)) << text;
  }
}

TEST(NumaStat, OfVersion2HasBytes) {
  EXPECT_EQ(parse_numa_stat("anon N0=4096 N1=8192\nfile N0=100000 N1=0\nshmem N0=4096 N1=0\n"
                            "kernel_stack N0=16384 N1=0\nslab_reclaimable N0=4096 N1=4096\n"
                            "slab_unreclaimable N0=0 N1=512\nunevictable N0=4096 N1=0\n",
                            4096),
            (PagesByNode{{0, 4096 + 4096 + 16384}, {1, 8192 + 512}}));
}

TEST(NumaStat, OfVersion1HasPages) {
  EXPECT_EQ(parse_numa_stat("total=30 N0=10 N1=20\nanon=9 N0=9 N1=0\nunevictable=0 N0=0 N1=0\n"
                            "hierarchical_total=40 N0=20 N1=20\nhierarchical_file=1 N0=1 N1=0\n"
                            "hierarchical_anon=12 N0=10 N1=2\nhierarchical_unevictable=3 N0=0 "
                            "N1=3\n",
                            4096),
            (PagesByNode{{0, 10 * 4096}, {1, 5 * 4096}}));
}

TEST(NumaStat, LeavesOutWhatIsNoNumber) {
  EXPECT_THAT(parse_numa_stat("anon N0=x Nx=4 N-1=4 total=4 N99999999=4\n\nanon\n", 4096),
              IsEmpty());
}

TEST(MemoryLimit, MaxAndTheGreatestNumberAreNone) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1024 * kMib);
  EXPECT_EQ(parse_memory_limit("max\n"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("9223372036854771712\n"), std::nullopt);
  EXPECT_EQ(parse_memory_limit(""), std::nullopt);
}

TEST(MemoryPressure, IsTheShareOfTheLastTenSeconds) {
  EXPECT_DOUBLE_EQ(parse_stalled("some avg10=12.50 avg60=1.00 avg300=0.00 total=5\n"
                                 "full avg10=1.00 avg60=0.00 avg300=0.00 total=1\n"),
                   0.125);
  for (const char* const text : {"", "full avg10=3.00", "some avg10=", "some avg10=900",
                                 "some avg10=nan", "some avg60=1.00"}) {
    EXPECT_EQ(parse_stalled(text), 0) << text;
  }
}

TEST(MinFree, IsInKilobytes) {
  EXPECT_EQ(parse_min_free("67584\n"), 67584 * kKib);
  EXPECT_EQ(parse_min_free("many\n"), 0U);
}

/// Files of a machine with two NUMA nodes and cgroup v2.
class MemoryFiles : public testing::Test {
 protected:
  MemoryFiles() {
    dir_.write("sys/devices/system/node/online", "0-1\n");
    write_numa(0, 512);
    write_numa(1, 512);
    dir_.write("proc/sys/vm/min_free_kbytes", "8192\n");
    dir_.write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
  }
  void write_numa(int numa, std::uint64_t free_mib, std::uint64_t file_mib = 100) const {
    const std::string prefix = "Node " + std::to_string(numa) + " ";
    dir_.write("sys/devices/system/node/node" + std::to_string(numa) + "/meminfo",
               prefix + "MemTotal: 1048576 kB\n" + prefix +
                   "MemFree: " + std::to_string(free_mib * kKib) + " kB\n" + prefix +
                   "Inactive(file): " + std::to_string(file_mib * kKib) + " kB\n");
  }
  void write_group(const std::string& path, const std::string& mems, std::uint64_t mib,
                   const std::string& limit = "max") const {
    const std::string directory = "sys/fs/cgroup/" + path;
    dir_.write(directory + "/cpuset.mems.effective", mems + "\n");
    dir_.write(directory + "/memory.max", limit + "\n");
    dir_.write(directory + "/memory.numa_stat",
               "anon N0=0 N1=" + std::to_string(mib * kMib) + "\n");
    dir_.write(directory + "/memory.pressure", "some avg10=2.00 avg60=0.00 avg300=0.00 total=0\n");
  }
  [[nodiscard]] static GroupNames names() {
    const PodRef pod{PodUid("u-db"), "default", "db"};
    return {{"/sys/fs/cgroup/pinfold/podu-db", {pod, ""}},
            {"/sys/fs/cgroup/pinfold/podu-db/main", {pod, "main"}},
            {"/elsewhere/main", {pod, "main"}}};
  }

  pinfold::test::TempDir dir_;
};

TEST_F(MemoryFiles, ANumaNodeHasWhatIsFreeAndCanBeReclaimed) {
  const auto sample = read_numa_memory(dir_.path(), std::chrono::seconds(5));
  ASSERT_TRUE(sample) << sample.error().message;
  EXPECT_EQ(sample->at, std::chrono::seconds(5));
  EXPECT_THAT(sample->numa, ElementsAre(NumaMemory{NumaId{0}, 1024 * kMib, (512 + 100 - 4) * kMib},
                                        NumaMemory{NumaId{1}, 1024 * kMib, (512 + 100 - 4) * kMib}))
      << "each keeps 4 MiB free";
}

TEST_F(MemoryFiles, ANumaNodeWithoutMemoryIsLeftOut) {
  dir_.write("sys/devices/system/node/online", "0-2\n");
  dir_.write("sys/devices/system/node/node2/meminfo",
             "Node 2 MemTotal: 0 kB\nNode 2 MemFree: 0 kB\n");
  const auto sample = read_numa_memory(dir_.path(), {});
  ASSERT_TRUE(sample) << sample.error().message;
  EXPECT_EQ(sample->numa.size(), 2U);
}

TEST_F(MemoryFiles, WithoutNumaThereIsNoSample) {
  const auto sample = read_numa_memory("/nonexistent", {});
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.error().code, ErrorCode::kNotFound);
}

TEST_F(MemoryFiles, GroupsAreThoseWithoutOthersAndThoseWithALimit) {
  write_group("pinfold/podu-db", "0-1", 30, std::to_string(64 * kMib));
  write_group("pinfold/podu-db/main", "1", 20);
  write_group("pinfold/podu-db/main/nested", "1", 5);
  write_group("system.slice/a.service", "0-1", 7);
  write_group("system.slice/idle.service", "0-1", 0);
  const auto groups = read_groups(dir_.path(), names());
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0], (GroupMemory{"/pinfold/podu-db/main",
                                    "default/db/main",
                                    {1},
                                    false,
                                    {{0, 0}, {1, 20 * kMib}},
                                    std::nullopt,
                                    0.02}))
      << "a container includes the groups below it";
  EXPECT_EQ(groups[1].label, "default/db");
  EXPECT_TRUE(groups[1].is_inner);
  EXPECT_EQ(groups[1].limit, 64 * kMib);
  EXPECT_EQ(groups[2].label, "/system.slice/a.service");
  EXPECT_EQ(groups[2].mems, (NodeSet{0, 1}));
}

TEST_F(MemoryFiles, AGroupWithoutACpusetHasThatAbove) {
  write_group("a", "1", 1);
  write_group("a/b", "", 1);
  dir_.remove("sys/fs/cgroup/a/b/cpuset.mems.effective");
  const auto groups = read_groups(dir_.path(), {});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].mems, NodeSet{1});
}

TEST_F(MemoryFiles, OfVersion1AreInTwoHierarchies) {
  dir_.remove("sys/fs/cgroup/cgroup.controllers");
  dir_.write("sys/fs/cgroup/memory/pinfold/podu-db/main/memory.numa_stat",
             "hierarchical_anon=256 N0=0 N1=256\n");
  dir_.write("sys/fs/cgroup/memory/pinfold/podu-db/main/memory.limit_in_bytes", "67108864\n");
  dir_.write("sys/fs/cgroup/cpuset/pinfold/podu-db/main/cpuset.effective_mems", "1\n");
  const PodRef pod{PodUid("u-db"), "default", "db"};
  const auto groups =
      read_groups(dir_.path(), {{"/sys/fs/cgroup/cpuset/pinfold/podu-db/main", {pod, "main"}}});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].label, "default/db/main");
  EXPECT_EQ(groups[0].mems, NodeSet{1});
  EXPECT_EQ(groups[0].limit, 64 * kMib);
  EXPECT_GT(groups[0].in_use.at(1), 0U);
}

TEST_F(MemoryFiles, TheWatchReadsGroupsOnlyWhileANumaNodeFalls) {
  MemoryWatch watch(dir_.path());
  int asked = 0;
  const auto look = [&](int second) {
    auto forecasts = watch.look(std::chrono::seconds(second), [&] {
      ++asked;
      return names();
    });
    EXPECT_TRUE(forecasts) << forecasts.error().message;
    return forecasts ? *forecasts : std::vector<Forecast>();
  };
  for (int i = 0; i < 6; ++i) EXPECT_THAT(look(5 * i), IsEmpty());
  EXPECT_EQ(asked, 0);
  std::vector<Forecast> last;
  for (std::uint64_t i = 1; i <= 6; ++i) {
    write_numa(1, 512 - 50 * i);
    write_group("pinfold/podu-db/main", "1", 100 + 50 * i);
    last = look(30 + 5 * static_cast<int>(i));
  }
  EXPECT_GT(asked, 1);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_THAT(to_string(last.front()),
              testing::EndsWith("default/db/main grows by 10Mi/s and is bound to it"));
  EXPECT_EQ(watch.numa().size(), 2U);
}

/// Reading files uses up free memory, but not the memory available to processes.
TEST_F(MemoryFiles, PageCacheRunsOutOfNothing) {
  MemoryWatch watch(dir_.path());
  for (int i = 0; i < 10; ++i) {
    write_numa(1, static_cast<std::uint64_t>(512 - 50 * i), static_cast<std::uint64_t>(50 * i));
    write_group("pinfold/podu-db/main", "1", 100);
    const auto forecasts = watch.look(std::chrono::seconds(5 * i), names);
    ASSERT_TRUE(forecasts) << forecasts.error().message;
    EXPECT_THAT(*forecasts, IsEmpty()) << i;
  }
}

TEST_F(MemoryFiles, TwoLooksAtTheSameMomentCountOnce) {
  MemoryWatch watch(dir_.path());
  for (int i = 0; i < 8; ++i) {
    write_numa(1, static_cast<std::uint64_t>(512 - 50 * i));
    const auto forecasts = watch.look(std::chrono::seconds(1), [] { return GroupNames(); });
    ASSERT_TRUE(forecasts) << forecasts.error().message;
    EXPECT_THAT(*forecasts, IsEmpty());
  }
}

}  // namespace
}  // namespace pinfold::forecast
