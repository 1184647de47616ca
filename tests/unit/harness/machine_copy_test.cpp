#include "pinfold/harness/machine_copy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "pinfold/harness/copy_machine.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/machine_view.hpp"
#include "pinfold/harness/read_scenarios.hpp"
#include "pinfold/harness/scenario.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

constexpr std::uint64_t kGiB = 1024 * kMiB;
constexpr std::uint64_t kBudget = 6 * kGiB;

std::set<std::string> fields_of(const MachineCopy& copy) {
  std::set<std::string> fields;
  for (const CopyDifference& one : copy.differences) fields.insert(one.field);
  return fields;
}

Result<Scenario> scenario_with(const std::string& machine_yaml) {
  PINFOLD_LET(
      auto scenarios,
      parse_scenarios("name: copy\nsteps: [{exec: {command: [/bin/true]}}]\n" + machine_yaml, {}));
  return std::move(scenarios.front());
}

/// The source's CPU for a CPU that the harness expects in the guest.
CpuId source_cpu(const MachineCopy& copy, const Json& cpu) {
  return copy.cpus[cpu.at("id").get<std::size_t>()].value_or(CpuId{});
}

/// Groups the guest's CPUs by their field `key`; returns the groups as CPUs of the source.
std::set<std::string> expected_groups(const MachineCopy& copy, const char* key) {
  std::map<std::string, CpuSet> groups;
  const Json guest = requested_machine(copy.machine);
  for (const Json& cpu : guest.at("cpus")) {
    const CpuId source = source_cpu(copy, cpu);
    if (source.value >= 0) groups[cpu.at(key).dump()].insert(source);
  }
  std::set<std::string> texts;
  for (const auto& [value, cpus] : groups) texts.insert(cpus.to_string());
  return texts;
}

std::set<std::string> source_groups(const std::vector<Machine::Group>& groups, const CpuSet& kept) {
  std::set<std::string> texts;
  for (const Machine::Group& group : groups) {
    const CpuSet cpus = group.cpus & kept;
    if (!cpus.empty()) texts.insert(cpus.to_string());
  }
  return texts;
}

/// Returns the traits of a machine made by QEMU.
SourceTraits qemu_traits(const Machine& machine) {
  SourceTraits traits;
  traits.is_read = true;
  traits.arch = "amd64";
  traits.page_kib = 4;
  std::vector<CpuSet> cores;
  for (const Machine::Group& core : machine.cores()) cores.push_back(core.cpus);
  traits.clusters = cores;
  for (const Machine::Group& socket : machine.sockets()) traits.dies.push_back(socket.cpus);
  traits.caches = {{"level 1 Data", {cores, {"32K"}}},
                   {"level 1 Instruction", {cores, {"32K"}}},
                   {"level 2 Unified", {cores, {"4096K"}}},
                   {"level 3 Unified", {{}, {"16384K"}}}};
  return traits;
}

/// Returns the kept CPUs of each group.
std::set<std::string> kept_groups(const std::vector<CpuSet>& groups, const CpuSet& kept) {
  std::set<std::string> texts;
  for (const CpuSet& group : groups) {
    if (group.intersects(kept)) texts.insert((group & kept).to_string());
  }
  return texts;
}

