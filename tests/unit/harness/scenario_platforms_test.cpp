#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pinfold/harness/read_scenarios.hpp"
#include "pinfold/harness/scenario.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

Machines machines() {
  const auto machines = parse_machines(
      "two-numa:\n"
      "  sockets: 2\n"
      "  cores: 2\n"
      "  nodes: [{cpus: 0-1}, {cpus: 2-3}]\n"
      "small: {}\n");
  EXPECT_TRUE(machines) << machines.error().message;
  return machines.value_or(Machines{});
}

std::vector<Scenario> parse(const std::string& text) {
  auto scenarios = parse_scenarios(text, machines());
  EXPECT_TRUE(scenarios) << scenarios.error().message;
  return scenarios.value_or(std::vector<Scenario>{});
}

std::vector<std::string> titles(const Scenario& scenario) {
  std::vector<std::string> titles;
  for (const ScenarioStep& step : scenario.steps) titles.push_back(step.title);
  return titles;
}

TEST(Platform, ReadsWhatItPrints) {
  for (const char* text :
       {"debian-6.1/v2", "debian-6.1/v1", "debian-sid/hybrid", "debian-6.12-16k/v2/arm64"}) {
    const auto platform = parse_platform(text);
    ASSERT_TRUE(platform) << platform.error().message;
    EXPECT_EQ(to_string(*platform), text);
  }
  EXPECT_EQ(to_string(Platform{}), "debian-6.1/v2");
  EXPECT_EQ(to_string(parse_platform("debian-6.1/v2", Arch::kArm64).value()),
            "debian-6.1/v2/arm64");
  EXPECT_EQ(to_string(parse_platform("debian-6.1/v2/amd64", Arch::kArm64).value()),
            "debian-6.1/v2");
}

TEST(Platform, RejectsInvalidText) {
  for (const char* text : {"", "/", "debian-6.1", "v2", "debian-6.1/v2/", "debian-6.1/v2/arm64/"}) {
    const auto platform = parse_platform(text);
    ASSERT_FALSE(platform) << text;
    EXPECT_EQ(platform.error().message,
              "'" + std::string(text) +
                  "': expected KERNEL/CGROUP with v2, v1 or hybrid, for example debian-6.1/v2 or "
                  "debian-6.1/v2/arm64");
  }
  EXPECT_EQ(parse_platform("debian-6.12/v1").error().message,
            "cgroup: 'v1': expected kernel debian-5.10 or debian-6.1 with it, later ones have no "
            "cpuset v1");
  EXPECT_EQ(parse_platform("debian-6.12-16k/v2").error().message,
            "kernel 'debian-6.12-16k': expected arch arm64 with it");
}

TEST(Platform, NamesTheWordThatNothingHasAndTheNearest) {
  const struct {
    const char* text;
    const char* begin;
    const char* end;
  } cases[] = {
      {"debian-6.13/v2", "'debian-6.13/v2': kernel 'debian-6.13': expected one of: debian-",
       ", own; did you mean 'debian-6.1'?"},
      {"debian-sit/v2", "'debian-sit/v2': kernel 'debian-sit': expected one of: debian-",
       "; did you mean 'debian-sid'?"},
      {"/v2", "'/v2': kernel '': expected one of: debian-", ", own"},
      {"../x/v2", "'../x/v2': kernel '..': expected one of: debian-", ", own"},
      {"debian-6.1/v3",
       "'debian-6.1/v3': cgroup version 'v3': expected one of: v2, v1, hybrid; did you mean 'v2'?",
       ""},
      {"debian-6.1/arm64/v2",
       "'debian-6.1/arm64/v2': cgroup version 'arm64': expected one of: v2, v1, hybrid", ""},
      {"debian-6.1/v2/arm46",
       "'debian-6.1/v2/arm46': architecture 'arm46': expected one of: amd64, arm64; did you mean "
       "'arm64'?",
       ""},
  };
  for (const auto& c : cases) {
    const auto platform = parse_platform(c.text);
    ASSERT_FALSE(platform) << c.text;
    EXPECT_THAT(platform.error().message, testing::StartsWith(c.begin));
    EXPECT_THAT(platform.error().message, testing::EndsWith(c.end));
  }
}

TEST(Platform, SelectorsAreOfKnownWords) {
  for (const char* selector :
       {"v1", "debian-6.12", "own/v2", "v2/arm64", "debian-6.1/hybrid/amd64"})
    EXPECT_TRUE(check_selector(selector)) << selector;
  for (const char* selector : {"", "v3", "debian-6.1/v2/x86", "debian-6.13"})
    EXPECT_FALSE(check_selector(selector)) << selector;
  EXPECT_THAT(check_selector("debian-6.1/hybird").error().message,
              testing::EndsWith("; did you mean 'hybrid'?"));
}

