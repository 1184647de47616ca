#include "pinfold/discover/pci.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "pinfold/discover/discover.hpp"
#include "tree_builder.hpp"

namespace pinfold {
namespace {

using test::TempDir;

/// hwloc only reads a captured tree if this variable names it.
class HwlocRoot {
 public:
  explicit HwlocRoot(const std::string& path) { ::setenv("HWLOC_FSROOT", path.c_str(), 1); }
  HwlocRoot(const HwlocRoot&) = delete;
  HwlocRoot& operator=(const HwlocRoot&) = delete;
  ~HwlocRoot() { ::unsetenv("HWLOC_FSROOT"); }
};

void write_pci(const TempDir& dir, const std::string& address, const std::string& class_id,
               const std::string& id, const std::string& numa_node, const std::string& cpus) {
  const std::string folder = "sys/bus/pci/devices/" + address + "/";
  dir.write(folder + "class", class_id + "\n");
  dir.write(folder + "vendor", "0x" + id.substr(0, 4) + "\n");
  dir.write(folder + "device", "0x" + id.substr(5) + "\n");
  if (!numa_node.empty()) dir.write(folder + "numa_node", numa_node + "\n");
  if (!cpus.empty()) dir.write(folder + "local_cpus", cpus + "\n");
}

/// Two sockets of two CPUs, with devices.
void write_machine(const TempDir& dir) {
  MachineDescription machine;
  for (int id = 0; id < 4; ++id) {
    machine.cpus.push_back(
        {CpuId{id}, CoreId{id}, SocketId{id / 2}, NumaId{id / 2}, CacheId{id / 2}});
  }
  machine.numa_nodes = {{NumaId{0}, 1 << 20, {}, {10, 21}}, {NumaId{1}, 1 << 20, {}, {21, 10}}};
  test::write_tree(dir, machine);
  write_pci(dir, "0000:00:00.0", "0x060000", "8086:1237", "-1", "f");  // a bridge
  write_pci(dir, "0000:81:00.0", "0x020000", "15b3:1013", "1", "c");
  write_pci(dir, "0000:02:00.0", "0x030200", "10de:2330", "", "3");
  write_pci(dir, "0000:03:00.0", "0x0c0330", "8086:0001", "-1", "f");
  write_pci(dir, "10000:01:00.0", "0x010802", "144d:a80a", "1", "c");
}

TEST(PciDevices, ComeWithTheirNodes) {
  const TempDir dir;
  write_machine(dir);
  const HwlocRoot root(dir.path());
  const auto found = pci_devices(SysTree{dir.path()});
  ASSERT_TRUE(found) << found.error().message;
  const std::vector<PciDevice> expected = {
      {"0000:02:00.0", 0x0302, 0x10de, 0x2330, {}, {NumaId{0}}},  // from its CPUs
      {"0000:03:00.0", 0x0c03, 0x8086, 0x0001, {}, {}},
      {"0000:81:00.0", 0x0200, 0x15b3, 0x1013, {}, {NumaId{1}}},
      {"10000:01:00.0", 0x0108, 0x144d, 0xa80a, {}, {NumaId{1}}},  // hwloc omits it
  };
  ASSERT_EQ(found->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*found)[i], expected[i])
        << "found " << (*found)[i].address << ", expected " << expected[i].address;
  }
}

TEST(PciDevices, PreferTheKernelsNodeToHwlocs) {
  const TempDir dir;
  write_machine(dir);
  const HwlocRoot root(dir.path());
  dir.write("sys/bus/pci/devices/0000:02:00.0/numa_node", "1\n");
  dir.write("sys/bus/pci/devices/0000:81:00.0/numa_node", "0\n");
  const auto found = pci_devices(SysTree{dir.path()});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)[0].numa_nodes, std::vector<NumaId>{NumaId{1}});
  EXPECT_EQ((*found)[2].numa_nodes, std::vector<NumaId>{NumaId{0}});
}

TEST(PciDevices, HaveNumbersOf0WhereTheKernelHasNoFile) {
  const TempDir dir;
  write_machine(dir);
  const HwlocRoot root(dir.path());
  for (const char* const file : {"vendor", "device"}) {
    std::filesystem::remove(dir.path() + "/sys/bus/pci/devices/10000:01:00.0/" + file);
  }
  const auto found = pci_devices(SysTree{dir.path()});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->back(), (PciDevice{"10000:01:00.0", 0x0108, 0, 0, {}, {NumaId{1}}}));
}

TEST(PciDevices, NameTheFileAndTheValueOfABadTree) {
  const TempDir dir;
  write_machine(dir);
  const HwlocRoot root(dir.path());
  dir.write("sys/bus/pci/devices/0000:02:00.0/numa_node", "near\n");
  const auto found = pci_devices(SysTree{dir.path()});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "'" + dir.path() +
                "/sys/bus/pci/devices/0000:02:00.0/numa_node': 'near': expected a whole number");
}

