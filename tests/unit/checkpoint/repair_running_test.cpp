// Recovers lost assignments from the cgroups of running containers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "node_fixture.hpp"
#include "notes.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/repair.hpp"
#include "pinfold/memory/count_again.hpp"

namespace pinfold::checkpoint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// CPU 0 is reserved.
Config static_cpus() {
  Config config = test::aligning_config("best-effort");
  config.profile = Profile::kKubelet136;
  return config;
}

/// 1 GiB of NUMA node 0 is reserved, too.
Config static_memory() { return test::with_memory_manager(static_cpus()); }

/// `numa` NUMA nodes of 8 CPUs and 16 GiB.
Node node_with(const Config& config = static_cpus(), int numa = 2) {
  test::NodeShape shape;
  shape.numa = numa;
  return Node::make(test::machine_of(shape), config).value();
}

/// A container "c" of a Guaranteed pod for which the kubelet has a directory.
RunningContainer running(const std::string& pod, const std::string& cpus,
                         const std::string& mems = "0-1") {
  return {.id = {PodUid(pod), "c"},
          .group = "/cg/" + pod,
          .is_known = true,
          .cpus = CpuSet::parse(cpus).value(),
          .mems = CpuSet::parse(mems).value()};
}

RunningContainer shared(const std::string& pod, const std::string& cpus) {
  RunningContainer container = running(pod, cpus);
  container.qos = QosClass::kBurstable;
  return container;
}

/// A file with the pool and the container a/c on CPUs 2-3, cut off in the name of the next pod.
std::string torn_before_b(const std::string& pool) {
  return R"({"policyName":"static","defaultCpuSet":")" + pool +
         R"(","entries":{"a":{"c":"2-3"},"b)";
}

CpuCheckpoint repaired_cpu(const Repaired& repaired) {
  return inspect_cpu(*repaired.files.cpu).value().state;
}

std::string repaired_cpus(const Repaired& repaired, const std::string& pod) {
  const CpuCheckpoint state = repaired_cpu(repaired);
  const CpuSet* const cpus = state.assignments.find({PodUid(pod), "c"});
  return cpus == nullptr ? "none" : cpus->to_string();
}

const test::Amounts kTwoCpusAndMemory = {{"cpu", "2"}, {"memory", "1Gi"}};

TEST(RepairRunning, TakesTheCpusOfRunningContainers) {
  const auto repaired = repair(node_with(), {torn_before_b("0-1,8-15"), {}}, {},
                               {.running = {running("a", "2-3"), running("b", "4-5"),
                                            running("e", "6-7"), shared("s", "0-1,8-15")}});
  EXPECT_EQ(repaired_cpus(repaired, "b"), "4-5");
  EXPECT_EQ(repaired_cpus(repaired, "e"), "6-7");
  EXPECT_EQ(repaired_cpu(repaired).default_set.to_string(), "0-1,8-15");
  EXPECT_THAT(repaired.lost, IsEmpty());
  EXPECT_THAT(repaired.read_back,
              ElementsAre(ReadBack{"b/c", "cpu", "CPUs 4-5", "/cg/b/cpuset.cpus"},
                          ReadBack{"e/c", "cpu", "CPUs 6-7", "/cg/e/cpuset.cpus"}));
  EXPECT_TRUE(repaired.has_damage);
  EXPECT_TRUE(would_start(node_with(), repaired.files, {}));
  EXPECT_FALSE(repair(node_with(), repaired.files, {}, {}).changed());
}

TEST(RepairRunning, ReadsNothingForASoundFile) {
  CpuCheckpoint state;
  state.default_set = CpuSet::range(0, 15);
  const auto repaired = repair(node_with(), {encode_cpu(state, "static", CpuFormat::kV2), {}}, {},
                               {.running = {running("b", "4-5")}});
  EXPECT_FALSE(repaired.changed());
  EXPECT_THAT(repaired.read_back, IsEmpty());
  EXPECT_FALSE(repaired.has_damage);
}

