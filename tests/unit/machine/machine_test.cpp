#include "pinfold/machine/machine.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinfold {
namespace {

MachineDescription two_sockets() {
  MachineDescription d;
  d.name = "two";
  for (int id = 0; id < 8; ++id) {
    d.cpus.push_back(
        {CpuId{id}, CoreId{id / 2 * 2}, SocketId{id / 4}, NumaId{id / 4}, CacheId{id / 4}});
  }
  d.numa_nodes = {{NumaId{0}, 1000, {}, {10, 21}}, {NumaId{1}, 2000, {}, {21, 10}}};
  return d;
}

TEST(Machine, AnswersFromItsTables) {
  const auto machine = Machine::make(two_sockets());
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->all_cpus().to_string(), "0-7");
  EXPECT_EQ(machine->cores().size(), 4U);
  EXPECT_EQ(machine->sockets()[1].cpus.to_string(), "4-7");
  EXPECT_EQ(machine->cores()[1].socket, 0);
  EXPECT_EQ(machine->cores()[2].socket, 1);
  EXPECT_EQ(machine->cores()[2].numa, 1);
  EXPECT_EQ(machine->memory(), 3000U);
  EXPECT_EQ(machine->cpus_of_numa(1).to_string(), "4-7");
  EXPECT_EQ(machine->cpus_of_numa(NumaMask(0b11)).to_string(), "0-7");
  EXPECT_EQ(machine->groups_of(CpuId{5}).core, 2);
  EXPECT_EQ(machine->groups_of(CpuId{5}).numa, 1);
  EXPECT_EQ(machine->cpus_per_core(), 2);
  EXPECT_EQ(machine->cpus_per_socket(), 4);
  EXPECT_EQ(machine->find(CpuId{8}), nullptr);
}

TEST(Machine, RoundTripsThroughJson) {
  const auto machine = Machine::make(two_sockets());
  ASSERT_TRUE(machine);
  const auto again = Machine::from_json(machine->to_json());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *machine);
  EXPECT_TRUE(again->description().has_cache_info);
}

TEST(Machine, RoundTripsWithKindsOfCores) {
  auto d = two_sockets();
  EXPECT_FALSE(Machine::make(d)->to_json().contains("coreKinds"));
  d.core_kinds = {{"performance", CpuSet{0, 1}}, {"efficiency", CpuSet{2}}};
  const auto machine = Machine::make(d);
  ASSERT_TRUE(machine);
  auto json = machine->to_json();
  const auto again = Machine::from_json(json);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->description().core_kinds, d.core_kinds);
  EXPECT_EQ(*again, *Machine::make(two_sockets())) << "no decision depends on them";
  json["coreKinds"][0]["name"] = "";
  EXPECT_EQ(Machine::from_json(json).error().message, "node.coreKinds[0].name: expected a name");
}

TEST(Machine, RoundTripsWithoutCachesSocketsOrDistances) {
  auto d = two_sockets();
  d.has_cache_info = false;
  for (Cpu& cpu : d.cpus) {
    cpu.socket = SocketId{-1};
    cpu.l3 = CacheId{-1};
  }
  for (NumaNode& node : d.numa_nodes) node.distances.clear();
  d.numa_nodes[1].hugepages = {{"hugepages-2Mi", 0}};
  d.devices = {{"example.com/gpu", "0", {NumaId{1}}}, {"example.com/nic", "0", {}}};
  const auto machine = Machine::make(d);
  ASSERT_TRUE(machine) << machine.error().message;
  const auto again = Machine::from_json(machine->to_json());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *machine) << again->to_json().dump();
}

TEST(Machine, TakesTheSocketWhereJsonNamesNoCache) {
  auto node = Machine::make(two_sockets())->to_json();
  for (auto& cpu : node["cpus"]) cpu.erase("l3");
  for (auto& item : node["numaNodes"]) item.erase("distances");
  node.erase("devices");
  const auto machine = Machine::from_json(node);
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_FALSE(machine->description().has_cache_info);
  EXPECT_EQ(machine->find(CpuId{5})->l3, CacheId{1});
  EXPECT_TRUE(machine->numa_nodes()[0].distances.empty());
}