/// Expects a copy to list the differences on which no decision depends.
void expect_honest_traits(const Machine& source, const SourceTraits& traits,
                          const MachineCopy& copy, const CpuSet& kept) {
  const auto fields = fields_of(copy);
  EXPECT_EQ(fields.contains("unread"), !traits.is_read);
  EXPECT_EQ(fields.contains("devices"), !traits.devices.empty());
  EXPECT_LE(copy.machine.devices.size(), traits.devices.size());
  if (!traits.is_read) return;
  EXPECT_EQ(fields.contains("architecture"), traits.arch != "amd64");
  EXPECT_EQ(fields.contains("pageSize"), traits.page_kib != 4);
  EXPECT_EQ(fields.contains("unusableCpus"), !traits.unusable.empty());
  EXPECT_EQ(fields.contains("memoryAccess"),
            !traits.access_nodes.empty() || !traits.side_cache_nodes.empty());
  const auto cores = source_groups(source.cores(), kept);
  const auto sockets = source_groups(source.sockets(), kept);
  EXPECT_EQ(fields.contains("dies"),
            !traits.dies.empty() && kept_groups(traits.dies, kept) != sockets);
  EXPECT_EQ(fields.contains("clusters"),
            !traits.clusters.empty() && kept_groups(traits.clusters, kept) != cores);
  // Level 3 is covered by `caches`; the guest also has the three kinds below it.
  std::set<std::string> kinds = {"level 3 Unified"};
  bool same_sizes = traits.caches.size() == 4;
  for (const auto& [kind, caches] : traits.caches) {
    const std::string size = kind == "level 3 Unified"   ? "16384K"
                             : kind == "level 2 Unified" ? "4096K"
                                                         : "32K";
    same_sizes = same_sizes && caches.sizes == std::set{size};
    std::set<std::string> here = cores;
    // QEMU 7.2 gives each thread caches of level 1.
    if (kind.starts_with("level 1") && copy.machine.threads > 1 &&
        !needs_newer_qemu(copy.machine)) {
      here.clear();
      for (const CpuId cpu : kept) here.insert(std::to_string(cpu.value));
    }
    if (kept_groups(caches.groups, kept) == here) kinds.insert(kind);
  }
  const std::set<std::string> all = {"level 1 Data", "level 1 Instruction", "level 2 Unified",
                                     "level 3 Unified"};
  bool others = false;
  for (const auto& [kind, caches] : traits.caches) others = others || !all.contains(kind);
  EXPECT_EQ(fields.contains("smallerCaches"), kinds != all || others);
  EXPECT_EQ(fields.contains("cacheSizes"), !same_sizes);
}

/// Expects a copy to keep everything that QEMU's limits do not affect, and to list its differences.
void expect_honest(const Machine& source, const SourceTraits& traits, const MachineCopy& copy,
                   std::uint64_t budget) {
  const auto fields = fields_of(copy);
  const auto checked = check_machine(copy.machine);
  EXPECT_TRUE(checked) << checked.error().message;
  CpuSet kept;
  CpuSet offline;
  for (std::size_t i = 0; i < copy.cpus.size(); ++i) {
    if (copy.cpus[i]) {
      EXPECT_FALSE(kept.contains(*copy.cpus[i])) << copy.cpus[i]->value;
      kept.insert(*copy.cpus[i]);
    } else {
      offline.insert(CpuId{static_cast<std::int32_t>(i)});
    }
  }
  EXPECT_TRUE(source.all_cpus().contains_all(kept));
  EXPECT_EQ(kept == source.all_cpus(), !fields.contains("cpus"));
  EXPECT_EQ(copy.offline, offline);
  EXPECT_EQ(offline.empty(), !fields.contains("offline"));
  EXPECT_EQ(expected_groups(copy, "siblings"), source_groups(source.cores(), kept));
  EXPECT_EQ(expected_groups(copy, "package"), source_groups(source.sockets(), kept));
  EXPECT_EQ(expected_groups(copy, "node"), source_groups(source.numa_groups(), kept));
  if (!fields.contains("caches")) {
    EXPECT_EQ(expected_groups(copy, "cache"), source_groups(source.caches(), kept));
  }
  EXPECT_LE(copy.machine.memory(), budget);
  EXPECT_EQ(std::set(copy.nodes.begin(), copy.nodes.end()).size(), source.numa_nodes().size());
  for (std::size_t i = 0; i < copy.nodes.size(); ++i) {
    const auto position =
        static_cast<std::size_t>(source.numa_position(copy.nodes[i]).value_or(-1));
    const NumaNode& node = source.numa_nodes().at(position);
    if (!fields.contains("memory")) {
      EXPECT_EQ(copy.machine.nodes[i].memory, node.memory);
    }
    for (const auto& [resource, bytes] : node.hugepages) {
      const std::uint64_t size = resource == "hugepages-2Mi" ? 2 * kMiB : kGiB;
      const auto& pages = copy.machine.nodes[i].huge_pages;
      const int count = pages.contains(size) ? pages.at(size) : 0;
      const std::uint64_t here = static_cast<std::uint64_t>(count) * size;
      EXPECT_TRUE(here == bytes || fields.contains("hugePages")) << resource;
      const bool has_size = size == 2 * kMiB && resource == "hugepages-2Mi";
      EXPECT_TRUE(has_size || here > 0 || fields.contains("hugePageSizes")) << resource;
    }
    for (std::size_t j = 0; j < copy.nodes.size() && !fields.contains("distances"); ++j) {
      const auto column =
          static_cast<std::size_t>(source.numa_position(copy.nodes[j]).value_or(-1));
      EXPECT_EQ(static_cast<std::uint32_t>(copy.machine.distances[i][j]),
                node.distances.at(column));
    }
  }
  expect_honest_traits(source, traits, copy, kept);
  for (const CopyDifference& one : copy.differences) {
    EXPECT_FALSE(one.source.empty()) << one.field;
    EXPECT_FALSE(one.copy.empty()) << one.field;
  }
  const auto scenario = scenario_with(copy_yaml(copy, source.name()));
  ASSERT_TRUE(scenario) << scenario.error().message << "\n" << copy_yaml(copy, source.name());
  EXPECT_EQ(scenario->machine, copy.machine) << copy_yaml(copy, source.name());
  const Json json = copy_json(copy, source.name());
  const auto again = scenario_with("machine: " + json.at("machine").dump() + "\n");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->machine, copy.machine);
  EXPECT_EQ(json.at("differences").size(), copy.differences.size());
}

