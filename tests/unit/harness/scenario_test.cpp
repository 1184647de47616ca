#include "pinfold/harness/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pinfold/harness/read_scenarios.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

/// A scenario that runs on one platform.
Result<Scenario> parse_one(std::string_view text) {
  PINFOLD_LET(auto scenarios, parse_scenarios(text, {}));
  EXPECT_EQ(scenarios.size(), 1U);
  return std::move(scenarios.front());
}

constexpr const char* kOk = R"(name: all-verbs
description: one of each
bootLimit: 60
programs: [/usr/bin/true]
files: {/etc/x.conf: x.conf}
logs: [/run/x.log]
kubelet:
  cpuManagerPolicy: static
machine:
  sockets: 2
  cores: 2
  threads: 2
  kernelArguments: nosmt=off
  nodes:
    - {cpus: 0-3, memory: 512Mi}
    - {cpus: 4-7, memory: 1Gi}
  distances: [[10, 21], [21, 10]]
  pluggableMemory: 128Mi
  disk: {filesystem: xfs, size: 320Mi, folder: /disk}
steps:
  - admit: {pod: pods/a.yaml, answer: rejected, message: SMT}
    timeLimit: 7
  - admit: {pod: {metadata: {name: b, uid: u}}, start: false}
  - start: {pod: a, container: c, memory: 16Mi, pageSize: 2Mi, error: signal 7}
  - start: {program: p, cgroup: /sys/fs/cgroup/x, command: [sleep, 100]}
  - stop: {program: p}
  - remove: {pod: a}
  - exec: {command: [cat, /proc/1/status], status: any, output: "Name:"}
  - write: {container: a/c, file: cpuset.cpus, value: 3, error: EINVAL}
  - expect:
      - {container: a/c, cpuset.cpus.effective: 3, pageNodes: 1}
      - {program: p, Cpus_allowed_list: 0-7}
      - {cgroup: /sys/fs/cgroup/x, cpu.max: max 100000}
      - {file: /proc/sys/kernel/ostype, equals: Linux}
      - {processesOf: a/c, count: {atLeast: 1, atMost: 2.5}}
      - {disjoint: [a/c, /sys/fs/cgroup/x]}
      - {container: a/c, cpu.stat/nr_throttled: {atMost: 0}, pageShare/1: 100}
  - verify: {}
  - restart: {kubelet: other.yaml, answer: error, message: policy}
  - offline: {cpus: 1-2}
  - online: {cpus: 1}
  - plug: {memory: 128Mi, node: 1}
  - startSampling: {}
  - stopSampling: {atLeast: 10, allowUnpinned: true}
  - startWitness: {}
  - stopWitness: {atLeast: 3, exclusive: /tmp/exclusive}
  - powerCuts: {files: [a, b], commands: [[ls], [cat, /disk/a]], losses: [torn, all], atLeast: 5}
  - exec: {command: [ls]}
    killAt: {call: rename, file: x/y, number: 3}
)";

