#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "pinfold/discover/discover.hpp"
#include "tree_builder.hpp"

namespace pinfold {
namespace {

using test::TempDir;
using test::TreeStyle;
using test::write_tree;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

/// Sockets of cores with `threads` SMT siblings; one NUMA node and one cache for each socket. The
/// second siblings are numbered after all first ones, as on x86.
MachineDescription sockets_of(int sockets, int cores, int threads) {
  MachineDescription machine;
  machine.name = "tree";
  for (int thread = 0; thread < threads; ++thread) {
    for (int core = 0; core < sockets * cores; ++core) {
      const int socket = core / cores;
      machine.cpus.push_back({CpuId{thread * sockets * cores + core}, CoreId{core},
                              SocketId{socket}, NumaId{socket}, CacheId{socket}});
    }
  }
  for (int socket = 0; socket < sockets; ++socket) {
    NumaNode node{NumaId{socket}, 4 * kGiB, {}, {}};
    for (int other = 0; other < sockets; ++other)
      node.distances.push_back(other == socket ? 10 : 21);
    machine.numa_nodes.push_back(node);
  }
  return machine;
}

MachineDescription with_node(MachineDescription machine, int id, std::uint64_t memory) {
  for (NumaNode& node : machine.numa_nodes) node.distances.push_back(40);
  NumaNode extra{NumaId{id}, memory, {}, std::vector<std::uint32_t>(machine.numa_nodes.size(), 40)};
  extra.distances.push_back(10);
  machine.numa_nodes.push_back(extra);
  return machine;
}

/// Without cache files, the socket's number is used.
MachineDescription without_cache(MachineDescription machine) {
  machine.has_cache_info = false;
  for (Cpu& cpu : machine.cpus) cpu.l3 = CacheId{cpu.socket.value};
  return machine;
}

struct Case {
  const char* name;
  MachineDescription machine;
  TreeStyle style = {};
};

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({"two sockets with SMT", sockets_of(2, 4, 2)});
  all.push_back({"one CPU", sockets_of(1, 1, 1)});
  all.push_back({"more than 64 CPUs", sockets_of(4, 24, 2)});
  all.push_back({"an old kernel's masks", sockets_of(2, 20, 2), {.masks = true}});
  all.push_back({"offline CPUs", sockets_of(2, 2, 1), {.offline = CpuSet{4, 7}}});
  all.push_back({"offline CPUs of an old kernel",
                 sockets_of(2, 2, 1),
                 {.masks = true, .offline = CpuSet{9}}});
  all.push_back({"a CPU without topology files", sockets_of(2, 2, 1), {.bare = CpuSet{6}}});
  all.push_back({"no NUMA", without_cache(sockets_of(1, 4, 2)), {.numa = false}});
  all.back().machine.numa_nodes[0].distances.clear();
  all.back().machine.numa_nodes[0].hugepages = {{"hugepages-2Mi", kGiB}};
  all.push_back({"no caches", without_cache(sockets_of(2, 4, 2))});
  all.push_back({"no distances", sockets_of(2, 2, 1)});
  for (NumaNode& node : all.back().machine.numa_nodes) node.distances.clear();
  all.push_back({"a node without CPUs", with_node(sockets_of(2, 2, 1), 2, 8 * kGiB)});
  all.push_back({"a node without memory", sockets_of(2, 2, 1)});
  all.back().machine.numa_nodes[1].memory = 0;
  all.push_back({"a node with neither", with_node(sockets_of(2, 2, 1), 4, 0)});
  all.push_back({"GPU memory as nodes", sockets_of(2, 4, 2)});
  for (int id = 252; id <= 255; ++id) {
    all.back().machine = with_node(std::move(all.back().machine), id, 16 * kGiB);
  }
  all.push_back({"huge pages of two sizes", sockets_of(2, 2, 1)});
  all.back().machine.numa_nodes[0].hugepages = {{"hugepages-1Gi", 2 * kGiB}, {"hugepages-2Mi", 0}};
  all.back().machine.numa_nodes[1].hugepages = {{"hugepages-64Ki", 65536}};
  all.push_back({"odd socket ids", without_cache(sockets_of(3, 2, 1))});
  for (Cpu& cpu : all.back().machine.cpus) {
    cpu.socket = SocketId{(3 - cpu.socket.value) * 65537};
    cpu.l3 = CacheId{cpu.socket.value};
  }
  all.push_back({"a kernel that knows no sockets", sockets_of(2, 2, 1)});
  for (Cpu& cpu : all.back().machine.cpus) cpu.socket = SocketId{-1};
  return all;
}

TEST(SysTree, ShowsTheMachineThatItWasWrittenFrom) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const TempDir dir;
    write_tree(dir, c.machine, c.style);
    auto expected = Machine::make(c.machine);
    ASSERT_TRUE(expected) << expected.error().message;
    const auto found = discover(SysTree{dir.path()}, "tree");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->description().has_cache_info, c.machine.has_cache_info);
    EXPECT_EQ(*found, *expected) << "found    " << found->to_json().dump() << "\nexpected "
                                 << expected->to_json().dump();
    const auto again = discover_again(SysTree{dir.path()}, *found);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, *found) << again->to_json().dump();
  }
}

