#include "pinfold/harness/vm_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "machine.hpp"
#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

/// The agent's report from a guest with the machine two_sockets().
Json report_of_two_sockets() {
  Json report = {{"online", "0-7"},       {"cpuset", "v2"},    {"cpu", "v2"},
                 {"devices", ""},         {"networkCards", 0}, {"cpus", Json::array()},
                 {"nodes", Json::array()}};
  for (int id = 0; id < 8; ++id) {
    const int first = id / 2 * 2;
    report["cpus"].push_back({{"id", id},
                              {"package", std::to_string(id / 4)},
                              {"siblings", CpuSet::range(first, first + 1).to_string()},
                              {"cache", id < 4 ? "0-3" : "4-7"},
                              {"node", id / 4}});
  }
  report["nodes"] = {
      {{"id", 0}, {"cpus", "0-3"}, {"distances", "10 21"}, {"memory", std::uint64_t{470} << 20}},
      {{"id", 1}, {"cpus", "4-7"}, {"distances", "12 10"}, {"memory", std::uint64_t{250} << 20}}};
  return report;
}

TEST(MachineDifferences, NoneForTheRequestedMachine) {
  EXPECT_THAT(machine_differences(two_sockets(), report_of_two_sockets()), testing::IsEmpty());
}

TEST(MachineDifferences, FindsEveryDifference) {
  struct {
    const char* what;
    void (*lie)(Json&);
    const char* difference;
  } cases[] = {
      {"a CPU is missing", [](Json& r) { r["cpus"].erase(7); }, "cpus: expected 8, got 7"},
      {"another cgroup version", [](Json& r) { r["cpuset"] = "v1"; },
       "cgroup of cpuset: expected 'v2', got 'v1'"},
      {"a CPU is offline", [](Json& r) { r["online"] = "0-6"; },
       "online cpus: expected '0-7', got '0-6'"},
      {"no SMT", [](Json& r) { r["cpus"][2]["siblings"] = "2"; },
       "cpu2 siblings: expected '2-3', got '2'"},
      {"another cache", [](Json& r) { r["cpus"][2]["cache"] = "0-7"; },
       "cpu2 last-level cache: expected '0-3', got '0-7'"},
      {"a device", [](Json& r) { r["devices"] = "1"; },
       "nodes of PCI devices: expected '', got '1'"},
      {"a network card", [](Json& r) { r["networkCards"] = 1; },
       "network cards: expected '0', got '1'"},
      {"another socket", [](Json& r) { r["cpus"][5]["package"] = "0"; },
       "cpu5 package: expected '1', got '0'"},
      {"another node", [](Json& r) { r["cpus"][5]["node"] = 0; },
       "cpu5 node: expected '1', got '0'"},
      {"a node is missing", [](Json& r) { r["nodes"].erase(1); }, "nodes: expected 2, got 1"},
      {"another node id", [](Json& r) { r["nodes"][1]["id"] = 2; },
       "node1 id: expected '1', got '2'"},
      {"other distances", [](Json& r) { r["nodes"][1]["distances"] = "21 10"; },
       "node1 distances: expected '12 10', got '21 10'"},
      {"too little memory", [](Json& r) { r["nodes"][1]["memory"] = 1U << 20; },
       "node1 memory: expected 256 MiB, got 1 MiB"},
      {"too much memory", [](Json& r) { r["nodes"][1]["memory"] = 300U << 20; },
       "node1 memory: expected 256 MiB, got 300 MiB"},
      {"memory is no number", [](Json& r) { r["nodes"][1]["memory"] = "much"; },
       "node1 memory: expected 256 MiB, got 0 MiB"},
      {"no list of CPUs", [](Json& r) { r["cpus"] = 8; }, "cpus: expected 8, got 0"},
      {"nothing at all", [](Json& r) { r = "fine"; }, "the guest reports no machine"},
  };
  for (const auto& c : cases) {
    Json report = report_of_two_sockets();
    c.lie(report);
    EXPECT_THAT(machine_differences(two_sockets(), report), testing::Contains(c.difference))
        << c.what;
  }
}