TEST(RepairRunning, MakesAMissingFileAnew) {
  const OtherFiles others{.running = {running("b", "4-5"), shared("s", "0-3,6-15")}};
  const auto repaired = repair(node_with(), {}, {}, others);
  EXPECT_EQ(repaired_cpus(repaired, "b"), "4-5");
  EXPECT_EQ(repaired_cpu(repaired).default_set.to_string(), "0-3,6-15");
  EXPECT_TRUE(mentions(repaired.done, "cpu_manager_state", "is missing or empty: created anew"));
  EXPECT_THAT(repaired.read_back,
              ElementsAre(ReadBack{"b/c", "cpu", "CPUs 4-5", "/cg/b/cpuset.cpus"},
                          ReadBack{"shared pool", "cpu", "CPUs 0-3,6-15", "/cg/s/cpuset.cpus"}));
  EXPECT_THAT(repaired.lost, IsEmpty());
  // A container that only shares CPUs needs no repair on a new node.
  EXPECT_FALSE(repair(node_with(), {}, {}, {.running = {running("b", "0-15")}}).files.cpu);
}

TEST(RepairRunning, CpusThatNotAllShareAreLost) {
  const auto repaired =
      repair(node_with(), {"", {}}, {},
             {.running = {running("b", "4-5"), shared("s", "0-3,6-15"), shared("t", "0-3,8-15")}});
  EXPECT_EQ(repaired.lost,
            (std::vector<Note>{{"cpu_manager_state",
                                "CPUs 6-7: their assignments are unreadable; now in the shared "
                                "pool"}}));
}

TEST(RepairRunning, TakesTheCpusThatAPodOrItsLimitAsksFor) {
  RunningContainer limited = running("e", "6-7");
  limited.limit_milli_cpu = 2000;
  const auto repaired = repair(
      node_with(), {torn_before_b("0-1,8-15"), {}}, {},
      {.pods = {test::pod("b", kTwoCpusAndMemory)}, .running = {running("b", "4-5"), limited}});
  EXPECT_EQ(repaired_cpus(repaired, "b"), "4-5");
  EXPECT_EQ(repaired_cpus(repaired, "e"), "6-7");
  EXPECT_THAT(repaired.lost, IsEmpty());
}

/// A change of the observations, and why they no longer prove that b/c has CPUs 4-5.
struct Uncertain {
  std::function<void(OtherFiles&)> change;
  std::string why;
};

TEST(RepairRunning, NamesWhatIsNotCertainAndTakesNothing) {
  const auto second = [](OtherFiles& others, RunningContainer container) {
    others.running.push_back(std::move(container));
  };
  const auto asks = [](OtherFiles& others, const std::string& cpus) {
    // Two lost pods, so that the CPUs in no set allow more than one assignment.
    others.pods = {test::pod("b", {{"cpu", cpus}, {"memory", "1Gi"}}),
                   test::pod("z", kTwoCpusAndMemory)};
  };
  const std::vector<Uncertain> cases = {
      {[](OtherFiles& others) { others.running[0].id.name = ""; },
       "no file names this container: not taken"},
      {[](OtherFiles& others) { others.running[0].is_known = false; },
       "no file of this directory names its pod: not taken"},
      {[&](OtherFiles& others) { asks(others, "3"); }, "it asks for 3 CPUs: not taken"},
      {[](OtherFiles& others) { others.running[0].limit_milli_cpu = 1000; },
       "it asks for 1 CPU: not taken"},
      {[&](OtherFiles& others) {
         asks(others, "2");
         others.running[0].cpus = {};
       },
       "its cpuset cannot be read: not taken"},
      {[&](OtherFiles& others) {
         asks(others, "2");
         second(others, shared("s", "0-1,5-15"));
       },
       "'s/c' may also run on some of them: not taken"},
      {[](OtherFiles& others) {
         others.running[0].limit_milli_cpu = 2000;
         others.running[0].cpus = CpuSet{0, 4};
       },
       "CPU 0 is reserved or not on this machine: not taken"},
      {[](OtherFiles& others) {
         others.running[0].cpus = CpuSet{3, 4};
       },
       "the file has some of them for a/c: not taken"},
      {[](OtherFiles& others) {
         others.running[0].cpus = CpuSet{5, 6};
       },
       "the file has some of them for the shared pool: not taken"},
      {[&](OtherFiles& others) {
         others.pods = {test::pod_of("b", {test::container("other", kTwoCpusAndMemory)})};
       },
       "its pod has no such container: not taken"},
  };
  for (const Uncertain& uncertain : cases) {
    OtherFiles others{.running = {running("b", "4-5")}};
    uncertain.change(others);
    const auto repaired = repair(node_with(), {torn_before_b("0-1,6-15"), {}}, {}, others);
    EXPECT_THAT(repaired.read_back, IsEmpty()) << uncertain.why;
    const std::string object = others.running[0].id.name.empty() ? "b" : "b/c";
    EXPECT_TRUE(mentions(repaired.lost, object, uncertain.why)) << uncertain.why;
  }
}