TEST(ParseScenario, ReadsEveryVerb) {
  const auto scenario = parse_one(kOk);
  ASSERT_TRUE(scenario) << scenario.error().message;
  EXPECT_EQ(scenario->name, "all-verbs");
  EXPECT_EQ(scenario->boot_limit_s, 60);
  EXPECT_THAT(scenario->logs, testing::ElementsAre("/run/x.log"));
  EXPECT_EQ(scenario->machine.cpu_count(), 8);
  EXPECT_EQ(scenario->machine.nodes[1].memory, 1U << 30);
  EXPECT_EQ(scenario->machine.distances[0][1], 21);
  EXPECT_EQ(scenario->verdict, Verdict::kPassed);
  ASSERT_EQ(scenario->files.size(), 1U);
  EXPECT_EQ(scenario->files[0].guest_path, "/etc/x.conf");
  EXPECT_EQ(scenario->files[0].file, "x.conf");
  ASSERT_TRUE(scenario->machine.disk);
  EXPECT_EQ(scenario->machine.disk->filesystem, Filesystem::kXfs);
  EXPECT_EQ(scenario->machine.disk->size, 320U << 20);
  EXPECT_EQ(scenario->machine.disk->folder, "/disk");
  ASSERT_EQ(scenario->steps.size(), 20U);
  const auto& admit = std::get<AdmitStep>(scenario->steps[0].action);
  EXPECT_EQ(admit.file, "pods/a.yaml");
  EXPECT_EQ(admit.answer, AdmitStep::Answer::kRejected);
  EXPECT_EQ(admit.message, "SMT");
  EXPECT_EQ(scenario->steps[0].time_limit_s, 7);
  EXPECT_NE(std::get<AdmitStep>(scenario->steps[1].action).manifest, "");
  EXPECT_FALSE(std::get<AdmitStep>(scenario->steps[1].action).start);
  const auto& start = std::get<StartStep>(scenario->steps[2].action);
  EXPECT_EQ(start.memory, 16U << 20);
  EXPECT_EQ(start.container, "c");
  EXPECT_EQ(start.page_size, 2U << 20);
  EXPECT_EQ(std::get<StartStep>(scenario->steps[3].action).command.size(), 2U);
  EXPECT_EQ(std::get<ExecStep>(scenario->steps[6].action).status, std::nullopt);
  EXPECT_EQ(std::get<WriteStep>(scenario->steps[7].action).value, "3");
  const auto& expect = std::get<ExpectStep>(scenario->steps[8].action);
  ASSERT_EQ(expect.expectations.size(), 7U);
  EXPECT_EQ(expect.expectations[0].of, Expectation::Of::kContainer);
  EXPECT_EQ(expect.expectations[0].subject, "a/c");
  EXPECT_EQ(expect.expectations[0].values.size(), 2U);
  EXPECT_EQ(expect.expectations[2].values[0].second.text, "max 100000");
  EXPECT_EQ(expect.expectations[4].values[0].second.at_most, 2.5);
  EXPECT_EQ(expect.expectations[5].disjoint.size(), 2U);
  const auto& restart = std::get<RestartStep>(scenario->steps[10].action);
  EXPECT_EQ(restart.kubelet->file, "other.yaml");
  EXPECT_EQ(restart.answer, RestartStep::Answer::kError);
  EXPECT_EQ(std::get<PlugStep>(scenario->steps[13].action).memory, 128U << 20);
  const auto& sampling = std::get<StopSamplingStep>(scenario->steps[15].action);
  EXPECT_EQ(sampling.at_least, 10U);
  EXPECT_EQ(sampling.never_pinned, NeverPinned::kSkipEnded);
  EXPECT_TRUE(std::holds_alternative<StartWitnessStep>(scenario->steps[16].action));
  const auto& witness = std::get<StopWitnessStep>(scenario->steps[17].action);
  EXPECT_EQ(witness.at_least, 3U);
  EXPECT_EQ(witness.exclusive, "/tmp/exclusive");
  const auto& cuts = std::get<PowerCutsStep>(scenario->steps[18].action);
  EXPECT_EQ(cuts.files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(cuts.commands, (std::vector<std::vector<std::string>>{{"ls"}, {"cat", "/disk/a"}}));
  EXPECT_EQ(cuts.losses, (std::vector<WriteLoss>{WriteLoss::kAll, WriteLoss::kTorn}));
  EXPECT_EQ(cuts.at_least, 5U);
  ASSERT_TRUE(scenario->steps[19].kill_at);
  EXPECT_EQ(scenario->steps[19].kill_at->call, "rename");
  EXPECT_EQ(scenario->steps[19].kill_at->number, 3);
  EXPECT_FALSE(std::get<CpusStep>(scenario->steps[11].action).online);
  EXPECT_EQ(std::get<CpusStep>(scenario->steps[12].action).cpus, CpuSet{1});
  EXPECT_TRUE(needs_product(*scenario));
}

TEST(ParseScenario, FillsInMachineDefaults) {
  const auto scenario = parse_one("name: a\nmachine: {cores: 4}\nsteps: [{exec: {command: [ls]}}]");
  ASSERT_TRUE(scenario) << scenario.error().message;
  ASSERT_EQ(scenario->machine.nodes.size(), 1U);
  EXPECT_EQ(scenario->machine.nodes[0].cpus.to_string(), "0-3");
  EXPECT_EQ(scenario->machine.distances, (std::vector<std::vector<int>>{{10}}));
  EXPECT_FALSE(needs_product(*scenario));
  EXPECT_EQ(scenario->boot_limit_s, 90);
}

TEST(ParseScenario, GivesManyCpusMoreTimeToBoot) {
  const auto scenario = parse_one(
      "name: a\nmachine: {sockets: 2, cores: 32, threads: 2}\nsteps: [{exec: {command: [ls]}}]");
  ASSERT_TRUE(scenario) << scenario.error().message;
  EXPECT_EQ(scenario->boot_limit_s, 90 + 4 * 96);
}

TEST(ParseScenario, GivesManyNodesMoreTimeToBoot) {
  std::string nodes = "{cpus: 0-3, memory: 512Mi}";
  for (int i = 1; i < 40; ++i) nodes += ", {memory: 64Mi}";
  const auto scenario = parse_one("name: a\nmachine: {cores: 4, nodes: [" + nodes +
                                  "]}\nsteps: [{exec: {command: [ls]}}]");
  ASSERT_TRUE(scenario) << scenario.error().message;
  EXPECT_EQ(scenario->boot_limit_s, 90 + 4 * 8);
}

TEST(ParseScenario, RejectsWithLineAndField) {
  constexpr const char* kHead = "name: a\nmachine: {cores: 2}\n";
  constexpr const char* kPluggable =
      "name: a\nmachine: {cores: 4, absentCpus: 2-3,\n  pluggableMemory: 256Mi}\n";
  constexpr const char* kDisk = "name: a\nmachine:\n  disk: {folder: /disk}\nsteps:\n";
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"name: [a", "line 2, column 1"},
      {"3", "line 1: 3: expected fields with values"},
      {"machine: {}\nsteps: [{verify: {}}]", "line 1: name: missing"},
      {"name: ../a\nmachine: {}\nsteps: [{verify: {}}]",
       "line 1: name: '../a': expected letters, digits, '.', '-' and '_'"},
      {"name: a\nsteps: [{verify: {}}]", "line 1: machine: missing"},
      {"name: a\nmachine: {}", "line 1: steps: expected a list of 1 to 1000 steps"},
      {"name: a\nverdict: good\nmachine: {}\nsteps: [{verify: {}}]",
       "line 2: verdict: 'good': expected one of: passed, failed, panic"},
      {"name: a\nbecause: x\nmachine: {}\nsteps: [{verify: {}}]",
       "line 2: because: expected a verdict other than passed with it"},
      {"name: a\nmachine:\n  cores: many\nsteps: [{verify: {}}]",
       "line 3: machine.cores: 'many': expected a number from 1 to 128"},
      {"name: a\nmachine:\n  cores: 2\n  nodes:\n    - cpus: 0\n    - cpus: 1\n      memory: x\n"
       "steps: [{verify: {}}]",
       "line 7: machine.nodes[1].memory: 'x': expected an amount such as 512Mi"},
      {"name: a\nmachine:\n  nodes: [{cpus: 3-}]\nsteps: [{verify: {}}]",
       "line 3: machine.nodes[0].cpus: '3-': expected a list such as 0-3,8"},
      {"name: a\nmachine:\n  cores: 2\n  nodes: [{cpus: 0-3}]\nsteps: [{verify: {}}]",
       "line 2: machine: nodes[0].cpus: '0-3': expected CPUs of 0-1"},
      {"name: a\nmachine: {}\nfiles: {etc/x: y}\nsteps: [{verify: {}}]",
       "line 3: files: 'etc/x: 'y'': expected a full path with a file of the host"},
      {"name: a\nmachine: {}\nlogs: [run/x]\nsteps: [{verify: {}}]",
       "line 3: logs: run/x: expected a full path"},
      {"name: a\nmachine: {}\nfiles: [/x]\nsteps: [{verify: {}}]",
       "line 3: files: [\"/x\"]: expected paths of the guest with files"},
      {"name: a\nmachine:\n  colour: red\nsteps: [{verify: {}}]",
       "line 3: machine.colour: unknown field, expected one of: "},
      {"name: a\non: [debian-6.1/v3]\nmachine: {}\nsteps: [{verify: {}}]",
       "line 2: on: 'debian-6.1/v3': cgroup version 'v3': expected one of: v2, v1"},
      {"name: a\nmachine:\n  cgroup: v1\nsteps: [{verify: {}}]",
       "line 3: machine.cgroup: expected `on` at the top level, such as on: [debian-6.1/v2]"},
      {std::string(kHead) + "steps:\n  - exec: {command: [ls]}\n  - explode: {}\n",
       "line 5: steps[1].explode: unknown field"},
      {std::string(kHead) + "steps:\n  - exec: {command: [ls]}\n    verify: {}\n",
       "line 4: steps[0]: expected exactly one verb"},
      {std::string(kHead) + "steps:\n  - exec: {command: [ls], results: tapp}\n",
       "line 4: steps[0].exec.results: 'tapp': expected one of: tap, kselftest, exit; did you mean "
       "'tap'?"},
      {"name: a\non: [own/v2]\nmachine: {}\nsteps: [{verify: {}}]",
       "line 2: on: 'own': expected `kernel` at the top level as well"},
      {"name: a\nkernel: vmlinuz\non: [debian-6.1/v2]\nmachine: {}\nsteps: [{verify: {}}]",
       "line 3: on: expected a platform with the `kernel`, such as own/v2"},
      {std::string(kHead) + "steps:\n  - exec: {}\n",
       "line 4: steps[0].exec.command: expected a program and its arguments"},
      {std::string(kHead) + "steps:\n  - write: {file: a, value: 1}\n",
       "line 4: steps[0].write.file: 'a': expected a full path"},
      {std::string(kHead) + "steps:\n  - write:\n      file: /a\n      value: [1]\n",
       "line 6: steps[0].write.value: [1]: expected a string"},
      {std::string(kHead) + "steps:\n  - start: {}\n",
       "line 4: steps[0].start.program: expected either pod or program"},
      {std::string(kHead) + "steps:\n  - expect:\n      - {cgroup: /a}\n",
       "line 5: steps[0].expect[0].equals: expected at least one value"},
      {std::string(kHead) + "steps:\n  - expect:\n      - {program: a, cpu.max: 3}\n",
       "line 5: steps[0].expect[0].cpu.max: the kernel has no such value of this subject"},
      {std::string(kHead) + "steps:\n  - admit: {pod: a.yaml, answer: perhaps}\n",
       "line 4: steps[0].admit.answer: 'perhaps': expected one of: admitted, rejected, error"},
      {std::string(kHead) + "steps:\n  - admit: {pod: a.yaml, start: 3}\n",
       "line 4: steps[0].admit.start: 3: expected true or false"},
      {std::string(kHead) + "steps:\n  - start: {program: a, container: b}\n",
       "line 4: steps[0].start.container: expected a pod with it"},
      {std::string(kHead) + "steps:\n  - offline: {cpus: 1-}\n",
       "line 4: steps[0].offline.cpus: '1-': expected a list such as 0-3,8"},
      {std::string(kHead) + "steps:\n  - plug: {node: 1}\n",
       "line 4: steps[0].plug.cpus: expected either cpus or memory"},
      {std::string(kPluggable) + "steps:\n  - plug: {cpus: 2}\n  - plug: {cpus: 2-3}\n",
       "line 6: steps[1].plug.cpus: '2-3': expected CPUs that are absent: 3"},
      {"name: a\nmachine: {}\nsteps:\n  - plug: {cpus: 0}\n",
       "line 4: steps[0].plug.cpus: '0': expected CPUs that are absent: none is"},
      {std::string(kPluggable) + "steps:\n  - plug: {memory: 128Mi, node: 1}\n",
       "line 5: steps[0].plug.node: '1': expected one of the 1 nodes of the machine"},
      {std::string(kPluggable) + "steps:\n  - plug: {memory: 128Mi}\n  - plug: {memory: 256Mi}\n",
       "line 6: steps[1].plug.memory: '268435456': expected at most what is left of "
       "machine.pluggableMemory: 134217728 bytes"},
      {std::string(kHead) + "steps:\n  - verify: {}\n    killAt: {}\n",
       "line 5: steps[0].killAt: expected with admit, start, remove, restart, exec, startKubelet "
       "or restartKubelet"},
      {std::string(kHead) + "steps:\n  - exec: {command: [ls]}\n    killAt: {call: sing}\n",
       "line 5: steps[0].killAt.call: 'sing': expected one of: any, open, write"},
      {"name: a\nmachine:\n  disk: {folder: disk}\nsteps: [{verify: {}}]",
       "line 2: machine: disk.folder: 'disk': expected a full path"},
      {"name: a\nmachine:\n  disk: {folder: /disk, size: 15Mi}\nsteps: [{verify: {}}]",
       "line 2: machine: disk.size: '15728640': expected 16Mi to 1Gi in whole MiB, for ext4"},
      {"name: a\nmachine:\n  disk: {folder: /disk, filesystem: fat}\nsteps: [{verify: {}}]",
       "line 3: machine.disk.filesystem: 'fat': expected one of: ext4, xfs"},
      {std::string(kHead) + "steps:\n  - powerCuts: {files: [a]}\n",
       "line 4: steps[0].powerCuts: expected a machine with a disk"},
      {std::string(kDisk) +
           "  - exec: {command: [ls]}\n    killAt: {}\n  - powerCuts: {files: [a]}\n",
       "line 7: steps[1].powerCuts: expected no killAt before it"},
      {std::string(kDisk) + "  - powerCuts: {}\n",
       "line 5: steps[0].powerCuts.files: expected files below the disk's folder"},
      {std::string(kDisk) + "  - powerCuts: {files: [a], losses: [half]}\n",
       "line 5: steps[0].powerCuts.losses: expected one or more of: none, all, some, torn"},
      {std::string(kDisk) + "  - powerCuts: {files: [a], commands: [ls]}\n",
       "line 5: steps[0].powerCuts.commands: 'ls': expected a program and its arguments"},
      {std::string(kHead) + "steps:\n  - online: {}\n",
       "line 4: steps[0].online.cpus: expected at least one CPU"},
      {std::string(kHead) + "steps:\n  - expect:\n      - {cgroup: /a, cpu.stat/x: {atLeast: y}}\n",
       "line 5: steps[0].expect[0].cpu.stat/x.atLeast: 'y': expected a number"},
      {std::string(kHead) + "steps:\n  - expect:\n      - {cgroup: /a, cpu.stat/x: {}}\n",
       "line 5: steps[0].expect[0].cpu.stat/x: {}: expected atLeast or atMost"},
      {std::string(kHead) + "steps:\n  - expect:\n      - {program: a, pages/x: 3}\n",
       "line 5: steps[0].expect[0].pages/x: the kernel has no such value of this subject"},
      {std::string(kHead) + "steps:\n  - expect:\n      - {disjoint: [a/b]}\n",
       "line 5: steps[0].expect[0].disjoint: expected at least two"},
  };
  for (const auto& c : cases) {
    const auto scenario = parse_one(c.text);
    ASSERT_FALSE(scenario) << c.text;
    EXPECT_EQ(scenario.error().message.substr(0, std::string_view(c.message).size()), c.message)
        << c.text;
    EXPECT_EQ(scenario.error().code, ErrorCode::kInvalidArgument) << c.text;
  }
}