TEST(NeedsNewerQemu, WhereTheOldOneFails) {
  EXPECT_FALSE(needs_newer_qemu(two_sockets()));
  VmMachine machine = two_sockets();
  machine.platform.kernel = "debian-6.12";
  EXPECT_TRUE(needs_newer_qemu(machine));
  machine = two_sockets();
  machine.caches = 2;
  EXPECT_TRUE(needs_newer_qemu(machine));
  machine = two_sockets();
  machine.threads = 4;
  EXPECT_TRUE(needs_newer_qemu(machine));
  machine = two_sockets();
  machine.cores = 3;
  EXPECT_TRUE(needs_newer_qemu(machine));
}

TEST(MachineDifferences, HandlesAbsentCpusAndHugePages) {
  VmMachine machine = two_sockets();
  machine.absent = CpuSet{7};
  machine.nodes[1].huge_pages[2U << 20] = 8;
  Json report = report_of_two_sockets();
  report["online"] = "0-6";
  report["cpus"].erase(7);
  report["cpus"][6]["siblings"] = "6";
  for (int id = 4; id < 7; ++id) report["cpus"][static_cast<std::size_t>(id)]["cache"] = "4-6";
  report["nodes"][1]["cpus"] = "4-6";
  report["nodes"][1]["hugepages"] = {{"2048", "8"}};
  EXPECT_THAT(machine_differences(machine, report), testing::IsEmpty());
  report["nodes"][1]["hugepages"] = {{"2048", "7"}};
  EXPECT_THAT(machine_differences(machine, report),
              testing::ElementsAre("node1 huge pages of 2048 kB: expected '8', got '7'"));
}

TEST(MachineDifferences, ExpectsNoCachesOnArm64) {
  VmMachine machine = two_sockets();
  machine.platform.arch = Arch::kArm64;
  Json report = report_of_two_sockets();
  EXPECT_EQ(machine_differences(machine, report).size(), 8U);
  for (Json& cpu : report["cpus"]) cpu["cache"] = "";
  EXPECT_THAT(machine_differences(machine, report), testing::IsEmpty());
}

TEST(CheckMachine, RejectsWhatArm64CannotHave) {
  const struct {
    void (*spoil)(VmMachine&);
    const char* field;
  } cases[] = {
      {[](VmMachine& m) {
         m.dies = 2;
         m.sockets = 1;
       },
       "dies"},
      {[](VmMachine& m) { m.caches = 2; }, "caches"},
      {[](VmMachine& m) { m.absent = CpuSet{7}; }, "absentCpus"},
      {[](VmMachine& m) { m.pluggable_memory = 128 * kMiB; }, "pluggableMemory"},
      {[](VmMachine& m) { m.devices = {0}; }, "devices"},
      {[](VmMachine& m) {
         m.disk = VmDisk{Filesystem::kExt4, 16 * kMiB, "/disk"};
       },
       "disk"},
  };
  VmMachine machine = two_sockets();
  machine.platform.arch = Arch::kArm64;
  EXPECT_TRUE(check_machine(machine));
  EXPECT_FALSE(needs_newer_qemu(machine));
  for (const auto& c : cases) {
    VmMachine spoiled = machine;
    c.spoil(spoiled);
    const auto checked = check_machine(spoiled);
    ASSERT_FALSE(checked) << c.field;
    EXPECT_EQ(checked.error().message, std::string(c.field) + ": expected none on arm64");
  }
}

TEST(CheckMachine, AcceptsMachinesThatQemuSupports) {
  EXPECT_TRUE(check_machine(two_sockets()));
  VmMachine memory_only = two_sockets();
  memory_only.nodes.push_back({CpuSet{}, 64U << 20, {}});
  memory_only.distances = {{10, 21, 30}, {21, 10, 30}, {30, 30, 10}};
  EXPECT_TRUE(check_machine(memory_only));
}