TEST(Machine, NamesTheFieldOfBadJson) {
  const struct {
    const char* pointer;
    nlohmann::json value;
    const char* message;
  } cases[] = {
      {"/name", 7, "node.name: 7: expected a string"},
      {"/cpus", "all", "node.cpus: 'all': expected a list"},
      {"/cpus/2", 2, "node.cpus[2]: 2: expected an object"},
      {"/cpus/2/id", -1, "node.cpus[2].id: -1: expected a whole number from 0 to 1073741824"},
      {"/cpus/2/id", 1.5, "node.cpus[2].id: 1.5: expected a whole number from 0 to 1073741824"},
      {"/cpus/2/socket", -2,
       "node.cpus[2].socket: -2: expected a whole number from -1 to 1073741824"},
      {"/numaNodes/0/memory", "1Gi",
       "node.numaNodes[0].memory: '1Gi': expected a whole number from 0 to "
       "4611686018427387904"},
      {"/numaNodes/0/distances/1", -1,
       "node.numaNodes[0].distances[1]: -1: expected a whole number from 0 to 4294967295"},
      {"/cpus/0", nlohmann::json::object(), "node.cpus[0].id: missing"},
      {"/numaNodes/1", "1", "node.numaNodes[1]: '1': expected an object"},
      {"/numaNodes/1/hugepages", 2, "node.numaNodes[1].hugepages: 2: expected an object"},
      {"/numaNodes/0/distances", 10, "node.numaNodes[0].distances: 10: expected a list"},
      {"/devices", "none", "node.devices: 'none': expected a list"},
      {"/devices/0", 1, "node.devices[0]: 1: expected an object"},
      {"/devices/0", {{"resource", "a/b"}}, "node.devices[0].id: missing"},
      {"/devices/0", {{"resource", ""}, {"id", "0"}}, "node.devices[0].resource: expected a name"},
      {"/devices/0",
       {{"resource", "a/b"}, {"id", "0"}, {"numaNodes", 1}},
       "node.devices[0].numaNodes: 1: expected a list"},
      {"/devices/0",
       {{"resource", "a/b"}, {"id", "0"}, {"numaNodes", {-1}}},
       "node.devices[0].numaNodes[0]: -1: expected a whole number from 0 to 2147483647"},
      {"/devices/0",
       {{"resource", "a/b"}, {"id", "0"}, {"numa", {0}}},
       "node.devices[0].numa: a list: expected no such member"},
      {"/cpus/0/node", 1, "node.cpus[0].node: 1: expected no such member"},
      {"/numaNodes/0/meory", 1, "node.numaNodes[0].meory: 1: expected no such member"},
      {"/device", 1, "node.device: 1: expected no such member"},
  };
  for (const auto& c : cases) {
    auto node = Machine::make(two_sockets())->to_json();
    node[nlohmann::json::json_pointer(c.pointer)] = c.value;
    const auto machine = Machine::from_json(node);
    ASSERT_FALSE(machine) << c.pointer << " = " << c.value.dump();
    EXPECT_EQ(machine.error().message, c.message);
  }
}

TEST(Machine, NamesHugePagesAsTheKubelet) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"hugepages-2Mi", "hugepages-2Mi"},
      {"1Gi", "hugepages-1Gi"},
      {"2048Ki", "hugepages-2Mi"},
      {"hugepages-1024Mi", "hugepages-1Gi"}};
  for (const auto& [key, resource] : cases) {
    auto node = Machine::make(two_sockets())->to_json();
    node["numaNodes"][0]["hugepages"] = {{key, 0}};
    const auto machine = Machine::from_json(node);
    ASSERT_TRUE(machine) << key << ": " << machine.error().message;
    EXPECT_TRUE(machine->numa_nodes()[0].hugepages.contains(resource)) << key;
  }
  for (const std::string key :
       {"", "hugepages-", "huge", "0", "-2Mi", "1500m", "1000", "hugepages"}) {
    auto node = Machine::make(two_sockets())->to_json();
    node["numaNodes"][0]["hugepages"] = {{key, 0}};
    const auto machine = Machine::from_json(node);
    ASSERT_FALSE(machine) << key;
    EXPECT_EQ(machine.error().message, "node.numaNodes[0].hugepages: '" + key +
                                           "': expected a page size such as 'hugepages-2Mi'");
  }
  auto node = Machine::make(two_sockets())->to_json();
  node["numaNodes"][0]["hugepages"] = {{"1Gi", 0}, {"hugepages-1Gi", 0}};
  EXPECT_EQ(Machine::from_json(node).error().message,
            "node.numaNodes[0].hugepages: 'hugepages-1Gi': this size is listed twice");
  node["numaNodes"][0]["hugepages"] = {{"2Mi", 512}};  // pages
  EXPECT_EQ(Machine::from_json(node).error().message,
            "node.numaNodes[0].hugepages: '2Mi': 512: expected bytes, a multiple of 2097152");
}

