#include "pinfold/harness/gauntlet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "machine.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/machine_copy.hpp"
#include "pinfold/harness/machines.hpp"
#include "pinfold/harness/read_scenarios.hpp"
#include "pinfold/harness/report.hpp"
#include "pinfold/text/document.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

constexpr std::uint64_t kOneGiB = 1024 * kMiB;

TEST(MachineSet, HasAHundredDifferentMachinesOfAllKinds) {
  const auto machines = machine_set(kOneGiB);
  EXPECT_GE(machines.size(), 100U);
  std::set<std::string> names;
  std::size_t most_nodes = 0;
  for (const SetMachine& one : machines) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_TRUE(check_machine(one.machine))
        << one.name << ": " << check_machine(one.machine).error().message;
    EXPECT_EQ(std::count(machines.begin(), machines.end(), one), 1) << one.name;
    EXPECT_FALSE(one.offline.contains(CpuId{0})) << one.name << ": Linux keeps CPU 0 online";
    most_nodes = std::max(most_nodes, one.machine.nodes.size());
  }
  EXPECT_EQ(most_nodes, 64U);
  const auto has = [&](const auto& property) {
    return std::any_of(machines.begin(), machines.end(), property);
  };
  EXPECT_TRUE(has([](const SetMachine& one) { return one.machine.nodes.size() == 1; }));
  EXPECT_TRUE(has([](const SetMachine& one) { return one.machine.cores % 2 == 1; }));
  EXPECT_TRUE(has([](const SetMachine& one) { return one.machine.nodes.back().cpus.empty(); }));
  EXPECT_TRUE(has([](const SetMachine& one) { return one.machine.nodes.back().memory == 0; }));
  EXPECT_TRUE(has([](const SetMachine& one) {
    const auto& rows = one.machine.distances;
    return rows.size() > 1 && rows[0][1] != rows[1][0];
  }));
  EXPECT_TRUE(has([](const SetMachine& one) { return !one.offline.empty(); }));
  EXPECT_TRUE(has([](const SetMachine& one) { return one.machine.dies > 1; }));
  EXPECT_TRUE(has([](const SetMachine& one) { return one.machine.caches > 1; }));
}

TEST(MachineSet, DividesTheMemory) {
  for (const SetMachine& one : machine_set(4 * kOneGiB)) {
    EXPECT_GE(one.machine.memory(), 2 * kOneGiB) << one.name;
    EXPECT_LE(one.machine.memory(), 9 * kOneGiB) << one.name;
  }
}

TEST(MachineJson, IsReadAsTheSameMachine) {
  VmMachine full = two_sockets();
  full.absent = CpuSet{7};
  full.pluggable_memory = 256 * kMiB;
  full.devices = {1};
  full.network_cards = 2;
  full.kernel_arguments = "quiet";
  full.kubelet = "/k/kubelet";
  full.disk = VmDisk{Filesystem::kXfs, 64 * kMiB, "/disk"};
  full.nodes[0].huge_pages = {{2 * kMiB, 3}};
  const auto read = read_machine_json(machine_json(full));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, full);
  for (const SetMachine& one : machine_set(kOneGiB)) {
    const auto again = read_machine_json(machine_json(one.machine));
    ASSERT_TRUE(again) << one.name << ": " << again.error().message;
    EXPECT_EQ(*again, one.machine) << one.name;
  }
}

TEST(MachineJson, IsRejectedWithItsField) {
  const auto read = read_machine_json({{"cores", "many"}});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, testing::StartsWith("cores: 'many': expected a number"));
}

/// A scenario file, its document and its scenarios.
class GauntletFile {
 public:
  explicit GauntletFile(const std::string& text) : document(parse_document(text).value()) {
    folder.write("a.yaml", text);
    scenarios = load_scenarios(file()).value();
  }
  [[nodiscard]] std::filesystem::path file() const { return folder / "a.yaml"; }
  [[nodiscard]] std::vector<GauntletCase> cases(const std::vector<SetMachine>& machines,
                                                const std::vector<Platform>& platforms) const {
    return gauntlet_cases(document, scenarios.front(), machines, platforms);
  }

  test::TempDir folder;
  Json document;
  std::vector<Scenario> scenarios;
};

constexpr const char* kScenario =
    "name: a\non: [debian-6.1/v2, debian-6.1/v1]\n"
    "machine: {disk: {folder: /d, size: 16Mi}}\n"
    "steps:\n  - exec: {command: [ls]}\n  - {for: v1, exec: {command: [id]}}\n";