std::string core_kinds_of(const TempDir& dir) {
  const auto found = discover(SysTree{dir.path()}, "");
  if (!found) return found.error().message;
  const auto& kinds = found->description().core_kinds;
  std::string text;
  if (!kinds) return "unknown";
  for (const CoreKind& kind : *kinds) text += kind.name + " " + kind.cpus.to_string() + "; ";
  return text;
}

TEST(DiscoverAgain, ReadsMemoryAndNumaNodesButNoFileOfACpu) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 4, 2), {});
  const auto known = discover(SysTree{dir.path()}, "tree");
  ASSERT_TRUE(known) << known.error().message;
  MachineDescription changed = with_node(sockets_of(2, 4, 2), 2, 8 * kGiB);
  changed.numa_nodes[0].memory = 6 * kGiB;
  changed.numa_nodes[1].hugepages = {{"hugepages-2Mi", kGiB}};
  write_tree(dir, changed, {});
  for (const char* const directory : {"topology", "cache"}) {
    for (int cpu = 0; cpu < 16; ++cpu) {
      std::filesystem::remove_all(
          fmt::format("{}/sys/devices/system/cpu/cpu{}/{}", dir.path(), cpu, directory));
    }
  }
  const auto again = discover_again(SysTree{dir.path()}, *known);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->to_json(), Machine::make(changed)->to_json());
}

TEST(SysTree, ReadsTheKindsOfCores) {
  const TempDir dir;
  write_tree(dir, sockets_of(1, 4, 1));
  EXPECT_EQ(core_kinds_of(dir), "unknown");
  const auto set_capacity = [&](int cpu, const char* text) {
    dir.write(fmt::format("sys/devices/system/cpu/cpu{}/cpu_capacity", cpu), text);
  };
  for (int cpu = 0; cpu < 4; ++cpu) set_capacity(cpu, "446\n");
  EXPECT_EQ(core_kinds_of(dir), "unknown") << "all alike";
  set_capacity(1, "1024\n");
  EXPECT_EQ(core_kinds_of(dir), "capacity 1024 1; capacity 446 0,2-3; ");
  dir.write("sys/devices/cpu_core/cpus", "0-1,8\n");
  dir.write("sys/devices/cpu_atom/cpus", "2-3\n");
  EXPECT_EQ(core_kinds_of(dir), "performance 0-1; efficiency 2-3; ") << "CPU 8 is offline";
  dir.write("sys/devices/cpu_atom/cpus", "two\n");
  EXPECT_NE(core_kinds_of(dir).find("cpu_atom/cpus"), std::string::npos);
}

TEST(SysTree, CoreIsTheLowestOnlineSibling) {
  MachineDescription machine = sockets_of(1, 2, 2);  // cores {0,2} and {1,3}
  const TempDir dir;
  write_tree(dir, machine);
  dir.write("sys/devices/system/cpu/online", "1-3\n");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->all_cpus().to_string(), "1-3");
  EXPECT_EQ(found->find(CpuId{2})->core, CoreId{2});
  EXPECT_EQ(found->find(CpuId{3})->core, CoreId{1});
}

TEST(SysTree, LeavesOfflineNodesOut) {
  const TempDir dir;
  write_tree(dir, with_node(sockets_of(2, 2, 1), 2, kGiB));
  dir.write("sys/devices/system/node/online", "0-1\n");
  dir.write("sys/devices/system/node/node0/distance", "10 21\n");
  dir.write("sys/devices/system/node/node1/distance", "21 10\n");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->numa_count(), 2);
}