/// "2s 8c 2t 1l 4n: memory cpuNumbers": the shape of a copy and its differences.
std::string summary(const MachineCopy& copy) {
  const VmMachine& m = copy.machine;
  return fmt::format("{}s {}c {}t {}l {}n: {}", m.sockets, m.cores, m.threads, m.caches,
                     m.nodes.size(), fmt::join(fields_of(copy), " "));
}

struct Captured {
  const char* name;
  const char* copy;
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const Captured& one, std::ostream* out) { *out << one.name; }

// sockets, cores, threads, caches per socket, nodes: differences
constexpr Captured kCaptured[] = {
    {"128arm-2pa2n8cluster4co",
     "2s 64c 1t 2l 4n: architecture cacheSizes clusters hugePageSizes memory socketNumbers"},
    {"16amd64-4n4c-cgroup-distance-merge", "4s 4c 1t 1l 4n: cacheSizes hugePages memory"},
    {"16amd64-8n2c-cpusets", "8s 2c 1t 1l 8n: cacheSizes cpuNumbers memory offline unusableCpus"},
    {"16amd64-8n2c", "8s 2c 1t 1l 8n: cacheSizes memory"},
    {"16em64t-4s2c2t", "4s 2c 2t 1l 1n: cacheSizes cpuNumbers memory smallerCaches"},
    {"16em64t-4s2ca2c-cpusetreorder", "4s 4c 1t 1l 1n: cacheSizes cpuNumbers memory smallerCaches"},
    {"16ia64-8n2s", "8s 2c 1t 2l 8n: architecture cacheSizes memory pageSize socketNumbers"},
    {"20em64t-hybrid-1p6c2t+2ca4co1t",
     "1s 14c 2t 1l 1n: cacheSizes clusters cpuNumbers hugePageSizes memory offline smallerCaches"},
    {"256ia64-64n2s2c",
     "128s 1c 1t 1l 64n: architecture cacheSizes cpuNumbers cpus memory pageSize smallerCaches "
     "socketNumbers"},
    {"256ppc-8n8s4t",
     "1s 64c 2t 64l 8n: architecture cacheSizes cpuNumbers cpus memory nodeNumbers pageSize "
     "socketNumbers"},
    {"2pa-pcidomain32bits", "2s 1c 1t 1l 1n: cacheSizes hugePageSizes memory"},
    {"32amd64-4s2n4c-cgroup2", "4s 8c 1t 2l 8n: cacheSizes memory"},
    {"32em64t-2n8c+dax+nvme+mic+dimms", "2s 8c 1t 1l 2n: cacheSizes memory"},
    {"32intel64-2p8co2t+8ve",
     "2s 8c 2t 1l 2n: cacheSizes cpuNumbers hugePageSizes hugePages memory smallerCaches"},
    {"40intel64-2g2n4c+pcilocality", "4s 10c 1t 1l 4n: cacheSizes cpuNumbers memory"},
    {"64fake-4n2s2ca2c2t",
     "8s 4c 2t 1l 4n: architecture cacheSizes caches cpuNumbers distances pageSize smallerCaches"},
    {"8em64t-2s2ca2c", "2s 4c 1t 1l 1n: cacheSizes cpuNumbers memory smallerCaches"},
    {"8em64t-2s4c-asymcaches", "2s 4c 1t 1l 1n: cacheSizes cpuNumbers memory smallerCaches"},
    {"8ia64-2n2s2c",
     "4s 2c 1t 1l 2n: architecture cacheSizes cpuNumbers memory pageSize smallerCaches "
     "socketNumbers"},
    {"8ia64-2s2c2t",
     "2s 2c 2t 1l 1n: architecture cacheSizes distances memory pageSize smallerCaches"},
    {"fakeheteromemtiers", "1s 6c 1t 1l 7n: memory memoryAccess nodeNumbers"},
    {"fakememinitiators-1np2c+1npp+gi",
     "2s 4c 1t 1l 11n: cacheSizes cpuNumbers hugePageSizes memory memoryAccess nodeNumbers "
     "smallerCaches"},
    {"fakepcilocalities", "4s 10c 1t 1l 4n: cacheSizes cpuNumbers memory smallerCaches"},
    {"nvidiagpunumanodes",
     "2s 4c 4t 2l 8n: architecture cacheSizes cpuNumbers hugePageSizes memory nodeNumbers pageSize "
     "smallerCaches socketNumbers"},
};

