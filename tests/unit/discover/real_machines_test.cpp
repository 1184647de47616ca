// Every captured machine of the shared collection, against expectations derived by hand.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "hwloc_topology.hpp"
#include "pinfold/discover/discover.hpp"
#include "tree_builder.hpp"

namespace pinfold::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMachines[] = {
    "128arm-2pa2n8cluster4co",
    "16amd64-4n4c-cgroup-distance-merge",
    "16amd64-8n2c",
    "16amd64-8n2c-cpusets",
    "16em64t-4s2c2t",
    "16em64t-4s2ca2c-cpusetreorder",
    "16ia64-8n2s",
    "20em64t-hybrid-1p6c2t+2ca4co1t",
    "256ia64-64n2s2c",
    "256ppc-8n8s4t",
    "2pa-pcidomain32bits",
    "32amd64-4s2n4c-cgroup2",
    "32em64t-2n8c+dax+nvme+mic+dimms",
    "32intel64-2p8co2t+8ve",
    "40intel64-2g2n4c+pcilocality",
    "64fake-4n2s2ca2c2t",
    "8em64t-2s2ca2c",
    "8em64t-2s4c-asymcaches",
    "8ia64-2n2s2c",
    "8ia64-2s2c2t",
    "fakeheteromemtiers",
    "fakememinitiators-1np2c+1npp+gi",
    "fakepcilocalities",
    "nvidiagpunumanodes",
};

std::string machines_folder() {
  const char* const shared = std::getenv("PINFOLD_SHARED");
  return shared == nullptr ? "" : std::string(shared) + "/machines";
}

/// hwloc's view of a captured tree, through its XML.
std::string hwloc_view(const std::string& root) {
  ::setenv("HWLOC_FSROOT", root.c_str(), 1);
  ::setenv("HWLOC_HIDE_ERRORS", "2", 1);
  hwloc_topology_t raw = nullptr;
  hwloc_topology_init(&raw);
  const HwlocTopology topology(raw);
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  const bool ok = hwloc_topology_load(raw) == 0;
  ::unsetenv("HWLOC_FSROOT");
  char* buffer = nullptr;
  int size = 0;
  if (!ok || hwloc_topology_export_xmlbuffer(raw, &buffer, &size, 0) != 0) return "";
  std::string text(buffer);
  hwloc_free_xmlbuffer(raw, buffer);
  return text;
}

/// Returns MemTotal in bytes, which the expected machines omit; nullopt for a tree without it.
std::optional<std::uint64_t> mem_total(const std::string& root) {
  std::ifstream in(root + "/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  if (!(in >> key >> kib)) return std::nullopt;
  EXPECT_EQ(key, "MemTotal:");
  return kib * 1024;
}

// Shared caches with contradictory masks, which hwloc resolves differently.
constexpr std::string_view kOtherCachesInHwloc[] = {"64fake-4n2s2ca2c2t", "8ia64-2n2s2c",
                                                    "8ia64-2s2c2t"};

class RealMachine : public testing::TestWithParam<const char*> {};

TEST_P(RealMachine, IsDiscoveredExactly) {
  const std::string folder = machines_folder();
  if (folder.empty()) GTEST_SKIP() << "PINFOLD_SHARED is not set: no captured machines here";
  const std::string stem = folder + "/" + GetParam();
  const std::string name = fmt::format("real-{}", GetParam());
  const test::TempDir dir;
  const std::string unpack = fmt::format("tar -C '{}' -xzf '{}.sysfs.tar.gz'", dir.path(), stem);
  ASSERT_EQ(std::system(unpack.c_str()), 0) << unpack;
  std::ifstream in(stem + ".node.json");
  auto expected = nlohmann::json::parse(in);

  const auto found = discover(SysTree{dir.path()}, name);
  ASSERT_TRUE(found) << found.error().message;
  const nlohmann::json node = found->to_json();
  if (const auto total = mem_total(dir.path())) expected["memoryCapacity"] = *total;
  EXPECT_EQ(node, expected) << "differences from expected to found:\n"
                            << nlohmann::json::diff(expected, node).dump(1);
  const auto again = Machine::from_json(node);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->to_json(), node);

  const auto seen = discover(HwlocXml{hwloc_view(dir.path())}, name);
  ASSERT_TRUE(seen) << seen.error().message;
  nlohmann::json view = seen->to_json();
  expected.erase("memoryCapacity");  // hwloc has none
  if (std::count(std::begin(kOtherCachesInHwloc), std::end(kOtherCachesInHwloc), GetParam()) != 0) {
    for (nlohmann::json* machine : {&expected, &view}) {
      for (auto& cpu : (*machine)["cpus"]) cpu.erase("l3");
      machine->at("numaNodes").front().erase("distances");  // in one tree, distance 0 to itself
    }
  }
  EXPECT_EQ(view, expected) << "differences from expected to hwloc's view:\n"
                            << nlohmann::json::diff(expected, view).dump(1);
}

INSTANTIATE_TEST_SUITE_P(Captured, RealMachine, testing::ValuesIn(kMachines), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

TEST(RealMachines, AreAllListedHere) {
  const std::string folder = machines_folder();
  if (folder.empty()) GTEST_SKIP() << "PINFOLD_SHARED is not set: no captured machines here";
  std::set<std::string> there;
  constexpr std::string_view kSuffix = ".node.json";
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(kSuffix)) there.insert(file.substr(0, file.size() - kSuffix.size()));
  }
  EXPECT_EQ(there, std::set<std::string>(std::begin(kMachines), std::end(kMachines)));
}

}  // namespace
}  // namespace pinfold::test