TEST(LoadScenario, NamesTheMissingFile) {
  const auto scenario = load_scenarios("/nowhere/a.yaml");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().message, "read '/nowhere/a.yaml': No such file or directory");
}

TEST(LoadScenario, KeepsATitleThatBeginsLikeItsVerb) {
  const test::TempDir folder;
  folder.write("pod.yaml", "metadata: {name: a, uid: a}\nspec: {containers: [{name: app}]}\n");
  folder.write("a.yaml",
               "name: a\nmachine: {}\nkubelet: {}\nsteps:\n"
               "  - {title: admit the database, admit: {pod: pod.yaml}}\n"
               "  - {admit: {pod: ./pod.yaml}}\n");
  const auto scenarios = load_scenarios(folder / "a.yaml");
  ASSERT_TRUE(scenarios) << scenarios.error().message;
  EXPECT_EQ(scenarios->front().steps[0].title, "admit the database");
  EXPECT_EQ(scenarios->front().steps[1].title, "admit pod.yaml");
}

TEST(ParseScenario, SuggestsTheMostSimilarName) {
  constexpr const char* kHead = "name: a\nmachine: {cores: 2}\n";
  const struct {
    std::string text;
    const char* suggestion;
  } cases[] = {
      {"name: a\nmachine:\n  corse: 2\nsteps: [{verify: {}}]", "; did you mean 'cores'?"},
      {"name: a\nverdict: panik\nmachine: {}\nsteps: [{verify: {}}]", "; did you mean 'panic'?"},
      {std::string(kHead) + "steps:\n  - exek: {command: [ls]}\n", "; did you mean 'exec'?"},
      {std::string(kHead) + "steps:\n  - admit: {pod: a.yaml, answer: rejcted}\n",
       "; did you mean 'rejected'?"},
  };
  for (const auto& c : cases) {
    const auto scenarios = parse_scenarios(c.text, {});
    ASSERT_FALSE(scenarios) << c.text;
    EXPECT_TRUE(scenarios.error().message.ends_with(c.suggestion)) << scenarios.error().message;
  }
}