TEST(CheckMachine, RejectsMachinesThatQemuCannotMake) {
  struct {
    const char* what;
    void (*spoil)(VmMachine&);
    const char* message;
  } cases[] = {
      {"no socket", [](VmMachine& m) { m.sockets = 0; }, "sockets: '0': expected 1 to 128"},
      {"five threads", [](VmMachine& m) { m.threads = 5; }, "threads: '5': expected 1 to 4"},
      {"too many CPUs", [](VmMachine& m) { m.cores = 64; },
       "'256' CPUs in total: expected at most 128"},
      {"no node", [](VmMachine& m) { m.nodes.clear(); }, "nodes: 0 of them, expected 1 to 64"},
      {"unknown CPU",
       [](VmMachine& m) {
         m.nodes[1].cpus = CpuSet{4, 9};
       },
       "nodes[1].cpus: '4,9': expected CPUs of 0-7"},
      {"CPU on two nodes", [](VmMachine& m) { m.nodes[1].cpus = CpuSet::range(3, 7); },
       "nodes[1].cpus: '3-7': 3 belongs to an earlier node"},
      {"CPU on no node", [](VmMachine& m) { m.nodes[1].cpus = CpuSet::range(5, 7); },
       "nodes: cpus 4 are on no node"},
      {"first node without CPUs",
       [](VmMachine& m) {
         m.nodes[0].cpus = {};
         m.nodes[1].cpus = CpuSet::range(0, 7);
       },
       "nodes[1].cpus: '0-7': expected nodes with CPUs before those without"},
      {"nodes in another order", [](VmMachine& m) { std::swap(m.nodes[0].cpus, m.nodes[1].cpus); },
       "nodes[1].cpus: '0-3': expected nodes in the order of their first CPUs"},
      {"an empty node",
       [](VmMachine& m) {
         m.nodes.push_back({});
         m.distances = {{10, 21, 30}, {21, 10, 30}, {30, 30, 10}};
       },
       "nodes[2]: expected CPUs or memory: Linux drops other nodes"},
      {"gaps in the APIC ids",
       [](VmMachine& m) {
         m.sockets = 5;
         m.dies = 5;
         m.cores = 5;
         m.threads = 1;
       },
       "APIC id '292' of the last CPU: expected at most 254; fewer caches, or numbers that are "
       "powers of two, give lower ones"},
      {"tiny memory", [](VmMachine& m) { m.nodes[1].memory = 1U << 20; },
       "nodes[1].memory: '1048576': expected 0, or 32Mi to 1Ti in whole MiB"},
      {"no memory on the first node", [](VmMachine& m) { m.nodes[0].memory = 0; },
       "nodes[0].memory: '0': expected some memory"},
      {"cpuset v1 in a kernel without it",
       [](VmMachine& m) {
         m.platform.cgroup = CgroupMode::kV1;
         m.platform.kernel = "debian-6.12";
       },
       "cgroup: 'v1': expected kernel debian-5.10 or debian-6.1 with it, later ones have no cpuset "
       "v1"},
      {"huge pages by node in a kernel without them",
       [](VmMachine& m) {
         m.nodes[1].huge_pages[2 * kMiB] = 1;
         m.platform.kernel = "debian-5.10";
       },
       "nodes[1].hugePages: expected none with kernel debian-5.10, which reserves none by NUMA "
       "node"},
      {"caches that are no divisor", [](VmMachine& m) { m.caches = 3; },
       "caches: '3': expected a divisor of the 2 cores of a die"},
      {"absent CPUs in between", [](VmMachine& m) { m.absent = CpuSet{5}; },
       "absentCpus: '5': expected the last ones of 1-7"},
      {"all CPUs absent", [](VmMachine& m) { m.absent = CpuSet::range(0, 7); },
       "absentCpus: '0-7': expected the last ones of 1-7"},
      {"odd memory to plug", [](VmMachine& m) { m.pluggable_memory = 1U << 20; },
       "pluggableMemory: '1048576': expected a multiple of 128Mi up to 1Ti"},
      {"a device on no node", [](VmMachine& m) { m.devices = {2}; },
       "devices: node '2': expected one of 2 nodes"},
      {"too many devices",
       [](VmMachine& m) {
         m.devices = {1, 1, 1, 1, 1};
       },
       "devices: node '1': expected at most 4 on a node, nodes up to 23"},
      {"ragged distances", [](VmMachine& m) { m.distances[1] = {21}; },
       "distances[1]: 1 values, expected 2"},
      {"far from itself", [](VmMachine& m) { m.distances[1][1] = 11; },
       "distances[1][1]: '11': expected 10"},
      {"too near", [](VmMachine& m) { m.distances[0][1] = 10; },
       "distances[0][1]: '10': expected 11 to 254"},
  };
  for (const auto& c : cases) {
    VmMachine machine = two_sockets();
    c.spoil(machine);
    const auto checked = check_machine(machine);
    ASSERT_FALSE(checked) << c.what;
    EXPECT_EQ(checked.error().message, c.message) << c.what;
  }
}

}  // namespace
}  // namespace pinfold::harness