TEST(SysTree, IgnoresCachesThatNoCpuShares) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 2, 1));
  dir.write("sys/devices/system/cpu/cpu3/cache/index3/shared_cpu_list", "\n");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->description().has_cache_info);
  EXPECT_EQ(found->find(CpuId{3})->l3, CacheId{1});
}

/// Every call by a runtime discovers the machine, so each file of each CPU costs time.
TEST(SysTree, DoesNotReadCachesOfLowerLevels) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 2, 1));
  dir.write("sys/devices/system/cpu/cpu3/cache/index0/level", "not read");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->find(CpuId{3})->l3, CacheId{1});
}

TEST(SysTree, ToleratesThePaddingOfCapturedFiles) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 2, 1));
  dir.write("sys/devices/system/cpu/online", std::string("0-2\n\0\0", 6));
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->all_cpus().to_string(), "0-2");
}

TEST(SysTree, NamesTheFileAndTheValueOfABadTree) {
  const std::string cpu = "sys/devices/system/cpu/";
  const std::string node = "sys/devices/system/node/";
  struct {
    std::string file;
    std::string content;
    std::string message;  // after the quoted path
  } cases[] = {
      {cpu + "online", "0-x", ": '0-x': expected a list such as '0-3,8' of ids below 65536"},
      {cpu + "cpu1/topology/physical_package_id", "zero", ": 'zero': expected a whole number"},
      {cpu + "cpu1/topology/physical_package_id", "-2", ": '-2': expected -1 or more"},
      {cpu + "cpu1/topology/physical_package_id", "-7", ": '-7': expected -1 or more"},
      {cpu + "cpu1/topology/thread_siblings_list", "1-0",
       ": '1-0': expected a list such as '0-3,8' of ids below 65536"},
      {cpu + "cpu2/cache/index3/level", "", ": '': expected a whole number"},
      {node + "node1/meminfo", "Node 1 MemTotal: lots kB",
       ": 'Node 1 MemTotal: lots kB': expected 'MemTotal:' with a number of kB"},
      {node + "node1/meminfo", "Node 1 MemFree: 5 kB",
       ": 'Node 1 MemFree: 5 kB': expected a line 'MemTotal:' with a number of kB"},
      {node + "node0/distance", "10 twenty", ": '10 twenty': expected distances such as '10 21'"},
      {node + "node0/distance", "10", ": 1 distances, expected one for each of the 2 NUMA nodes"},
      {node + "node1/hugepages/hugepages-2048kB/nr_hugepages", "-3",
       ": '-3': expected a whole number, 0 or more"},
      {node + "node1/hugepages/hugepages-2048kB/nr_hugepages", "18446744073709551615",
       ": '18446744073709551615': expected pages of 2048 kB below 2^62 bytes in total"},
  };
  for (const auto& c : cases) {
    const TempDir dir;
    write_tree(dir, sockets_of(2, 2, 1));
    dir.write(c.file, c.content);
    const auto found = discover(SysTree{dir.path()}, "");
    ASSERT_FALSE(found) << c.file << ": " << c.content;
    EXPECT_EQ(found.error().message, "'" + dir.path() + "/" + c.file + "'" + c.message);
    EXPECT_EQ(found.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(SysTree, DecidesContradictionsOfNumaNodesWithAWarning) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 2, 1));
  const std::string nodes = "'" + dir.path() + "/sys/devices/system/node': ";
  const auto warnings_of = [&](NumaId expected_of_cpu_1) {
    const auto found = discover(SysTree{dir.path()}, "");
    EXPECT_TRUE(found) << found.error().message;
    if (!found) return std::vector<std::string>{};
    EXPECT_EQ(found->find(CpuId{1})->numa, expected_of_cpu_1);
    return found->description().warnings;
  };
  EXPECT_EQ(warnings_of(NumaId{0}), std::vector<std::string>{});
  dir.write("sys/devices/system/node/node1/cpulist", "1-3");
  EXPECT_EQ(warnings_of(NumaId{0}),
            std::vector<std::string>{nodes + "cpu 1 is listed by NUMA nodes 0,1: assumed to be on "
                                             "NUMA node 0, the lowest of them"});
  dir.write("sys/devices/system/cpu/cpu1/node1/id", "");
  EXPECT_EQ(warnings_of(NumaId{1}).front(),
            nodes +
                "cpu 1 is listed by NUMA nodes 0,1: assumed to be on NUMA node 1, as "
                "'sys/devices/system/cpu/cpu1' says");
  dir.write("sys/devices/system/node/node0/cpulist", "0");
  dir.write("sys/devices/system/node/node1/cpulist", "2-3");
  EXPECT_EQ(warnings_of(NumaId{1}).front(),
            nodes +
                "cpu 1 is listed by no NUMA node: assumed to be on NUMA node 1, as "
                "'sys/devices/system/cpu/cpu1' says");
}