TEST(RepairRunning, SaysNothingOfContainersThatShare) {
  RunningContainer fraction = running("f", "0-1,6-15");
  fraction.limit_milli_cpu = 1500;
  const auto repaired =
      repair(node_with(), {torn_before_b("0-1,6-15"), {}}, {},
             {.running = {fraction, running("g", "0-1,6-15"), shared("s", "0-1,6-15")}});
  EXPECT_EQ(repaired.lost,
            (std::vector<Note>{{"cpu_manager_state",
                                "CPUs 4-5: their assignments are unreadable; now in the shared "
                                "pool"}}));
  // If every CPU is accounted for, a container whose CPUs do not match its limit has lost none.
  RunningContainer whole = running("w", "0-1,4-15");
  whole.limit_milli_cpu = 2000;
  EXPECT_THAT(repair(node_with(), {torn_before_b("0-1,4-15"), {}}, {}, {.running = {whole}}).lost,
              IsEmpty());
}

TEST(RepairRunning, AStrictReservationNeedsAProofThatTheCpusAreNoSharedPool) {
  Config strict = static_cpus();
  strict.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  const std::string torn = R"({"policyName":"static","defaultCpuSet":")";
  const auto alone = repair(node_with(strict), {torn, {}}, {}, {.running = {running("b", "4-5")}});
  EXPECT_TRUE(mentions(alone.lost, "b/c", "they may be a shared pool"));
  const auto shown = repair(node_with(strict), {torn, {}}, {},
                            {.running = {running("b", "4-5"), shared("s", "1-3,6-15")}});
  EXPECT_EQ(repaired_cpus(shown, "b"), "4-5");
}

TEST(RepairRunning, TakesThePodLevelReservationOfAllContainers) {
  Config of_pods = test::aligning_config("best-effort", "pod");
  of_pods.profile = Profile::kKubelet136;
  of_pods.feature_gates["PodLevelResourceManagers"] = true;
  PodSpec pod =
      test::pod_of("b", {test::container("c", kTwoCpusAndMemory), test::container("d", {})});
  pod.resources = test::container("", {{"cpu", "4"}, {"memory", "2Gi"}}).resources;
  RunningContainer rest = running("b", "6-7");
  rest.id.name = "d";
  OtherFiles others{.pods = {pod}, .running = {running("b", "4-5"), rest}};
  const std::string torn = R"({"policyName":"static","defaultCpuSet":"0-3,8-15","entries":{"b)";
  const auto repaired = repair(node_with(of_pods), {torn, {}}, {}, others);
  EXPECT_EQ(repaired_cpus(repaired, "b"), "4-5");
  EXPECT_EQ(repaired_cpu(repaired).pods.at(PodUid("b")).to_string(), "4-7");
  EXPECT_THAT(repaired.lost, IsEmpty());
  others.running.pop_back();  // d does not run, so two CPUs of the pod are not observed
  const auto lost = repair(node_with(of_pods), {torn, {}}, {}, others);
  EXPECT_TRUE(mentions(lost.lost, "b/c", "the CPUs of its pod are not certain"));
  EXPECT_THAT(lost.read_back, IsEmpty());
}

/// The memory file of pods with one container "c" of 1 GiB on the given NUMA node, cut off before
/// the pod b.
std::string torn_memory_file(const std::map<std::string, std::int32_t>& pods) {
  MemoryState state;
  (void)node_with(static_memory()).memory().start(state);
  for (const auto& [pod, numa] : pods) {
    state.assignments[{PodUid(pod), "c"}] = {{{numa}, "memory", std::uint64_t{1} << 30U}};
    take_blocks(state.machine_state, state.assignments[{PodUid(pod), "c"}]);
  }
  std::string torn = encode_memory(state, "Static", MemoryFormat::kV1);
  torn.resize(torn.find(R"("b":{)"));
  return torn;
}

