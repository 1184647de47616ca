#include <gtest/gtest.h>

#include <filesystem>

#include "pinfold/discover/discover.hpp"
#include "tree_builder.hpp"

/// Trees with files that are missing, at a limit, of an unusual kind, or contradictory.
namespace pinfold {
namespace {

using test::TempDir;
using test::write_tree;

const std::string kCpu = "sys/devices/system/cpu/";
const std::string kNode = "sys/devices/system/node/";

/// One socket and one NUMA node. The `threads` SMT siblings of a core have consecutive numbers.
MachineDescription cpus_of(int count, int threads = 1) {
  MachineDescription machine;
  for (int id = 0; id < count; ++id) {
    machine.cpus.push_back(
        {CpuId{id}, CoreId{id / threads * threads}, SocketId{0}, NumaId{0}, CacheId{0}});
  }
  machine.numa_nodes = {{NumaId{0}, std::uint64_t{1} << 30U, {}, {10}}};
  return machine;
}

void remove(const TempDir& dir, const std::string& file) {
  ASSERT_TRUE(std::filesystem::remove(dir.path() + "/" + file)) << file;
}

std::string error_of(const TempDir& dir) {
  const auto found = discover(SysTree{dir.path()}, "");
  return found ? "none" : found.error().message;
}

TEST(OddTrees, SiblingsCanHaveTheNewerNames) {
  for (const auto& [file, text] : {std::pair("core_cpus_list", "0-1"), {"core_cpus", "3"}}) {
    const TempDir dir;
    write_tree(dir, cpus_of(2, 2));
    for (const char* const cpu : {"cpu0", "cpu1"}) {
      const std::string topology = kCpu + cpu + "/topology/";
      remove(dir, topology + "thread_siblings_list");
      dir.write(topology + file, text);
    }
    const auto found = discover(SysTree{dir.path()}, "");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->find(CpuId{1})->core, CoreId{0}) << file;
  }
}

TEST(OddTrees, CpusWithOneCoreIdInAPackageAreSiblings) {
  const TempDir dir;
  write_tree(dir, cpus_of(4));
  for (const int cpu : {0, 1, 2, 3}) {
    const std::string topology = kCpu + "cpu" + std::to_string(cpu) + "/topology/";
    remove(dir, topology + "thread_siblings_list");
    remove(dir, topology + "thread_siblings");
    dir.write(topology + "core_id", std::to_string(cpu / 2));
  }
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->find(CpuId{1})->core, CoreId{0});
  EXPECT_EQ(found->find(CpuId{2})->core, CoreId{2});
  EXPECT_EQ(found->find(CpuId{3})->core, CoreId{2});
}

TEST(OddTrees, OnlineCpusWithoutFilesAndMissingMemoryAreNamed) {
  const TempDir dir;
  write_tree(dir, cpus_of(2));
  dir.write(kCpu + "online", "0-1,8");
  dir.write("proc/meminfo", "MemTotal: 1024 kB\n");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->description().warnings.size(), 2U);
  EXPECT_NE(
      found->description().warnings[0].find("only 2 of 3 CPUs have topology files: left out: 8"),
      std::string::npos);
  EXPECT_NE(found->description().warnings[1].find("1048576 bytes of memory"), std::string::npos);
}

TEST(OddTrees, CpusThatOneListHasTogetherShareTheirCache) {
  const TempDir dir;
  write_tree(dir, cpus_of(6));
  const auto share = [&](int cpu, const std::string& list) {
    dir.write(kCpu + "cpu" + std::to_string(cpu) + "/cache/index3/shared_cpu_list", list);
  };
  share(0, "0");
  share(1, "1,3");
  share(2, "0-1");  // joins the lists of CPUs 0 and 1
  share(3, "3");
  share(4, "4-5");
  share(5, "5");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  for (const int cpu : {0, 1, 2, 3}) EXPECT_EQ(found->find(CpuId{cpu})->l3, CacheId{0}) << cpu;
  for (const int cpu : {4, 5}) EXPECT_EQ(found->find(CpuId{cpu})->l3, CacheId{1}) << cpu;
}

TEST(OddTrees, HugePagesWithoutANumberAreNone) {
  const TempDir dir;
  write_tree(dir, cpus_of(2));
  dir.write(kNode + "node0/hugepages/hugepages-2048kB/free_hugepages", "7");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->numa_nodes()[0].hugepages,
            (std::map<std::string, std::uint64_t>{{"hugepages-2Mi", 0}}));
}

TEST(OddTrees, HugePagesOf2To62BytesAreTheMost) {
  const TempDir dir;
  write_tree(dir, cpus_of(2));
  const std::string file = kNode + "node0/hugepages/hugepages-2048kB/nr_hugepages";
  dir.write(file, "2199023255552");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->numa_nodes()[0].hugepages.at("hugepages-2Mi"), std::uint64_t{1} << 62U);
  dir.write(file, "2199023255553");
  EXPECT_EQ(error_of(dir), "'" + dir.path() + "/" + file +
                               "': '2199023255553': expected pages of 2048 kB below 2^62 bytes in "
                               "total");
}

TEST(OddTrees, ACpuIdAboveAllIsNamed) {
  const TempDir dir;
  write_tree(dir, cpus_of(2));
  dir.write(kCpu + "cpu65536/topology/physical_package_id", "0");
  EXPECT_EQ(error_of(dir),
            "'" + dir.path() + "/" + kCpu + "cpu65536': expected CPU ids below 65536");
}

TEST(OddTrees, OfSeveralBadCpusTheLowestIsNamed) {
  const TempDir dir;
  write_tree(dir, cpus_of(12));
  for (const char* const cpu : {"cpu10", "cpu11", "cpu2"}) {
    dir.write(kCpu + cpu + "/topology/physical_package_id", "none");
  }
  EXPECT_EQ(error_of(dir),
            "'" + dir.path() + "/" + kCpu +
                "cpu2/topology/physical_package_id': 'none': expected a whole number");
}

TEST(OddTrees, AFileInThePlaceOfADirectoryIsAsIfNothingWereThere) {
  const TempDir dir;
  write_tree(dir, cpus_of(2), {.numa = false});
  dir.write("sys/devices/system/node", "");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->numa_count(), 1);
}

TEST(OddTrees, AFileThatCannotBeOpenedIsNotTakenForAMissingOne) {
  const TempDir dir;
  write_tree(dir, cpus_of(2));
  const std::string file = kCpu + "online";
  std::filesystem::remove(dir.path() + "/" + file);
  std::filesystem::create_symlink("online", dir.path() + "/" + file);
  EXPECT_EQ(error_of(dir),
            "open '" + dir.path() + "/" + file + "': Too many levels of symbolic links");
}

TEST(OddTrees, AFileOf1MiBIsTheLargest) {
  constexpr std::size_t kMost = 1048576;
  const TempDir dir;
  write_tree(dir, cpus_of(2));
  const std::string file = kCpu + "online";
  dir.write(file, "0-1" + std::string(kMost - 3, '\n'));
  EXPECT_EQ(error_of(dir), "none");
  dir.write(file, "0-1" + std::string(kMost - 2, '\n'));
  EXPECT_EQ(error_of(dir), "'" + dir.path() + "/" + file + "': expected at most 1048576 bytes");
}

}  // namespace
}  // namespace pinfold