constexpr const char* kMachineInfo = R"({"num_cores": 5, "memory_capacity": 9000, "topology": [
  {"node_id": 0, "memory": 4000, "hugepages": [{"page_size": 2048, "num_pages": 3}],
   "distances": [10, 21], "cores": [
    {"core_id": 0, "thread_ids": [4, 0], "uncore_caches": [{"id": 7}], "socket_id": 0},
    {"core_id": 1, "thread_ids": [1], "uncore_caches": [{"id": 8}], "socket_id": 0}]},
  {"node_id": 1, "memory": 5000, "hugepages": null, "distances": [21, 10], "cores": [
    {"core_id": 0, "thread_ids": [2, 3], "uncore_caches": [{"id": 9}], "socket_id": 1}]}]})";

TEST(MachineInfo, IsReadAsTheKubeletReadsIt) {
  const auto machine = parse_machine(kMachineInfo);
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->all_cpus().to_string(), "0-4");
  EXPECT_EQ(machine->memory(), 9000U);
  EXPECT_EQ(machine->find(CpuId{4})->core, CoreId{0});
  EXPECT_EQ(machine->find(CpuId{3})->socket, SocketId{1});
  EXPECT_EQ(machine->find(CpuId{3})->l3, CacheId{9});
  EXPECT_EQ(machine->numa_nodes()[0].hugepages,
            (std::map<std::string, std::uint64_t>{{"hugepages-2Mi", 6U << 20U}}));
  EXPECT_EQ(machine->numa_nodes()[1].distances, (std::vector<std::uint32_t>{21, 10}));
  const auto again = Machine::from_json(machine->to_json());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *machine);
  EXPECT_EQ(again->memory(), 9000U);
}

TEST(MachineInfo, TakesTheSocketOfVirtualMachines) {
  auto info = nlohmann::json::parse(kMachineInfo);
  info["topology"][0]["cores"][0]["socket_id"] = -1;
  const auto machine = Machine::from_json(info);
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->find(CpuId{4})->socket, SocketId{-1});
}

TEST(MachineInfo, WarnsOfOtherNumbersOfCpus) {
  auto info = nlohmann::json::parse(kMachineInfo);
  info["num_cores"] = 5;
  EXPECT_TRUE(Machine::from_json(info)->description().warnings.empty());
  info["num_cores"] = 16;
  EXPECT_EQ(Machine::from_json(info)->description().warnings,
            std::vector<std::string>{
                "machineInfo: num_cores is 16, but the topology has 5 CPUs: a kubelet counts "
                "num_cores for the requests of pods, and here the topology counts"});
}

TEST(MachineInfo, NamesTheFieldOfBadJson) {
  const struct {
    const char* pointer;
    nlohmann::json value;
    const char* message;
  } cases[] = {
      {"/topology", "none", "machineInfo.topology: 'none': expected a list"},
      {"/topology", nullptr, "numaNodes: expected at least one NUMA node"},
      {"/topology/1/cores/0", 3, "machineInfo.topology[1].cores: 3: expected an object"},
      {"/topology/1/cores/0/thread_ids", nullptr,
       "machineInfo.topology[1].cores[0].thread_ids: expected a list of CPUs"},
      {"/topology/1/cores/0/thread_ids",
       {-1},
       "machineInfo.topology[1].cores[0].thread_ids: -1: expected a CPU id"},
      {"/topology/0/hugepages/0/page_size", 0,
       "machineInfo.topology[0].hugepages.page_size: 0: expected a size in KiB"},
  };
  for (const auto& c : cases) {
    auto info = nlohmann::json::parse(kMachineInfo);
    info[nlohmann::json::json_pointer(c.pointer)] = c.value;
    const auto machine = Machine::from_json(info);
    ASSERT_FALSE(machine) << c.pointer << " = " << c.value.dump();
    EXPECT_EQ(machine.error().message, c.message);
  }
}