TEST(Platform, KernelsAreKnownByTheirNames) {
  EXPECT_TRUE(check_kernel("debian-6.12"));
  for (const char* name : {"", "v1", "arm64", "own", "debian-6.1/v2", "debian-6.13"})
    EXPECT_FALSE(check_kernel(name)) << name;
  EXPECT_THAT(
      check_kernel("debian-6.13").error().message,
      testing::MatchesRegex("'debian-6.13': expected one of: .*; did you mean 'debian-6.1.*"));
}

TEST(Platform, NamesFolders) {
  EXPECT_EQ(folder_name("drift", Platform{}), "drift.debian-6.1.v2");
  EXPECT_EQ(folder_name("drift", Platform{.arch = Arch::kArm64}), "drift.debian-6.1.v2.arm64");
}

TEST(Platform, IsSelectedByKernelCgroupArchOrSeveral) {
  const Platform platform{"debian-6.12", CgroupMode::kV2, Arch::kArm64};
  for (const char* selector : {"debian-6.12", "v2", "debian-6.12/v2", "arm64", "v2/arm64",
                               "debian-6.12/arm64", "debian-6.12/v2/arm64"}) {
    EXPECT_TRUE(selects(selector, platform)) << selector;
  }
  for (const char* selector : {"", "debian-6.1", "v1", "debian-6.12/v1", "6.12", "/v2", "amd64",
                               "arm64/v2", "debian-6.12/v2/amd64", "v2/v2"}) {
    EXPECT_FALSE(selects(selector, platform)) << selector;
  }
}

TEST(ParseScenarios, ReturnsOneScenarioForEachPlatform) {
  const auto scenarios = parse(
      "name: a\non: [debian-6.12/v2, debian-6.1/v1]\nmachine: two-numa\nsteps: [{verify: {}}]\n");
  ASSERT_EQ(scenarios.size(), 2U);
  EXPECT_EQ(full_name(scenarios[0]), "a on debian-6.12/v2");
  EXPECT_EQ(full_name(scenarios[1]), "a on debian-6.1/v1");
  EXPECT_EQ(scenarios[1].machine.platform, (Platform{"debian-6.1", CgroupMode::kV1}));
  EXPECT_EQ(scenarios[1].machine.cpu_count(), 4);
}

TEST(ParseScenarios, RunsOnTheDefaultPlatformIfTheFileNamesNone) {
  const auto scenarios = parse("name: a\nmachine: {}\nsteps: [{verify: {}}]\n");
  ASSERT_EQ(scenarios.size(), 1U);
  EXPECT_EQ(scenarios[0].machine.platform, Platform{});
}

TEST(ParseScenarios, ReadsTheArchitectureOfPlatformsThatNameNone) {
  const auto one = parse("name: a\narch: arm64\nmachine: {}\nsteps: [{verify: {}}]\n");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(full_name(one[0]), "a on debian-6.1/v2/arm64");
  const auto own = parse("name: a\narch: arm64\nkernel: /k\nmachine: {}\nsteps: [{verify: {}}]\n");
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(full_name(own[0]), "a on own/v2/arm64");
  const auto two = parse(R"yaml(name: a
on: [debian-6.1/v2/amd64, debian-6.1/v2]
arch: arm64
machine: {}
overrides: [{for: arm64, description: other}]
steps:
  - {verify: {}, for: arm64, title: there}
  - {verify: {}, title: everywhere}
)yaml");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(full_name(two[0]), "a on debian-6.1/v2");
  EXPECT_EQ(full_name(two[1]), "a on debian-6.1/v2/arm64");
  EXPECT_EQ(titles(two[0]), (std::vector<std::string>{"everywhere"}));
  EXPECT_EQ(titles(two[1]), (std::vector<std::string>{"there", "everywhere"}));
  EXPECT_EQ(two[1].description, "other");
}

TEST(ParseScenarios, KeepsTheStepsOfTheirPlatforms) {
  const auto scenarios = parse(R"yaml(name: a
on: [debian-6.1/v2, debian-6.1/v1, debian-6.12/v2]
machine: {}
steps:
  - {verify: {}, title: everywhere}
  - {for: v1, verify: {}, title: v1}
  - for: [debian-6.12, v1]
    steps:
      - {verify: {}, title: group}
      - {for: debian-6.12/v2, verify: {}, title: group on 6.12}
  - {for: debian-6.1/v2, verify: {}, title: the first}
)yaml");
  ASSERT_EQ(scenarios.size(), 3U);
  EXPECT_EQ(titles(scenarios[0]), (std::vector<std::string>{"everywhere", "the first"}));
  EXPECT_EQ(titles(scenarios[1]), (std::vector<std::string>{"everywhere", "v1", "group"}));
  EXPECT_EQ(titles(scenarios[2]),
            (std::vector<std::string>{"everywhere", "group", "group on 6.12"}));
}