TEST(Scenario, RunsOnItsOwnKernel) {
  const auto scenarios =
      parse_scenarios("name: a\nkernel: ../vmlinuz\nmachine: {}\nsteps: [{verify: {}}]", {});
  ASSERT_TRUE(scenarios) << scenarios.error().message;
  ASSERT_EQ(scenarios->size(), 1U);
  EXPECT_EQ(to_string(scenarios->front().machine.platform), "own/v2");
  EXPECT_EQ(scenarios->front().kernel, "../vmlinuz");
  const auto two = parse_scenarios(
      "name: a\nkernel: b\non: [own/v1, debian-6.12/v2]\nmachine: {}\nsteps: [{verify: {}}]", {});
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(to_string(two->front().machine.platform), "own/v1");
}

TEST(Scenario, TestsJudgeAProgramUnlessAStatusIsExpected) {
  const auto scenarios = parse_scenarios(
      "name: a\nmachine: {}\nsteps:\n  - exec: {command: [t], results: kselftest}\n"
      "  - exec: {command: [t], results: exit, status: 0}\n  - exec: {command: [t]}\n",
      {});
  ASSERT_TRUE(scenarios) << scenarios.error().message;
  const auto& steps = scenarios->front().steps;
  EXPECT_EQ(std::get<ExecStep>(steps[0].action).results, TestFormat::kKselftest);
  EXPECT_EQ(std::get<ExecStep>(steps[0].action).status, std::nullopt);
  EXPECT_EQ(std::get<ExecStep>(steps[1].action).status, 0);
  EXPECT_EQ(std::get<ExecStep>(steps[2].action).results, std::nullopt);
}

}  // namespace
}  // namespace pinfold::harness
