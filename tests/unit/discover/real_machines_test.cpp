// Every captured machine of the shared collection, against what was worked out of it by hand.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "pinfold/discover/discover.hpp"
#include "tree_builder.hpp"

namespace pinfold {
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

class RealMachine : public testing::TestWithParam<const char*> {};

TEST_P(RealMachine, IsDiscoveredToTheBit) {
  const std::string folder = machines_folder();
  if (folder.empty()) GTEST_SKIP() << "PINFOLD_SHARED is not set: no captured machines here";
  const std::string stem = folder + "/" + GetParam();
  const test::TempDir dir;
  const std::string unpack = fmt::format("tar -C '{}' -xzf '{}.sysfs.tar.gz'", dir.path(), stem);
  ASSERT_EQ(std::system(unpack.c_str()), 0) << unpack;
  std::ifstream in(stem + ".node.json");
  const auto expected = nlohmann::json::parse(in);

  const auto found = discover(SysTree{dir.path()}, fmt::format("real-{}", GetParam()));
  ASSERT_TRUE(found) << found.error().message;
  const nlohmann::json node = found->to_json();
  EXPECT_EQ(node, expected) << "differences from expected to found:\n"
                            << nlohmann::json::diff(expected, node).dump(1);
  const auto again = Machine::from_json(node);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->to_json(), node);
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
}  // namespace pinfold