TEST(ParseScenarios, KeepsTheExpectationsOfTheirPlatformsUnderTheKernelsNames) {
  const auto scenarios = parse(R"yaml(name: a
on: [debian-6.1/v2, debian-6.1/v1, debian-6.1/hybrid]
machine: {}
steps:
  - expect:
      - {cgroup: $(cpuset)/a, cpuset.cpus.effective: 0, cpuset.mems.effective: 0, cpuset.cpus: 0}
      - {for: v1, cgroup: $(cpuset)/a, cpu.shares: 2}
  - exec: {command: [sh, -c, "cat $(cpuset)/a $(cpuset)/b $(nproc)"]}
)yaml");
  ASSERT_EQ(scenarios.size(), 3U);
  const struct {
    const char* mount;
    const char* cpus;
    const char* mems;
    std::size_t expectations;
  } expected[] = {{"/sys/fs/cgroup", "cpuset.cpus.effective", "cpuset.mems.effective", 1},
                  {"/sys/fs/cgroup/cpuset", "cpuset.effective_cpus", "cpuset.effective_mems", 2},
                  {"/sys/fs/cgroup/unified", "cpuset.cpus.effective", "cpuset.mems.effective", 1}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& expect = std::get<ExpectStep>(scenarios[i].steps[0].action);
    const std::string mount = expected[i].mount;
    ASSERT_EQ(expect.expectations.size(), expected[i].expectations);
    EXPECT_EQ(expect.expectations[0].subject, mount + "/a");
    const auto& values = expect.expectations[0].values;
    ASSERT_EQ(values.size(), 3U);
    EXPECT_EQ(values[0].first, "cpuset.cpus");
    EXPECT_EQ(values[1].first, expected[i].cpus);
    EXPECT_EQ(values[2].first, expected[i].mems);
    EXPECT_EQ(std::get<ExecStep>(scenarios[i].steps[1].action).command[2],
              "cat " + mount + "/a " + mount + "/b $(nproc)");
  }
}

TEST(ParseScenarios, MergesOverridesIntoTheFieldsOfTheirPlatforms) {
  const auto scenarios = parse(R"yaml(name: a
on: [debian-6.1/v2, debian-6.1/v1, debian-6.12/v2]
description: base
verdict: failed
because: x
machine: {like: two-numa, threads: 2, nodes: [{cpus: 0-7}]}
files: {/a: a, /b: b}
overrides:
  - {for: v1, verdict: null, because: null, files: {/b: c}, machine: small}
  - {for: debian-6.12, because: y, machine: {like: two-numa, pluggableMemory: 128Mi}}
  - {for: [v1, debian-6.12], description: other, machine: {kernelArguments: z}}
steps: [{verify: {}}]
)yaml");
  ASSERT_EQ(scenarios.size(), 3U);
  EXPECT_EQ(scenarios[0].description, "base");
  EXPECT_EQ(scenarios[0].because, "x");
  EXPECT_EQ(scenarios[0].machine.cpu_count(), 8);
  EXPECT_EQ(scenarios[0].machine.nodes.size(), 1U);
  EXPECT_EQ(scenarios[0].files[1].file, "b");
  EXPECT_EQ(scenarios[1].verdict, Verdict::kPassed);
  EXPECT_EQ(scenarios[1].files[0].file, "a");
  EXPECT_EQ(scenarios[1].files[1].file, "c");
  EXPECT_EQ(scenarios[1].machine.cpu_count(), 1);
  EXPECT_EQ(scenarios[1].machine.kernel_arguments, "z");
  EXPECT_EQ(scenarios[2].because, "y");
  EXPECT_EQ(scenarios[2].description, "other");
  EXPECT_EQ(scenarios[2].machine.cpu_count(), 4) << "another machine, not the changed one";
  EXPECT_EQ(scenarios[2].machine.pluggable_memory, 128U << 20);
}