TEST(PciDevices, NameTheFirstOfSeveralBadFiles) {
  const TempDir dir;
  write_machine(dir);
  const HwlocRoot root(dir.path());
  for (const char* const bus : {"95", "91", "97", "90", "93", "96", "92", "94"}) {
    write_pci(dir, std::string("0000:") + bus + ":00.0", "0x020000", "15b3:1013", "near", "c");
  }
  const auto found = pci_devices(SysTree{dir.path()});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("/0000:90:00.0/"), std::string::npos)
      << found.error().message;
}

TEST(PciDevices, RejectATreeOfAnotherMachine) {
  const TempDir dir;
  write_machine(dir);
  auto found = pci_devices(SysTree{dir.path()});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(found.error().message, "find PCI devices: '" + dir.path() +
                                       "': hwloc reads this machine, expected HWLOC_FSROOT to "
                                       "name the tree");
  const HwlocRoot root(dir.path());
  found = pci_devices(SysTree{});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
}

TEST(DiscoverWithHwloc, FindsTheMachineOfTheKernelsFiles) {
  const TempDir dir;
  write_machine(dir);
  const HwlocRoot root(dir.path());
  const auto kernel = discover(SysTree{dir.path()}, "");
  const auto hwloc = discover_with_hwloc(SysTree{dir.path()}, "box");
  ASSERT_TRUE(kernel) << kernel.error().message;
  ASSERT_TRUE(hwloc) << hwloc.error().message;
  EXPECT_EQ(hwloc->name(), "box");
  EXPECT_EQ(hwloc->all_cpus(), kernel->all_cpus());
  EXPECT_EQ(hwloc->cpus_of_numa(1), kernel->cpus_of_numa(1));
  EXPECT_EQ(hwloc->memory(), kernel->memory());
}

TEST(DiscoverWithHwloc, RejectsATreeOfAnotherMachine) {
  const TempDir dir;
  write_machine(dir);
  const auto hwloc = discover_with_hwloc(SysTree{dir.path()}, "");
  ASSERT_FALSE(hwloc);
  EXPECT_EQ(hwloc.error().code, ErrorCode::kUnsupported);
}

TEST(PciDevices, AreNoneInASyntheticMachine) {
  const auto found = pci_devices(HwlocSynthetic{"pack:2 pu:2"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->empty());
}

TEST(DeviceRule, MatchesByIdOrClass) {
  const std::vector<PciDevice> found = {
      {"0000:02:00.0", 0x0302, 0x10de, 0x2330, {}, {NumaId{0}}},
      {"0000:81:00.0", 0x0200, 0x15b3, 0x1013, {"eth7"}, {NumaId{1}}},
      {"0000:82:00.0", 0x0200, 0x8086, 0x1013, {}, {}},
      {"0000:83:00.0", 0x0302, 0x10de, 0x1db6, {}, {}},  // same vendor, another device
      {"0000:84:00.0", 0x0108, 0x144d, 0xa80a, {}, {}},
  };
  const std::vector<DeviceRule> rules = {*DeviceRule::parse("10de:2330=nvidia.com/gpu"),
                                         *DeviceRule::parse("15b3:1013=example.com/fast"),
                                         *DeviceRule::parse("class:0200=example.com/nic")};
  const std::vector<Device> expected = {{"nvidia.com/gpu", "0000:02:00.0", {NumaId{0}}},
                                        {"example.com/fast", "0000:81:00.0", {NumaId{1}}},
                                        {"example.com/nic", "0000:82:00.0", {}}};
  EXPECT_EQ(as_devices(found, rules), expected);
}

TEST(DeviceRule, RejectsOtherForms) {
  for (const char* text :
       {"", "10de:2330", "10de=a/b", "10de:23=a/b", "class:gpu0=a/b", "10de:2330=gpu",
        "10de:2330=/gpu", "10de:2330=a/", "10de:2330:1=a/b", "=a/b", "0x10:2330=a/b"}) {
    const auto rule = DeviceRule::parse(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_TRUE(
        rule.error().message.starts_with("device rule '" + std::string(text) + "': expected"))
        << rule.error().message;
  }
}

TEST(PciClass, HasAReadableName) {
  EXPECT_EQ(pci_class_name(0x0200), "Ethernet");
  EXPECT_EQ(pci_class_name(0x0280), "network");
  EXPECT_EQ(pci_class_name(0x1200), "accelerator");
  EXPECT_EQ(pci_class_name(0x0880), "device");
  EXPECT_TRUE(is_workload_device({"0000:82:00.0", 0x0200, 0, 0, {}, {}}));
  EXPECT_FALSE(is_workload_device({"0000:82:00.0", 0x0880, 0, 0, {}, {}}));
}

}  // namespace
}  // namespace pinfold
