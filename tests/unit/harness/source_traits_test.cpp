#include "pinfold/harness/source_traits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

using testing::ElementsAre;

constexpr const char* kCpu = "sys/devices/system/cpu/cpu";

void write_cache(const test::TempDir& dir, int cpu, int index, const std::string& level,
                 const std::string& type, const std::string& size, const std::string& shared) {
  const std::string cache = kCpu + std::to_string(cpu) + "/cache/index" + std::to_string(index);
  dir.write(cache + "/level", level + "\n");
  dir.write(cache + "/type", type + "\n");
  dir.write(cache + "/size", size + "\n");
  // Captured files are padded.
  dir.write(cache + "/shared_cpu_list", shared + std::string("\n\0\0", 3));
}

TEST(SourceTraits, ReadsWhatAMachineDoesNotHold) {
  const test::TempDir dir;
  dir.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu lm vme\n");
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string topology = kCpu + std::to_string(cpu) + "/topology/";
    dir.write(topology + "die_id", cpu < 2 ? "0\n" : "1\n");
    dir.write(topology + "die_cpus_list", cpu < 2 ? "0-1\n" : "2-3\n");
    dir.write(topology + "cluster_id", "-1\n");
    dir.write(topology + "cluster_cpus_list", "0-3\n");
    write_cache(dir, cpu, 0, "1", "Data", cpu == 0 ? "48K" : "32K", std::to_string(cpu));
    write_cache(dir, cpu, 1, "2", "Unified", "1024K", "0-4");
  }
  dir.write("sys/devices/system/cpu/cpu4/online", "0\n");
  dir.write("sys/devices/system/cpu/cpufreq/policy0/x", "");
  dir.write("sys/devices/system/node/node0/access0/initiators/read_latency", "10\n");
  dir.write("sys/devices/system/node/node1/memory_side_cache/index1/size", "1\n");
  const SourceTraits traits = read_traits(dir.path(), CpuSet::range(0, 3));
  EXPECT_TRUE(traits.is_read);
  EXPECT_EQ(traits.arch, "amd64");
  EXPECT_EQ(traits.page_kib, 4U);
  EXPECT_EQ(traits.unusable, CpuSet{4});
  EXPECT_THAT(traits.dies, ElementsAre(CpuSet{0, 1}, CpuSet{2, 3}));
  EXPECT_TRUE(traits.clusters.empty());  // -1: none
  ASSERT_EQ(traits.caches.size(), 2U);
  EXPECT_EQ(traits.caches.at("level 1 Data").groups.size(), 4U);
  EXPECT_THAT(traits.caches.at("level 1 Data").sizes, ElementsAre("32K", "48K"));
  EXPECT_THAT(traits.caches.at("level 2 Unified").groups, ElementsAre(CpuSet::range(0, 3)));
  EXPECT_THAT(traits.access_nodes, ElementsAre(NumaId{0}));
  EXPECT_THAT(traits.side_cache_nodes, ElementsAre(NumaId{1}));
}

TEST(SourceTraits, KnowsArchitecturesByTheirProcessors) {
  struct {
    const char* cpuinfo;
    const char* arch;
  } cases[] = {
      {"flags\t: fpu vme\n", "i386"},
      {"processor\t: 0\nCPU architecture: 8\n", "arm64"},
      {"CPU architecture: 7\n", "arm"},
      {"vendor     : GenuineIntel\narch       : IA-64\n", "ia64"},
      {"vendor_id       : IBM/S390\n", "s390x"},
      {"processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "ppc64"},
      {"hart\t: 0\nisa\t: rv64imafdc\n", "riscv64"},
      {"cpu\t\t: SPARC\n:\n", ""},
      {"", ""},
  };
  for (const auto& c : cases) {
    const test::TempDir dir;
    dir.write("proc/cpuinfo", c.cpuinfo);
    EXPECT_EQ(read_traits(dir.path(), {}).arch, c.arch) << c.cpuinfo;
  }
}

TEST(SourceTraits, KnowsThePagesOfArm64ByTheirHugePages) {
  struct {
    std::vector<const char*> huge;
    std::uint64_t page_kib;
  } cases[] = {{{"64", "2048", "32768", "1048576"}, 4},
               {{"2048", "32768", "1048576"}, 16},
               {{"2048", "524288", "16777216"}, 64},
               {{}, 0}};
  for (const auto& c : cases) {
    const test::TempDir dir;
    dir.write("proc/cpuinfo", "CPU architecture: 8\n");
    for (const char* size : c.huge) {
      dir.write(std::string("sys/kernel/mm/hugepages/hugepages-") + size + "kB/nr_hugepages",
                "0\n");
    }
    EXPECT_EQ(read_traits(dir.path(), {}).page_kib, c.page_kib);
  }
}

TEST(SourceTraits, FindsNothingInAnEmptyTree) {
  const test::TempDir dir;
  const SourceTraits traits = read_traits(dir.path(), {});
  EXPECT_TRUE(traits.is_read);
  EXPECT_EQ(traits.arch, "");
  EXPECT_EQ(traits.page_kib, 0U);
  EXPECT_TRUE(traits.dies.empty() && traits.clusters.empty() && traits.caches.empty());
}

}  // namespace
}  // namespace pinfold::harness