TEST(ParseScenarios, RejectsPlatformsWithLineAndField) {
  const std::string head = "name: a\non: [debian-6.1/v2, debian-6.1/v1]\nmachine: two-numa\n";
  const std::string tail = "steps:\n  - verify: {}\n";
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"name: a\non: debian-6.1/v2\nmachine: {}\n" + tail,
       "line 2: on: 'debian-6.1/v2': expected a list of 1 to 16 platforms such as debian-6.1/v2"},
      {"name: a\non: []\nmachine: {}\n" + tail, "line 2: on: []: expected a list of 1 to 16"},
      {"name: a\non: [v1]\nmachine: {}\n" + tail, "line 2: on: 'v1': expected KERNEL/CGROUP"},
      {"name: a\non: [3]\nmachine: {}\n" + tail, "line 2: on: '3': expected KERNEL/CGROUP"},
      {"name: a\non: [debian-6.12/v1]\nmachine: {}\n" + tail,
       "line 2: on: cgroup: 'v1': expected kernel debian-5.10 or debian-6.1 with it"},
      {"name: a\non: [debian-6.1/v2, debian-6.1/v2]\nmachine: {}\n" + tail,
       "line 2: on: 'debian-6.1/v2': expected each platform once"},
      {"name: a\nmachine: three\n" + tail,
       "line 2: machine: 'three': not a machine of machines.yaml, expected one of: small, "
       "two-numa"},
      {"name: a\nmachine: two-nmua\n" + tail,
       "line 2: machine: 'two-nmua': not a machine of machines.yaml, expected one of: small, "
       "two-numa; did you mean 'two-numa'?"},
      {"name: a\nmachine: {like: 7}\n" + tail,
       "line 2: machine.like: 7: not a machine of machines.yaml, expected one of: small, two-numa"},
      {"name: a\nmachine: {like: two-numa, cores: x}\n" + tail,
       "line 2: machine.cores: 'x': expected a number from 1 to 128"},
      {head + tail + "    for: v3\n",
       "line 6: steps[0].for: 'v3': expected a kernel, a cgroup version, an architecture, "
       "or several, of debian-6.1/v2, debian-6.1/v1, did you mean 'v2'?"},
      {head + tail + "    for: debian-6.2/v2\n",
       "line 6: steps[0].for: 'debian-6.2/v2': expected a kernel, a cgroup version, an "
       "architecture, or several, of debian-6.1/v2, debian-6.1/v1, did you mean 'debian-6.1/v2'?"},
      {"name: a\non: [debian-6.1/v2, debian-6.13/v2]\nmachine: {}\n" + tail,
       "line 2: on: 'debian-6.13/v2': kernel 'debian-6.13': expected one of: debian-"},
      {"name: a\narch: x86\nmachine: {}\n" + tail,
       "line 2: arch: 'x86': expected one of: amd64, arm64"},
      {"name: a\narch: amd46\nmachine: {}\n" + tail,
       "line 2: arch: 'amd46': expected one of: amd64, arm64; did you mean 'amd64'?"},
      {"name: a\narch: [arm64]\nmachine: {}\n" + tail,
       "line 2: arch: [\"arm64\"]: expected a string"},
      {"name: a\narch: arm64\nmachine: {dies: 2, nodes: [{cpus: 0-1}]}\n" + tail,
       "line 3: machine: dies: expected none on arm64"},
      {"name: a\narch: arm64\nmachine: {}\nruntime: containerd-1.7\n" + tail,
       "line 4: runtime: expected only platforms of amd64, not debian-6.1/v2/arm64"},
      {head + tail + "    for: [v1, hybrid]\n", "line 6: steps[0].for: 'hybrid': expected"},
      {head + tail + "    for: []\n", "line 6: steps[0].for: expected at least one"},
      {head + tail + "    for: {}\n", "line 6: steps[0].for: {}: expected a list of strings"},
      {head + "steps:\n  - for: v1\n    verify: {}\n",
       "line 4: steps: 0 for debian-6.1/v2: expected a list of 1 to 1000 steps"},
      {head + "steps:\n  - steps: [{verify: {}}]\n", "line 5: steps[0].for: missing"},
      {head + tail +
           "  - for: v1\n    steps:\n      - verify: {}\n      - for: v2\n        verify: {}\n",
       "line 9: steps[1].steps[1].for: 'v2': expected a kernel, a cgroup version, an "
       "architecture, or several, of debian-6.1/v1"},
      {head + tail + "  - for: v1\n    steps:\n      - for: v1\n        steps: [{verify: {}}]\n",
       "line 9: steps[1].steps[0].steps: unknown field"},
      {head + tail + "  - for: v1\n    steps: []\n",
       "line 7: steps[1].steps: expected a list of 1 to 1000 steps"},
      {head + tail + "  - for: v1\n    timeLimit: 3\n    steps: [{verify: {}}]\n",
       "line 7: steps[1].timeLimit: unknown field, expected one of: for, steps"},
      {head + tail + "  - for: v1\n    explode: {}\n", "line 7: steps[1].explode: unknown field"},
      {head + "steps:\n  - expect:\n      - {for: v1, cgroup: /a, cpu.shares: 2}\n",
       "line 5: steps[0].expect: expected an expectation for debian-6.1/v2, or `for` on the step"},
      {head + "steps:\n  - expect:\n      - {for: v1, cgroup: /a}\n      - {file: /a, equals: b}\n",
       "line 6: steps[0].expect[0].equals: expected at least one value"},
      {head + "overrides: 3\n" + tail, "line 4: overrides: 3: expected a list of at most 64"},
      {head + "overrides:\n  - because: x\n" + tail, "line 5: overrides[0].for: missing"},
      {head + "overrides: [3]\n" + tail, "line 4: overrides[0]: 3: expected fields with values"},
      {head + "overrides:\n  - for: v1\n    steps: []\n" + tail,
       "line 6: overrides[0].steps: the same on every platform, expected no override"},
      {head + "overrides:\n  - for: v1\n    because: x\n" + tail,
       "line 6: overrides[0].because: expected a verdict other than passed with it"},
      {head + "overrides:\n  - for: v1\n    colour: red\n" + tail,
       "line 6: overrides[0].colour: unknown field"},
      {head +
           "overrides:\n  - for: v1\n    machine: {threads: 2}\n  - for: v1\n"
           "    description: x\n" +
           tail,
       "line 6: overrides[0].machine: nodes: cpus 4-7 are on no node"},
  };
  for (const auto& c : cases) {
    const auto scenarios = parse_scenarios(c.text, machines());
    ASSERT_FALSE(scenarios) << c.text;
    EXPECT_EQ(scenarios.error().message.substr(0, std::string_view(c.message).size()), c.message)
        << c.text;
    EXPECT_EQ(scenarios.error().code, ErrorCode::kInvalidArgument) << c.text;
  }
}