std::vector<MemoryBlock> repaired_memory(const Repaired& repaired, const std::string& pod) {
  const auto state = inspect_memory(*repaired.files.memory).value().state;
  const auto* const blocks = state.assignments.find({PodUid(pod), "c"});
  return blocks == nullptr ? std::vector<MemoryBlock>() : *blocks;
}

TEST(RepairRunning, TakesNumaNodesAndTheRequest) {
  const auto repaired =
      repair(node_with(static_memory()), {{}, torn_memory_file({{"a", 0}, {"b", 1}, {"d", 1}})}, {},
             {.pods = {test::pod("b", kTwoCpusAndMemory), test::pod("d", kTwoCpusAndMemory)},
              .running = {running("b", "4-5", "1"), running("d", "6-7", "1")}});
  const std::vector<MemoryBlock> expected = {{{1}, "memory", std::uint64_t{1} << 30U}};
  EXPECT_EQ(repaired_memory(repaired, "b"), expected);
  EXPECT_EQ(repaired_memory(repaired, "d"), expected);
  EXPECT_THAT(repaired.read_back,
              testing::IsSupersetOf({ReadBack{"b/c", "memory", "1Gi of memory on NUMA node 1",
                                              "/cg/b/cpuset.mems"}}));
  EXPECT_FALSE(mentions(repaired.lost, "b/c", "memory"));
}

TEST(RepairRunning, TakesASizeThatOnlyTheCountersShow) {
  CpuCheckpoint cpu;
  cpu.default_set = CpuSet::range(0, 1) | CpuSet::range(6, 15);
  cpu.assignments[{PodUid("a"), "c"}] = CpuSet::range(2, 3);
  cpu.assignments[{PodUid("b"), "c"}] = CpuSet::range(4, 5);
  const KubeletFiles files{encode_cpu(cpu, "static", CpuFormat::kV2),
                           torn_memory_file({{"a", 0}, {"b", 1}})};
  const auto repaired =
      repair(node_with(static_memory()), files, {}, {.running = {running("b", "4-5", "1")}});
  EXPECT_EQ(repaired_memory(repaired, "b"),
            (std::vector<MemoryBlock>{{{1}, "memory", std::uint64_t{1} << 30U}}));
  EXPECT_THAT(repaired.lost, IsEmpty());
  const auto two = repair(node_with(static_memory()), files, {},
                          {.running = {running("b", "4-5", "1"), running("d", "6-7", "1")}});
  EXPECT_TRUE(repaired_memory(two, "b").empty());
  EXPECT_TRUE(mentions(two.lost, "b/c",
                       "memory of '/cg/b', bound to NUMA node 1: no file names its request, and it "
                       "alone does not account for what their counters lack: not taken"));
}

TEST(RepairRunning, AllNumaNodesAreNoProof) {
  const auto repaired =
      repair(node_with(static_memory()), {{}, torn_memory_file({{"a", 0}, {"b", 1}})}, {},
             {.running = {running("b", "4-5")}});
  EXPECT_TRUE(repaired_memory(repaired, "b").empty());
  EXPECT_TRUE(mentions(repaired.lost, "b/c", "a container without an assignment looks the same"));
}

TEST(RepairRunning, OverlappingGroupsOfNumaNodesAreNoProof) {
  const auto repaired =
      repair(node_with(static_memory(), 3), {{}, R"({"policyName":"Static","machineState":{)"}, {},
             {.pods = {test::pod("b", kTwoCpusAndMemory), test::pod("d", kTwoCpusAndMemory)},
              .running = {running("b", "4-5", "1"), running("d", "6-7", "1-2")}});
  EXPECT_TRUE(mentions(repaired.lost, "b/c", "'d/c' is bound to other NUMA nodes that overlap"));
  EXPECT_TRUE(mentions(repaired.lost, "d/c", "'b/c' is bound to other NUMA nodes that overlap"));
}

}  // namespace
}  // namespace pinfold::checkpoint