TEST(Machine, TakesNodeIdsAboveSixtyThree) {
  auto d = two_sockets();
  d.numa_nodes[1].id = NumaId{255};
  for (auto& cpu : d.cpus) cpu.numa = NumaId{cpu.numa.value * 255};
  const auto machine = Machine::make(d);
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->numa_position(NumaId{255}), 1);
  EXPECT_EQ(machine->numa_list(NumaMask(0b11)), "0,255");
}

TEST(Machine, TakesNumaNodesInAnyOrder) {
  const auto node = [](std::int32_t id, std::vector<std::uint32_t> distances) {
    NumaNode out;
    out.id = NumaId{id};
    out.memory = static_cast<std::uint64_t>(id) + 1;
    out.distances = std::move(distances);
    return out;
  };
  auto sorted = two_sockets();
  sorted.numa_nodes = {node(0, {10, 12, 13}), node(1, {21, 10, 23}), node(10, {31, 32, 10})};
  auto listed = sorted;
  // In text order: 0, 10, 1. The distances follow the order of the list, too.
  listed.numa_nodes = {node(0, {10, 13, 12}), node(10, {31, 10, 32}), node(1, {21, 23, 10})};
  EXPECT_EQ(Machine::make(listed).value().numa_nodes(), Machine::make(sorted).value().numa_nodes());
}

TEST(Machine, RejectsImpossibleMachines) {
  struct {
    const char* what;
    void (*spoil)(MachineDescription&);
    const char* message;
  } cases[] = {
      {"duplicate cpu", [](MachineDescription& d) { d.cpus[1].id = CpuId{0}; },
       "cpus: id 0 appears twice"},
      {"unknown node", [](MachineDescription& d) { d.cpus[3].numa = NumaId{7}; },
       "cpus: cpu 3 is on NUMA node 7, which is not listed"},
      {"core over sockets", [](MachineDescription& d) { d.cpus[4].core = CoreId{2}; },
       "cpus: core 2 is on sockets 0 and 1"},
      {"duplicate node", [](MachineDescription& d) { d.numa_nodes[1].id = NumaId{0}; },
       "numaNodes: id 0 appears twice"},
      {"ragged distances", [](MachineDescription& d) { d.numa_nodes[1].distances = {1}; },
       "numaNodes: node 1 has 1 distances, expected 2"},
      {"negative node", [](MachineDescription& d) { d.numa_nodes[1].id = NumaId{-1}; },
       "numaNodes: id -1, expected 0 or more"},
      {"no node", [](MachineDescription& d) { d.numa_nodes.clear(); },
       "numaNodes: expected at least one NUMA node"},
      {"too many nodes",
       [](MachineDescription& d) {
         for (int id = 2; id < 65; ++id) d.numa_nodes.push_back({NumaId{id}, 1, {}, {}});
       },
       "numaNodes: 65 nodes, expected at most 64"},
      {"negative cpu", [](MachineDescription& d) { d.cpus[3].id = CpuId{-1}; },
       "cpus: id -1, expected 0 to 65535"},
      {"cpu above the limit", [](MachineDescription& d) { d.cpus[3].id = CpuId{65536}; },
       "cpus: id 65536, expected 0 to 65535"},
      {"no cpu", [](MachineDescription& d) { d.cpus.clear(); },
       "cpus: expected at least one online CPU"},
  };
  for (const auto& c : cases) {
    auto d = two_sockets();
    c.spoil(d);
    const auto machine = Machine::make(d);
    ASSERT_FALSE(machine) << c.what;
    EXPECT_EQ(machine.error().message, c.message) << c.what;
  }
}

}  // namespace
}  // namespace pinfold