TEST(ParseMachines, RejectsWithLineAndField) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"3", "line 1: 3: expected names with machines"},
      {"a: {}\nb/c: {}", "line 2: b/c: expected a name of letters, digits, '.', '-' and '_'"},
      {"a: {}\nb: {cores: x}", "line 2: b.cores: 'x': expected a number from 1 to 128"},
      {"a: {}\nb: {like: a}", "line 2: b.like: unknown field"},
      {"a: {}\nb: {nodes: [{cpus: 3}]}", "line 2: b: nodes[0].cpus: '3': expected CPUs of 0"},
      {"a: b", "line 1: a: 'b': expected fields with values"},
  };
  for (const auto& c : cases) {
    const auto machines = parse_machines(c.text);
    ASSERT_FALSE(machines) << c.text;
    EXPECT_EQ(machines.error().message.substr(0, std::string_view(c.message).size()), c.message)
        << c.text;
  }
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(LoadScenarios, TakesMachinesFromTheNearestMachinesFile) {
  const test::TempDir folder;
  const std::filesystem::path top = folder.path();
  write(top / "machines.yaml", "one: {cores: 2}\n");
  write(top / "a/b/scenario.yaml", "name: a\nmachine: one\nsteps: [{exec: {command: [ls]}}]\n");
  const auto above = load_scenarios(top / "a/b/scenario.yaml");
  ASSERT_TRUE(above) << above.error().message;
  EXPECT_EQ(above->front().machine.cores, 2);

  write(top / "a/machines.yaml", "one: {cores: 4}\n");
  const auto nearer = load_scenarios(top / "a/b/scenario.yaml");
  ASSERT_TRUE(nearer) << nearer.error().message;
  EXPECT_EQ(nearer->front().machine.cores, 4);
}

TEST(LoadScenarios, ReportsAnInvalidMachinesFileOnlyIfItIsNeeded) {
  const test::TempDir folder;
  const std::filesystem::path top = folder.path();
  write(top / "machines.yaml", "one: {cores: many}\n");
  write(top / "needs.yaml", "name: a\nmachine: one\nsteps: [{exec: {command: [ls]}}]\n");
  write(top / "has.yaml", "name: a\nmachine: {}\nsteps: [{exec: {command: [ls]}}]\n");
  const auto needs = load_scenarios(top / "needs.yaml");
  ASSERT_FALSE(needs);
  EXPECT_EQ(needs.error().message,
            "'" + (top / "machines.yaml").string() +
                "': line 1: one.cores: 'many': expected a number from 1 to 128");
  EXPECT_TRUE(load_scenarios(top / "has.yaml"));
}

}  // namespace
}  // namespace pinfold::harness