TEST(SysTree, FollowsNumaNodesThatCrossSocketsWithAWarning) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 2, 1));
  dir.write("sys/devices/system/node/node0/cpulist", "0,2");
  dir.write("sys/devices/system/node/node1/cpulist", "1,3");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->all_cpus().to_string(), "0-3");
  EXPECT_EQ(found->cpus_of_numa(1).to_string(), "1,3");
  EXPECT_EQ(found->description().warnings,
            std::vector<std::string>{
                "NUMA node 0 spans sockets 0,1, which also span other NUMA nodes: the firmware or "
                "hypervisor reports a contradictory topology; it is used unchanged"});
}

TEST(SysTree, RejectsACpuOnNoNumaNode) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 2, 1));
  dir.write("sys/devices/system/node/node1/cpulist", "3");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "'" + dir.path() + "/sys/devices/system/node': cpu 2 is on no NUMA node");
}

TEST(SysTree, TakesListsThatLackTheirOwnCpu) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 2, 2));
  const std::string cpu = "sys/devices/system/cpu/cpu";
  // Socket 0 has CPUs 0, 1, 4 and 5, in the cores {0, 4} and {1, 5}.
  for (const auto& [id, others] :
       {std::pair{0, "1,4-5"}, {1, "0,4-5"}, {4, "0-1,5"}, {5, "0-1,4"}}) {
    dir.write(cpu + std::to_string(id) + "/cache/index3/shared_cpu_list", others);
  }
  dir.write(cpu + "0/topology/thread_siblings_list", "4");
  dir.write(cpu + "4/topology/thread_siblings_list", "0");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->caches().size(), 2U);
  EXPECT_EQ(found->caches()[0].cpus.to_string(), "0-1,4-5");
  EXPECT_EQ(found->cores()[0].cpus.to_string(), "0,4");
}

TEST(SysTree, TakesAnEmptyOnlineFileForOnline) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 2, 1));
  dir.write("sys/devices/system/cpu/online", "\n");
  dir.write("sys/devices/system/node/online", "");
  dir.write("sys/devices/system/cpu/cpu1/online", "");
  dir.write("sys/devices/system/cpu/cpu2/online", "0");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->all_cpus().to_string(), "0-1,3");
  EXPECT_EQ(found->numa_count(), 2);
}

TEST(SysTree, ReportsAMissingTree) {
  const TempDir dir;
  auto found = discover(SysTree{dir.path()}, "");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(found.error().message, "'" + dir.path() +
                                       "/sys/devices/system/cpu': no online CPU with topology "
                                       "files, expected a Linux /sys tree");
  found = discover(SysTree{dir.path() + "/nowhere"}, "");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "open '" + dir.path() + "/nowhere': No such file or directory");
}

TEST(SysTree, TakesTreesWithoutMemoryWithAWarning) {
  const TempDir dir;
  write_tree(dir, sockets_of(1, 2, 1));
  dir.remove("sys/devices/system/node/node0/meminfo");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->memory(), 0U);
  EXPECT_EQ(found->description().warnings,
            std::vector<std::string>{"'" + dir.path() +
                                     "/sys/devices/system/node/node0/meminfo': no such file: NUMA "
                                     "node 0 has 0 bytes of memory"});
}

TEST(SysTree, CountsTheCapacityAsTheKubelet) {
  const TempDir dir;
  write_tree(dir, sockets_of(2, 2, 1));
  const auto sum = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->memory(), sum->numa_nodes()[0].memory + sum->numa_nodes()[1].memory);
  dir.write("proc/meminfo", "MemTotal:       32843596 kB\n");
  const auto found = discover(SysTree{dir.path()}, "");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->memory(), 33631842304U);
  EXPECT_EQ(*found, *sum);
}

TEST(SysTree, ReadsTheLiveMachine) {
  const auto found = discover(SysTree{}, "here");
  if (!found && found.error().code == ErrorCode::kNotFound) {
    GTEST_SKIP() << "no CPU topology in /sys here: " << found.error().message;
  }
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->name(), "here");
  EXPECT_FALSE(found->all_cpus().empty());
}

}  // namespace
}  // namespace pinfold