class CapturedMachine : public testing::TestWithParam<Captured> {};

TEST_P(CapturedMachine, IsCopiedAsNearAsQemuCanCome) {
  const char* const shared = std::getenv("PINFOLD_SHARED");  // NOLINT(concurrency-mt-unsafe)
  if (shared == nullptr) GTEST_SKIP() << "PINFOLD_SHARED is not set: no captured machines here";
  const std::string stem = fmt::format("{}/machines/{}", shared, GetParam().name);
  std::ifstream in(stem + ".node.json");
  const auto source = Machine::from_json(Json::parse(in, nullptr, false));
  ASSERT_TRUE(source) << source.error().message;
  const test::TempDir dir;
  const std::string unpack = fmt::format("tar -C '{}' -xzf '{}.sysfs.tar.gz'", dir.path(), stem);
  ASSERT_EQ(std::system(unpack.c_str()), 0) << unpack;  // NOLINT(concurrency-mt-unsafe)
  const SourceTraits traits = read_traits(dir.path(), source->all_cpus());
  const auto copy = copy_machine(*source, traits, kBudget);
  ASSERT_TRUE(copy) << copy.error().message;
  expect_honest(*source, traits, *copy, kBudget);
  EXPECT_EQ(summary(*copy), GetParam().copy) << copy_yaml(*copy, GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(All, CapturedMachine, testing::ValuesIn(kCaptured), [](const auto& test) {
  std::string name = test.param.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

/// CPUs with one thread on each core, in ascending order of cores.
struct TestNode {
  int cpus = 0;
  std::uint64_t memory = kGiB;
};

/// A machine with a socket and a cache for each NUMA node with CPUs.
MachineDescription described(const std::vector<TestNode>& nodes) {
  MachineDescription machine;
  machine.name = "made";
  std::int32_t cpu = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    NumaNode node{NumaId{id}, nodes[i].memory, {}, {}};
    for (std::size_t j = 0; j < nodes.size(); ++j) node.distances.push_back(i == j ? 10 : 40);
    machine.numa_nodes.push_back(std::move(node));
    for (int k = 0; k < nodes[i].cpus; ++k, ++cpu) {
      machine.cpus.push_back({CpuId{cpu}, CoreId{cpu}, SocketId{id}, NumaId{id}, CacheId{id}});
    }
  }
  return machine;
}

/// Changes traits that are otherwise those of a machine made by QEMU.
using Change = void (*)(SourceTraits&);

MachineCopy copy_of(MachineDescription description, std::uint64_t memory = kBudget,
                    Change change = nullptr) {
  const auto source = Machine::make(std::move(description));
  EXPECT_TRUE(source) << source.error().message;
  SourceTraits traits = qemu_traits(*source);
  if (change != nullptr) change(traits);
  auto copy = copy_machine(*source, traits, memory);
  EXPECT_TRUE(copy) << copy.error().message;
  expect_honest(*source, traits, *copy, memory);
  return std::move(*copy);
}

TEST(MachineCopy, SmallMachineHasNoDifference) {
  const MachineCopy copy = copy_of(described({{4, kGiB}, {4, 2 * kGiB}}));
  EXPECT_EQ(summary(copy), "2s 4c 1t 1l 2n: ");
  EXPECT_THAT(copy_yaml(copy, "made"), testing::Not(testing::HasSubstr("Differences from")));
}

TEST(MachineCopy, MachineOf34NodesOfWhich2HaveCpusKeepsThemAll) {
  std::vector<TestNode> nodes(34, TestNode{0, 0});
  nodes[0] = nodes[1] = {72, 480 * kGiB};
  for (const std::size_t gpu : {2U, 10U, 18U, 26U}) nodes[gpu] = {0, 186 * kGiB};
  const MachineCopy copy = copy_of(described(nodes));
  EXPECT_EQ(summary(copy), "2s 64c 1t 1l 34n: cpuNumbers cpus memory");
  EXPECT_GT(copy.machine.nodes[2].memory, 500 * kMiB);
  EXPECT_EQ(copy.machine.nodes[3].memory, 32 * kMiB);  // Linux drops empty nodes
}

TEST(MachineCopy, SixtyFourNodesAreCopied) {
  const MachineCopy copy = copy_of(described(std::vector<TestNode>(64, TestNode{4, 8 * kGiB})));
  EXPECT_EQ(summary(copy), "64s 2c 1t 1l 64n: cpuNumbers cpus memory");
}

TEST(MachineCopy, UnevenGroupsAreFilledWithCpusToTakeOffline) {
  const MachineCopy copy = copy_of(described({{2}, {1}, {2}}));
  EXPECT_EQ(summary(copy), "3s 2c 1t 1l 3n: cpuNumbers offline");
  EXPECT_EQ(copy.offline.to_string(), "3");
  EXPECT_THAT(copy_yaml(copy, "made"), testing::HasSubstr("`offline: {cpus: \"3\"}`"));
}

TEST(MachineCopy, NodesAreInTheOrderOfTheirFirstCpu) {
  MachineDescription description = described({{0}, {2}, {2}});
  for (Cpu& cpu : description.cpus) cpu.socket.value = 2 - cpu.socket.value;  // in reverse order
  const MachineCopy copy = copy_of(description);
  EXPECT_THAT(copy.nodes, testing::ElementsAre(NumaId{2}, NumaId{1}, NumaId{0}));
  EXPECT_THAT(fields_of(copy), testing::ElementsAre("cpuNumbers", "nodeNumbers"));
}

TEST(MachineCopy, EveryNumaNodeOfACacheKeepsCpusWhenCoresAreTakenAway) {
  MachineDescription description = described({{100}, {100}});
  for (Cpu& cpu : description.cpus) cpu.socket.value = cpu.l3.value = 0;
  const MachineCopy copy = copy_of(description);
  EXPECT_EQ(copy.machine.nodes[0].cpus.to_string(), "0-63");
  EXPECT_EQ(copy.machine.nodes[1].cpus.to_string(), "64-127");
}

TEST(MachineCopy, ReducesWhateverQemuLacks) {
  struct {
    const char* what;
    void (*change)(MachineDescription&);
    const char* difference;
  } cases[] = {
      {"a cache of two sockets",
       [](MachineDescription& m) {
         for (Cpu& c : m.cpus) c.l3.value = 0;
       },
       "caches: cache 0 of CPUs 0-7 in sockets 0,1; here: a cache in each of them"},
      {"no cache", [](MachineDescription& m) { m.has_cache_info = false; },
       "caches: no cache information; here: a cache for each socket"},
      {"distance 0",
       [](MachineDescription& m) {
         m.numa_nodes[0].distances = {0, 10};
       },
       "distances: distance 10; here: 11, "},
      {"no distances",
       [](MachineDescription& m) {
         for (NumaNode& n : m.numa_nodes) n.distances = {};
       },
       "distances: unknown; here: 20 between NUMA nodes"},
      {"another page size",
       [](MachineDescription& m) { m.numa_nodes[1].hugepages["hugepages-16Mi"] = 32 * kMiB; },
       "hugePages: NUMA node 1 has 32 MiB of hugepages-16Mi; here: none: x86 has pages of 2Mi and "
       "1Gi"},
      {"a giant page without room",
       [](MachineDescription& m) { m.numa_nodes[0].hugepages["hugepages-1Gi"] = kGiB; },
       "hugePages: NUMA node 0 has 1024 MiB of hugepages-1Gi; here: none: node 0 with 1024 MiB has "
       "no room"},
      {"a first node without memory", [](MachineDescription& m) { m.numa_nodes[0].memory = 0; },
       "memory: none on nodes 0 of the copy; here: 32 MiB, as Linux drops"},
  };
  for (const auto& c : cases) {
    MachineDescription description = described({{4}, {4}});
    c.change(description);
    EXPECT_THAT(copy_yaml(copy_of(description), "made"), testing::HasSubstr(c.difference))
        << c.what;
  }
}

TEST(MachineCopy, NamesWhatNoDecisionDependsOn) {
  struct {
    const char* what;
    Change change;
    const char* difference;
  } cases[] = {
      {"another architecture", [](SourceTraits& t) { t.arch = "ppc64"; },
       "# - architecture: ppc64; here: amd64\n"},
      {"an unknown one", [](SourceTraits& t) { t.arch = ""; },
       "# - architecture: unknown; here: amd64\n"},
      {"larger pages", [](SourceTraits& t) { t.page_kib = 64; },
       "# - pageSize: 64 KiB; here: 4 KiB\n"},
      {"pages of unknown size", [](SourceTraits& t) { t.page_kib = 0; },
       "# - pageSize: unknown; here: 4 KiB\n"},
      {"offline CPUs",
       [](SourceTraits& t) {
         t.unusable = {8, 9};
       },
       "# - unusableCpus: CPUs 8-9, offline or without topology files; here: none\n"},
      {"dies",
       [](SourceTraits& t) {
         t.dies = {{0, 1}, {2, 3}, {4, 5, 6, 7}};
       },
       "# - dies: dies of CPUs 0-1; 2-3; 4-7; here: a die for each socket\n"},
      {"clusters",
       [](SourceTraits& t) {
         t.clusters = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
       },
       "# - clusters: clusters of CPUs 0-1; 2-3; 4-5; 6-7; here: a cluster for each core\n"},
      {"a shared level 2",
       [](SourceTraits& t) {
         t.caches["level 2 Unified"].groups = {{0, 2}, {1, 3}, {4, 5, 6, 7}};
       },
       "# - smallerCaches: level 2 Unified caches of CPUs 0,2; 1,3; 4-7; here: one for each "
       "core\n"},
      {"a level 4",
       [](SourceTraits& t) {
         t.caches["level 4 Unified"] = {{{0, 1}}, {"128M"}};
       },
       "# - smallerCaches: level 4 Unified caches; here: none\n"},
      {"no instruction cache", [](SourceTraits& t) { t.caches.erase("level 1 Instruction"); },
       "# - smallerCaches: no level 1 Instruction caches known; here: one for each core\n"},
      {"other sizes",
       [](SourceTraits& t) {
         t.caches["level 1 Data"].sizes = {"48K", "32K"};
       },
       "# - cacheSizes: level 1 Data 32K and 48K, level 1 Instruction 32K, level 2 Unified 4096K, "
       "level 3 Unified 16384K; here: those of QEMU's Haswell: 32K, 4096K, 16384K\n"},
      {"HMAT",
       [](SourceTraits& t) {
         t.access_nodes = {NumaId{0}, NumaId{1}};
       },
       "# - memoryAccess: NUMA nodes 0-1 have access classes (latency, bandwidth); here: none\n"},
      {"a cache of memory", [](SourceTraits& t) { t.side_cache_nodes = {NumaId{1}}; },
       "# - memoryAccess: NUMA nodes 1 have a memory-side cache; here: none\n"},
      {"an XML file", [](SourceTraits& t) { t = {}; },
       "# - unread: architecture, page size, dies, clusters, smaller caches, memory access; here: "
       "those of QEMU"},
  };
  for (const auto& c : cases) {
    const MachineCopy copy = copy_of(described({{4, kGiB}, {4, kGiB}}), kBudget, c.change);
    EXPECT_THAT(copy_yaml(copy, "made"), testing::HasSubstr(c.difference)) << c.what;
    EXPECT_EQ(fields_of(copy).size(),
              c.what == std::string("a level 4") || c.what == std::string("no instruction cache")
                  ? 2U
                  : 1U)
        << c.what << ": " << copy_yaml(copy, "made");
  }
}

TEST(MachineCopy, DevicesThatWorkloadsUseAreCopiedWhereQemuHasRoom) {
  const MachineCopy copy =
      copy_of(described({{4, kGiB}, {4, kGiB}}), kBudget, [](SourceTraits& traits) {
        const NumaId second{1};
        traits.devices = {{"0000:00:01.0", {NumaId{0}}, false},
                          {"0000:00:02.0", {}, true},
                          {"0000:00:03.0", {NumaId{0}, second}, true},
                          {"0000:80:00.0", {second}, true}};
        for (int i = 1; i < 5; ++i) {
          traits.devices.push_back({fmt::format("0000:80:0{}.0", i), {second}, true});
        }
        traits.devices.push_back({"0000:90:00.0", {NumaId{0}}, true});
      });
  EXPECT_THAT(copy.machine.devices, testing::ElementsAre(0, 1, 1, 1, 1));
  const std::string yaml = copy_yaml(copy, "made");
  EXPECT_THAT(yaml, testing::HasSubstr("  devices: [{node: 0}, {node: 1}, "));
  EXPECT_THAT(yaml, testing::HasSubstr(
                        "# - devices: 0000:80:00.0 on NUMA node 1, 0000:80:01.0 on NUMA node 1, "
                        "0000:80:02.0 on NUMA node 1, 0000:80:03.0 on NUMA node 1, 0000:90:00.0 on "
                        "NUMA node 0; here: QEMU's edu on nodes 0,1,1,1,1\n"));
  EXPECT_THAT(yaml,
              testing::HasSubstr("# - devices: 0000:00:01.0 on NUMA node 0, 0000:00:02.0, "
                                 "0000:00:03.0 on NUMA node 0+1, 0000:80:04.0 on NUMA node 1; "
                                 "here: none: a copy has 4 on each node up to 23"));
}

TEST(MachineCopy, Qemu72GivesEachThreadCachesOfLevel1) {
  MachineDescription description = described({{4, kGiB}, {4, kGiB}});
  for (Cpu& cpu : description.cpus) cpu.core.value -= cpu.core.value % 2;
  const MachineCopy copy = copy_of(description);
  EXPECT_EQ(summary(copy), "2s 2c 2t 1l 2n: smallerCaches");
  EXPECT_THAT(copy_yaml(copy, "made"),
              testing::HasSubstr("# - smallerCaches: level 1 Data caches of CPUs 0-1; 2-3; 4-5; "
                                 "6-7; here: one for each CPU, with QEMU 7.2\n"));
}

TEST(MachineCopy, NamesEachNodeWithAnotherSize) {
  const MachineCopy copy = copy_of(described({{2, 8 * kGiB}, {2, 8 * kGiB}, {2, kGiB / 1000}}));
  const std::string yaml = copy_yaml(copy, "made");
  EXPECT_THAT(yaml, testing::HasSubstr(
                        "# - memory: 8192 MiB on NUMA node 0-1; here: 3040 MiB on node 0-1\n"));
  const MachineCopy rounded = copy_of(described({{2, kGiB + 4096}, {2, kGiB}}));
  EXPECT_THAT(copy_yaml(rounded, "made"),
              testing::HasSubstr(
                  "# - memory: no whole number of MiB on NUMA node 0; here: rounded down\n"));
}

TEST(MachineCopy, HugePagesAreScaledWithTheMemory) {
  MachineDescription description = described({{4, 8 * kGiB}, {4, 8 * kGiB}});
  description.numa_nodes[0].hugepages["hugepages-2Mi"] = 1024 * kMiB;
  description.numa_nodes[1].hugepages["hugepages-1Gi"] = 4 * kGiB;
  const MachineCopy copy = copy_of(description, 8 * kGiB);
  EXPECT_EQ(copy.machine.nodes[0].huge_pages.at(2 * kMiB), 256);
  EXPECT_EQ(copy.machine.nodes[1].huge_pages.at(kGiB), 2);
}

TEST(MachineCopy, MemoryIsInProportionAboveTheLeast) {
  const MachineCopy copy =
      copy_of(described({{4, 100 * kGiB}, {4, 50 * kGiB}, {0, 1 * kGiB}}), 3 * kGiB);
  EXPECT_EQ(copy.machine.nodes[2].memory, 64 * kMiB);
  const auto first = static_cast<double>(copy.machine.nodes[0].memory);
  EXPECT_NEAR(first / static_cast<double>(copy.machine.nodes[1].memory), 2.0, 0.01);
  EXPECT_GT(copy.machine.memory(), 3 * kGiB - 4 * kMiB);
}

TEST(MachineCopy, RejectsABudgetThatIsTooSmall) {
  const auto source = Machine::make(described(std::vector<TestNode>(10, TestNode{1, kGiB})));
  const auto copy = copy_machine(*source, {}, 512 * kMiB);
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().message, "memory: '536870912': expected at least 832Mi for 10 NUMA nodes");
}

TEST(MachineCopy, HasWhatItsNodesNeedIfNothingElseIsSaid) {
  const auto source = Machine::make(described(std::vector<TestNode>(64, TestNode{1, kGiB})));
  const auto copy = copy_machine(*source, {}, std::nullopt);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(copy->machine.memory(), (256 + 63 * 64) * kMiB);
}

}  // namespace
}  // namespace pinfold::harness