std::vector<Platform> both_versions() {
  return {{"debian-6.1", CgroupMode::kV2, Arch::kAmd64},
          {"debian-6.1", CgroupMode::kV1, Arch::kAmd64}};
}

TEST(GauntletCases, LoadOnTheirMachinesAndPlatforms) {
  const GauntletFile file(kScenario);
  const auto machines = machine_set(kOneGiB);
  const auto cases = file.cases(machines, both_versions());
  ASSERT_EQ(cases.size(), 2 * machines.size());
  std::set<std::string> names;
  for (const GauntletCase& one : cases) {
    const auto scenario = load_case(one, file.file());
    ASSERT_TRUE(scenario) << scenario.error().message;
    EXPECT_TRUE(names.insert(full_name(*scenario)).second) << full_name(*scenario);
    EXPECT_EQ(scenario->machine.platform, one.platform);
    ASSERT_TRUE(scenario->machine.disk) << "the machine keeps the scenario's disk";
    EXPECT_EQ(scenario->machine.disk->folder, "/d");
  }
  EXPECT_TRUE(names.contains("a.64-nodes on debian-6.1/v1"));
}

TEST(GauntletCases, BeginWithTakingCpusOffline) {
  const GauntletFile file(kScenario);
  const auto cases = file.cases({{"hybrid", two_sockets(), CpuSet{5}}}, {both_versions().front()});
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].document["name"], "a.hybrid");
  const auto scenario = load_case(cases[0], file.file());
  ASSERT_TRUE(scenario) << scenario.error().message;
  ASSERT_EQ(scenario->steps.size(), 2U) << "one is for v1";
  EXPECT_EQ(std::get<CpusStep>(scenario->steps[0].action).cpus, CpuSet{5});
}

TEST(GauntletCases, HaveRuntimesWhereTheyExist) {
  const GauntletFile file(
      "name: a\nruntime: containerd-1.7\nmachine: {nodes: [{cpus: 0, memory: 1Gi}]}\n"
      "steps: [{restartRuntime: {}}]\n");
  VmMachine machine = file.scenarios.front().machine;
  const auto cases = file.cases({{"one", machine, {}}}, both_versions());
  ASSERT_EQ(cases.size(), 2U) << "no runtime on v1";
  EXPECT_EQ(cases[0].document["runtime"], "containerd-1.7");
  EXPECT_EQ(cases[1].document["name"], "a.one.containerd-2.1");
}

TEST(Platforms, OnKernelsHaveTheCgroupVersionsThatExist) {
  EXPECT_EQ(to_string(platforms_on({"debian-6.1", "debian-6.12", "debian-6.1"}, both_versions())),
            "debian-6.1/v2, debian-6.1/v1, debian-6.12/v2");
}

TEST(ShortYaml, HasALineForEachStepAndLoads) {
  const GauntletFile file(kScenario);
  const auto cases = file.cases({{"two", two_sockets(), {}}}, {both_versions().back()});
  ASSERT_EQ(cases.size(), 1U);
  const std::string yaml = short_yaml(cases[0].document, cases[0].platform);
  EXPECT_LE(std::count(yaml.begin(), yaml.end(), '\n'), 10);
  const auto scenarios = load_scenarios_of(yaml, file.file());
  ASSERT_TRUE(scenarios) << scenarios.error().message << "\n" << yaml;
  ASSERT_EQ(scenarios->size(), 1U);
  EXPECT_EQ(scenarios->front().machine.platform, cases[0].platform);
  EXPECT_EQ(scenarios->front().steps.size(), 2U);
}

TEST(FailureKinds, AreTheVerdictAndTheStep) {
  ScenarioResult result;
  result.verdict = Verdict::kFailed;
  result.steps.resize(2);
  result.steps[0].ok = true;
  result.steps[1].title = "two";
  EXPECT_EQ(kind_of(result), (FailureKind{"failed", "two"}));
  EXPECT_EQ(kind_of(report_json({result})["scenarios"][0]), kind_of(result));
  result.steps.pop_back();
  result.verdict = Verdict::kPanic;
  EXPECT_EQ(kind_of(result), (FailureKind{"panic", ""}));
  EXPECT_EQ(kind_of(report_json({result})["scenarios"][0]), kind_of(result));
  EXPECT_EQ(kind_of(Json{{"verdict", "hang"}, {"steps", 3}}), (FailureKind{"hang", ""}));
}

}  // namespace
}  // namespace pinfold::harness
