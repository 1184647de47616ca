#include "pinfold/checkpoint/repair.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node_fixture.hpp"
#include "notes.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/memory/count_again.hpp"
#include "salvage.hpp"

namespace pinfold::checkpoint {
namespace {

/// Two NUMA nodes of 8 CPUs and 16 GiB; CPU 0 and 1 GiB of NUMA node 0 are reserved.
Node node() {
  Config config = test::with_memory_manager(test::aligning_config("best-effort"));
  config.profile = Profile::kKubelet136;
  return std::move(*Node::make(test::machine_of({}), config));
}

std::string cpu_file(const std::string& pool, const std::string& entries) {
  return R"({"policyName":"static","defaultCpuSet":")" + pool + R"(","entries":{)" + entries +
         R"(},"checksum":0})";
}

CpuCheckpoint cpu_of(const Repaired& repaired) {
  return inspect_cpu(*repaired.files.cpu).value().state;
}

TEST(CloseJson, EndsAfterTheLastCompleteValue) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"a":"1","b":{"c":"2","d":"3)", R"({"a":"1","b":{"c":"2"}})"},
      {R"({"a":[1,2,3)", R"({"a":[1,2]})"},
      {R"({"a":10)", R"({})"},
      {R"({"a":{)", R"({"a":{}})"},
      {R"({"a")", R"({})"},
      {R"({"a":"1"}{"b":2})", R"({"a":"1"})"},
      {R"({"a":"1",###)", R"({"a":"1"})"},
      {R"({"a":"x\)", R"({})"},
      {R"( [ 1 , 2 ] )", R"( [ 1 , 2 ])"},
      {R"({"a":1,"data":"{\"b\":\"2)", R"({"a":1,"data":"{\"b\":\"2"})"},
      {R"({"data":"{\)", R"({"data":"{"})"},
      {R"({"data":"{\u003)", R"({"data":"{"})"},
      {R"({"b":{"data":"x)", R"({"b":{}})"},
      {"###", ""},
      {"", ""},
      {"12", ""},
  };
  for (const auto& [torn, closed] : cases) EXPECT_EQ(close_json(torn), closed) << torn;
}

TEST(Repair, SaysWhichMemoryNoLongerFits) {
  MemoryState state;
  ASSERT_TRUE(node().memory().start(state));
  state.assignments[{PodUid("a"), "c"}] = {{{0}, "memory", std::uint64_t{13} << 30U}};
  state.machine_state.at(1).tables.at("memory").total += 4096;
  const std::string file = encode_memory(state, "Static", MemoryFormat::kV1);
  const auto enough = repair(node(), {{}, file}, {}, {});
  EXPECT_FALSE(mentions(enough.done, "NUMA node 0", "containers keep"));
  Config config = test::with_memory_manager(test::aligning_config("best-effort"));
  const Node smaller = Node::make(test::machine_of({.gib = 12}), config).value();
  const auto repaired = repair(smaller, {{}, file}, {}, {});
  EXPECT_TRUE(mentions(repaired.done, "NUMA node 0",
                       "containers keep 13Gi of memory, more than the 11Gi there for pods"));
  EXPECT_TRUE(repaired.lost.empty());
}

TEST(Repair, AHalfDoneAllocationReturnsItsCpus) {
  // The kubelet removed the CPUs from the pool and was killed before it wrote the assignment.
  const auto repaired = repair(node(), {cpu_file("0-1,6-15", R"("a":{"c":"2-3"})"), {}}, {}, {});
  EXPECT_EQ(cpu_of(repaired).default_set.to_string(), "0-1,4-15");
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("a"), "c"})->to_string(), "2-3");
  EXPECT_TRUE(mentions(repaired.done, "shared pool", "CPUs 4-5 were in no set: added"));
  EXPECT_TRUE(repaired.lost.empty());
}

TEST(Repair, NamesEverythingThatItRemoves) {
  const auto repaired = repair(
      node(), {cpu_file("1,8-15", R"("a":{"c":"0,2"},"b":{"c":"2-3,20","d":"30"})"), {}}, {}, {});
  const CpuCheckpoint after = cpu_of(repaired);
  EXPECT_EQ(after.assignments.find({PodUid("a"), "c"})->to_string(), "2");
  EXPECT_EQ(after.assignments.find({PodUid("b"), "c"})->to_string(), "3");
  EXPECT_FALSE(after.assignments.contains({PodUid("b"), "d"}));
  EXPECT_EQ(repaired.lost,
            (std::vector<Note>{{"a/c", "CPU 0 is reserved for the system"},
                               {"b/c", "CPU 20 is not on this machine"},
                               {"b/c", "CPU 2 also belongs to another pod, which keeps it"},
                               {"b/d", "CPU 30 is not on this machine"}}));
}

TEST(Repair, ThePodWithTheFewestCpusLosesThemForASharedPool) {
  Config config = test::aligning_config("best-effort");
  config.profile = Profile::kKubelet136;  // this kubelet does not start without a shared pool
  config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  const Node strict = std::move(*Node::make(test::machine_of({}), config));
  const auto repaired = repair(
      strict, {cpu_file("", R"("a":{"c":"1-7"},"b":{"c":"8-9","d":"10"},"e":{"c":"11-15"})"), {}},
      {}, {});
  EXPECT_EQ(cpu_of(repaired).default_set.to_string(), "8-10");
  EXPECT_FALSE(cpu_of(repaired).assignments.contains(PodUid("b")));
  EXPECT_EQ(cpu_of(repaired).assignments.by_pod().size(), 2U);
  EXPECT_EQ(repaired.lost,
            (std::vector<Note>{{"b",
                                "CPUs 8-10: released, because a kubelet does not start without a "
                                "shared pool, and no pod has fewer CPUs"}}));
  EXPECT_TRUE(would_start(strict, repaired.files, {}));
}

TEST(Repair, NoPodLosesItsCpusForASharedPoolThatNobodyNeeds) {
  Config config = test::aligning_config("best-effort");
  config.profile = Profile::kFixed;
  config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  const Node strict = std::move(*Node::make(test::machine_of({}), config));
  const auto repaired =
      repair(strict, {cpu_file("", R"("a":{"c":"1-7"},"b":{"c":"8-15"})"), {}}, {}, {});
  EXPECT_EQ(cpu_of(repaired).assignments.by_pod().size(), 2U);
  EXPECT_TRUE(repaired.lost.empty());
  EXPECT_TRUE(would_start(strict, repaired.files, {}));
}

TEST(Repair, APodWhoseContainersAreLostReturnsItsCpus) {
  Config config = test::aligning_config("best-effort");
  config.profile = Profile::kKubelet136;
  config.feature_gates["PodLevelResourceManagers"] = true;
  const Node pod_level = std::move(*Node::make(test::machine_of({}), config));
  CpuCheckpoint state;
  state.default_set = CpuSet::range(0, 1) | CpuSet::range(4, 15);
  state.pods[PodUid("a")] = CpuSet::range(2, 3);
  state.assignments[{PodUid("a"), "c"}] = CpuSet{20};
  state.assignments[{PodUid("b"), "c"}] = CpuSet{3};
  const auto repaired =
      repair(pod_level, {encode_cpu(state, "static", CpuFormat::kV4), {}}, {}, {});
  EXPECT_EQ(cpu_of(repaired).default_set.to_string(), "0-2,4-15");
  EXPECT_TRUE(cpu_of(repaired).pods.empty());
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("b"), "c"})->to_string(), "3");
  EXPECT_TRUE(mentions(repaired.done, "a", "CPUs 2-3 that none of its containers holds: released"));
  EXPECT_EQ(repaired.lost, (std::vector<Note>{{"a/c", "CPU 20 is not on this machine"}}));
  EXPECT_FALSE(repair(pod_level, repaired.files, {}, {}).changed());
}

TEST(Repair, NamesTheBaselinesThatItDrops) {
  Config config = test::aligning_config("best-effort");
  config.feature_gates["InPlacePodVerticalScalingExclusiveCPUs"] = true;
  CpuCheckpoint state;
  state.default_set = CpuSet::range(0, 1) | CpuSet::range(7, 15);  // without CPU 6
  state.assignments[{PodUid("a"), "c"}] = CpuSet::range(2, 5);
  state.baselines[{PodUid("a"), "c"}] = CpuSet::range(2, 3);
  const std::string file = encode_cpu(state, "static", CpuFormat::kV4);
  config.profile = Profile::kKubelet136;
  const Node older = std::move(*Node::make(test::machine_of({}), config));
  EXPECT_TRUE(mentions(repair(older, {file, {}}, {}, {}).done, "cpu_manager_state",
                       "the format of this kubelet has no baselines"));
  state.baselines[{PodUid("a"), "c"}] = CpuSet::range(2, 6);
  config.profile = Profile::kKubelet138;
  const Node newer = std::move(*Node::make(test::machine_of({}), config));
  const auto beyond = repair(newer, {encode_cpu(state, "static", CpuFormat::kV4), {}}, {}, {});
  EXPECT_TRUE(mentions(beyond.done, "a/c", "baseline 2-6 is not among its CPUs, 2-5: removed"));
}

Node node_with_baselines(Profile profile) {
  Config config = test::aligning_config("best-effort");
  config.feature_gates["InPlacePodVerticalScalingExclusiveCPUs"] = true;
  config.profile = profile;
  return std::move(*Node::make(test::machine_of({}), config));
}

/// Two resized containers, and one that was not.
CpuCheckpoint with_baselines() {
  CpuCheckpoint state;
  state.default_set = CpuSet::range(0, 1) | CpuSet::range(10, 15);
  state.assignments[{PodUid("a"), "c"}] = CpuSet::range(2, 5);
  state.baselines[{PodUid("a"), "c"}] = CpuSet::range(2, 3);
  state.assignments[{PodUid("a"), "d"}] = CpuSet::range(6, 7);
  state.baselines[{PodUid("a"), "d"}] = CpuSet{7};
  state.assignments[{PodUid("b"), "c"}] = CpuSet::range(8, 9);
  state.baselines[{PodUid("b"), "c"}] = CpuSet::range(8, 9);
  return state;
}

TEST(Repair, KeepsOrNamesEachBaselineWhereverTheFileIsTorn) {
  const CpuCheckpoint state = with_baselines();
  const std::string file = encode_cpu(state, "static", CpuFormat::kV4);
  const Node kubelet = node_with_baselines(Profile::kKubelet138);
  OtherFiles others;
  others.baselines[{PodUid("a"), "c"}] = CpuSet::range(2, 3);
  int kept = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto repaired = repair(kubelet, {file.substr(0, size), {}}, {}, others);
    const CpuCheckpoint after = cpu_of(repaired);
    for (const auto& entry : after.assignments) {
      const CpuSet* const baseline = after.baselines.find(entry.id());
      ASSERT_NE(baseline, nullptr) << size;
      const bool is_right = *baseline == *state.baselines.find(entry.id());
      kept += is_right ? 1 : 0;
      EXPECT_TRUE(is_right || mentions(repaired.lost, to_string(entry.id()), "its baseline"))
          << file.substr(0, size);
      if (entry.id() == ContainerId{PodUid("a"), "c"}) {
        EXPECT_TRUE(is_right) << "another file has it";
      }
    }
    EXPECT_TRUE(would_start(kubelet, repaired.files, {}));
  }
  EXPECT_GT(kept, 100);
  // Only the sum of the data is missing.
  const auto repaired =
      repair(kubelet, {file.substr(0, file.rfind(",\"dataChecksum")), {}}, {}, {});
  EXPECT_EQ(cpu_of(repaired), state);
  EXPECT_TRUE(repaired.lost.empty());
}

/// The text of a file with a wrong checksum.
std::string with_wrong_sum(std::string file) {
  const std::size_t sum = file.find("\"checksum\":") + 11;
  return file.replace(sum, file.find_first_of(",}", sum) - sum, "5");
}

TEST(Repair, InventsNoBaselinesForAFileWithoutAny) {
  CpuCheckpoint state = with_baselines();
  state.baselines = {};
  const std::string v3 = encode_cpu(state, "static", CpuFormat::kV3);
  const std::string v4 = encode_cpu(state, "static", CpuFormat::kV4);
  EXPECT_EQ(repair(node_with_baselines(Profile::kFixed), {v3.substr(0, v3.size() - 1), {}}, {}, {})
                .done.size(),
            1U)
      << "that it was torn";
  for (const std::string& file : {with_wrong_sum(v3), with_wrong_sum(v4)}) {
    const auto repaired = repair(node_with_baselines(Profile::kKubelet138), {file, {}}, {}, {});
    EXPECT_TRUE(repaired.lost.empty()) << file;
    EXPECT_EQ(cpu_of(repaired).baselines.find({PodUid("a"), "c"})->to_string(), "2-5");
  }
}

/// Only `dataChecksum` is wrong, and the outer fields are those of an older file.
TEST(Repair, TakesAWrongSumOfTheDataForDamage) {
  const CpuCheckpoint state = with_baselines();
  std::string file = encode_cpu(state, "static", CpuFormat::kV4);
  const std::size_t baseline = file.find("2-3", file.find("baselines"));
  file.replace(baseline, 3, "2-x");
  OtherFiles others;
  others.baselines[{PodUid("a"), "c"}] = CpuSet::range(2, 3);
  const auto repaired = repair(node_with_baselines(Profile::kKubelet138), {file, {}}, {}, others);
  EXPECT_TRUE(mentions(repaired.done, "cpu_manager_state", "wrong dataChecksum"));
  EXPECT_TRUE(repaired.lost.empty());
  EXPECT_EQ(cpu_of(repaired), state);
  const auto alone = repair(node_with_baselines(Profile::kKubelet138), {file, {}}, {}, {});
  EXPECT_EQ(
      alone.lost,
      (std::vector<Note>{{"a/c", "its baseline cannot be read: a resize keeps all its CPUs"}}));
}

/// A resize requires that the baseline is part of the container's CPUs.
TEST(Repair, ReplacesABaselineThatIsNotAmongTheCpus) {
  CpuCheckpoint state = with_baselines();
  state.baselines[{PodUid("a"), "c"}] = CpuSet::range(2, 7);
  const auto repaired = repair(node_with_baselines(Profile::kKubelet138),
                               {encode_cpu(state, "static", CpuFormat::kV4), {}}, {}, {});
  EXPECT_TRUE(repaired.lost.empty());
  EXPECT_EQ(cpu_of(repaired).baselines.find({PodUid("a"), "c"})->to_string(), "2-5");
}

/// Without the gate a kubelet keeps the baselines that it reads.
TEST(Repair, NamesABaselineThatIsTornAlsoWithoutTheGate) {
  const std::string file = encode_cpu(with_baselines(), "static", CpuFormat::kV4);
  const std::string torn = file.substr(0, file.find("baselines") + 12);
  Config config = test::aligning_config("best-effort");
  config.profile = Profile::kKubelet138;
  const Node kubelet = std::move(*Node::make(test::machine_of({}), config));
  OtherFiles others;
  others.baselines[{PodUid("a"), "c"}] = CpuSet::range(2, 3);
  const auto repaired = repair(kubelet, {torn, {}}, {}, others);
  EXPECT_TRUE(repaired.lost.empty());
  EXPECT_TRUE(mentions(repaired.done, "a/c", "baseline 2-3: taken from"));
  EXPECT_TRUE(mentions(repaired.done, "a/d", "its baseline cannot be read"));
  EXPECT_EQ(cpu_of(repaired).baselines.find({PodUid("a"), "c"})->to_string(), "2-3");
}

TEST(Repair, LeavesBaselinesInTheFileOfThePods) {
  const CpuCheckpoint state = with_baselines();
  const std::string file = encode_cpu(state, "static", CpuFormat::kV4);
  OtherFiles others;
  others.baselines = state.baselines;
  for (const std::string& bytes : {file, file.substr(0, file.find("baselines") + 12)}) {
    const auto repaired = repair(node_with_baselines(Profile::kFixed), {bytes, {}}, {}, others);
    EXPECT_TRUE(repaired.lost.empty());
    for (const Note& note : repaired.done) {
      EXPECT_THAT(note.text, testing::Not(testing::HasSubstr("baseline"))) << note.object;
    }
  }
}

/// Assignments under keys that no kubelet reads are lost, and never silently given to the shared
/// pool.
TEST(Repair, AssignmentsUnderUnknownKeysAreUnreadable) {
  for (const char* const file :
       {R"({"state":{"policyName":"static","defaultCpuSet":"0-1,4-15"}})", "{}", "null",
        R"({"pod_resources":[]})",
        R"({"policyName":"static","defaultCpuSet":"0-1,4-15","Entry":{"a":{}},"checksum":0})"}) {
    const auto repaired = repair(node(), {file, {}}, {}, {});
    EXPECT_TRUE(repaired.has_damage) << file;
    EXPECT_TRUE(mentions(repaired.lost, "cpu_manager_state", "assignments are unreadable")) << file;
  }
  const auto named =
      repair(node(), {R"({"policyName":"static","defaultCpuSet":"0-1,4-15","Entry":{"a":{}}})", {}},
             {}, {});
  EXPECT_TRUE(mentions(named.done, "cpu_manager_state", "unknown key 'Entry'"));
  const auto harmless = repair(
      node(),
      {R"({"policyName":"static","defaultCpuSet":"0-15","since":"1","entries":{},"checksum":0})",
       {}},
      {}, {});
  EXPECT_TRUE(harmless.lost.empty()) << "every CPU is in a set";
}

TEST(Repair, TakesAssignmentsFromDataWhoseSumIsRight) {
  const std::string data =
      R"({"policyName":"static","defaultCpuSet":"0-1,4-15","entries":{"a":{"c":"2-3"}}})";
  const std::string escaped =
      R"({\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,4-15\",\"entries\":{\"a\":{\"c\":\"2-3\"}}})";
  const std::string file =
      R"({"policyName":"static","defaultCpuSet":"0-15","checksum":1,"data":")" + escaped +
      R"(","dataChecksum":)" + std::to_string(string_checksum(data)) + "}";
  const auto repaired = repair(node(), {file, {}}, {}, {});
  EXPECT_TRUE(repaired.lost.empty());
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("a"), "c"})->to_string(), "2-3");
}

TEST(Repair, ATornFileIsReadUpToItsLastCompleteValue) {
  std::string torn = cpu_file("0-1,6-15", R"("a":{"c":"2-3"},"b":{"c":"4-5"})");
  torn.resize(torn.find("4-5"));
  const auto repaired = repair(node(), {torn, {}}, {}, {});
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("a"), "c"})->to_string(), "2-3");
  EXPECT_EQ(cpu_of(repaired).default_set.to_string(), "0-1,4-15");
  EXPECT_TRUE(mentions(repaired.done, "cpu_manager_state",
                       "is torn: the file is empty or ends too early (kubelet: unexpected end"));
}

TEST(Repair, AByteOrderMarkIsRemoved) {
  const std::string file = cpu_file("0-1,6-15", R"("a":{"c":"2-3"},"b":{"c":"4-5"})");
  const auto repaired = repair(node(), {"\xEF\xBB\xBF" + file, {}}, {}, {});
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("b"), "c"})->to_string(), "4-5");
  EXPECT_TRUE(repaired.lost.empty());
  EXPECT_TRUE(mentions(repaired.done, "cpu_manager_state", "begins with a byte order mark"));
}

/// The CPU file of "a/c" on CPUs 2-3 and "b/c" on 4-5, cut off within "b".
std::string torn_cpu_file() {
  std::string torn = cpu_file("0-1,6-15", R"("a":{"c":"2-3"},"b":{"c":"4-5"})");
  torn.resize(torn.find("-5"));
  return torn;
}

/// The memory file of pods with one container "c" of 1 GiB on the given NUMA node.
std::string memory_file(const std::map<std::string, std::int32_t>& pods) {
  MemoryState state;
  (void)node().memory().start(state);
  for (const auto& [pod, numa] : pods) {
    state.assignments[{PodUid(pod), "c"}] = {{{numa}, "memory", std::uint64_t{1} << 30U}};
    take_blocks(state.machine_state, state.assignments[{PodUid(pod), "c"}]);
  }
  return encode_memory(state, "Static", MemoryFormat::kV1);
}

const test::Amounts kTwoCpus = {{"cpu", "2"}, {"memory", "1Gi"}};

TEST(Repair, WhatWasCutOffIsLostAndNamedByTheOtherFiles) {
  const auto repaired =
      repair(node(), {torn_cpu_file(), memory_file({{"a", 0}, {"b", 0}, {"d", 1}})}, {},
             {.pods = {test::pod("b", kTwoCpus), test::pod("e", kTwoCpus)}});
  EXPECT_EQ(cpu_of(repaired).default_set.to_string(), "0-1,4-15");
  EXPECT_EQ(
      repaired.lost,
      (std::vector<Note>{
          {"b/c",
           "2 CPUs: its entry is unreadable, but '.pinfold_pods' and 'memory_manager_state' "
           "name it"},
          {"e/c", "2 CPUs: its entry is unreadable, but '.pinfold_pods' names it"},
          {"d/c",
           "any CPUs that it had: its entry is unreadable, but 'memory_manager_state' names it"},
          {"cpu_manager_state",
           "CPUs 4-5: their assignments are unreadable; now in the shared pool"}}));
  EXPECT_FALSE(mentions(repaired.done, "shared pool", ""));
  EXPECT_TRUE(would_start(node(), repaired.files, {}));
  EXPECT_FALSE(repair(node(), repaired.files, {}, {}).changed());
}

TEST(Repair, TheOnlyContainerThatWasCutOffGetsTheCpusInNoSet) {
  const auto repaired = repair(node(), {torn_cpu_file(), memory_file({{"a", 0}, {"b", 0}})}, {},
                               {.pods = {test::pod("a", kTwoCpus), test::pod("b", kTwoCpus)}});
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("b"), "c"})->to_string(), "4-5");
  EXPECT_EQ(cpu_of(repaired).default_set.to_string(), "0-1,6-15");
  EXPECT_TRUE(repaired.lost.empty());
  EXPECT_TRUE(mentions(repaired.done, "b/c",
                       "CPUs 4-5: its entry is unreadable; restored as the only possibility"));
}

TEST(Repair, ACutOffContainerOfAnotherSizeIsLost) {
  const auto repaired = repair(
      node(), {torn_cpu_file(), {}}, {},
      {.pods = {test::pod("a", kTwoCpus), test::pod("b", {{"cpu", "3"}, {"memory", "1Gi"}})}});
  EXPECT_TRUE(mentions(repaired.lost, "b/c", "3 CPUs: its entry is unreadable"));
  EXPECT_FALSE(cpu_of(repaired).assignments.contains(PodUid("b")));
}

TEST(Repair, ARemovedContainerIsNotLost) {
  std::string torn = cpu_file("0-1,4-15", R"("a":{"c":"2-3"})");
  torn.resize(torn.find("checksum"));
  const auto repaired = repair(node(), {torn, memory_file({{"a", 0}})}, {},
                               {.pods = {test::pod("a", kTwoCpus), test::pod("b", kTwoCpus)},
                                .removed = {{PodUid("b"), "c"}}});
  EXPECT_TRUE(repaired.lost.empty());
  EXPECT_EQ(cpu_of(repaired).default_set.to_string(), "0-1,4-15");
}

TEST(Repair, AContainerWhoseNameChangedIsLost) {
  // One bit of a pod's UID differs: the CPUs now belong to another pod, and all are accounted for.
  std::string file = encode_cpu({CpuSet::range(0, 1) | CpuSet::range(4, 15), {}, {}, {}}, "static",
                                CpuFormat::kV2);
  file.replace(file.find("\"checksum"), 0, R"("entries":{"c":{"c":"2-3"}},)");
  const auto repaired = repair(node(), {file, memory_file({{"b", 0}})}, {}, {});
  EXPECT_TRUE(mentions(repaired.lost, "b/c", "'memory_manager_state' names it"));
}

TEST(Repair, MemoryThatWasCutOffIsRestoredOrLost) {
  std::string torn = memory_file({{"a", 0}, {"b", 1}});
  torn.resize(torn.find(R"("b":{)") + 4);
  const std::string cpu = cpu_file("0-1,6-15", R"("a":{"c":"2-3"},"b":{"c":"4-5"})");
  const auto restored = repair(node(), {cpu, torn}, {},
                               {.pods = {test::pod("a", kTwoCpus), test::pod("b", kTwoCpus)}});
  const MemoryCheckpoint after = inspect_memory(*restored.files.memory).value().state;
  EXPECT_EQ(*after.assignments.find({PodUid("b"), "c"}),
            (std::vector<MemoryBlock>{{{1}, "memory", std::uint64_t{1} << 30U}}));
  EXPECT_TRUE(restored.lost.empty());
  const auto lost = repair(node(), {cpu, torn}, {}, {});
  EXPECT_EQ(
      lost.lost,
      (std::vector<Note>{
          {"b/c",
           "any memory that it had: its entry is unreadable, but 'cpu_manager_state' names it"},
          {"memory_manager_state",
           "1Gi of memory on NUMA node 1, from unreadable assignments: "
           "released"}}));
  EXPECT_TRUE(would_start(node(), lost.files, {}));
}

/// The text ends before the count of the first NUMA node's assignments.
TEST(Repair, MemoryWhoseCountsWereCutOffIsLost) {
  const std::string whole = memory_file({{"b", 0}});
  const std::string cpu = cpu_file("0-3,6-15", R"("b":{"c":"4-5"})");
  for (const char* const last : {R"("machineState":{)", R"("machineState":{"0":{"numberOf)"}) {
    const auto end = whole.find(last);
    ASSERT_NE(end, std::string::npos) << whole;
    const auto repaired =
        repair(node(), {cpu, whole.substr(0, end + std::string(last).size())}, {}, {});
    EXPECT_TRUE(mentions(repaired.lost, "b/c", "any memory that it had: its entry is unreadable"));
    EXPECT_TRUE(mentions(repaired.lost, "memory_manager_state", "its assignments are unreadable"));
    EXPECT_TRUE(would_start(node(), repaired.files, {}));
  }
}

TEST(Repair, AnOlderCopyReplacesOnlyWhatItContains) {
  const std::string older = cpu_file("0-1,4-15", R"("d":{"c":"2-3"})");
  const auto repaired = repair(node(), {torn_cpu_file(), memory_file({{"a", 0}, {"b", 0}})}, {},
                               {.copies = {{".123", older}}});
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("a"), "c"})->to_string(), "2-3");
  const std::string before = cpu_file("0-1,4-15", R"("a":{"c":"2-3"})");
  const auto replaced = repair(node(), {torn_cpu_file(), memory_file({{"a", 0}, {"b", 0}})}, {},
                               {.copies = {{".123", before}}});
  EXPECT_TRUE(mentions(replaced.done, "cpu_manager_state", "replaced by '.123'"));
  EXPECT_TRUE(mentions(replaced.lost, "b/c", "'memory_manager_state' names it"));
}

TEST(Repair, MakesAFileAnewThatActivePodsNeed) {
  const auto repaired =
      repair(node(), {{}, memory_file({{"a", 0}})}, {}, {.pods = {test::pod("a", kTwoCpus)}});
  ASSERT_TRUE(repaired.files.cpu);
  EXPECT_TRUE(mentions(repaired.done, "cpu_manager_state", "is missing or empty: created anew"));
  EXPECT_TRUE(mentions(repaired.lost, "a/c", "2 CPUs: its entry is unreadable"));
  EXPECT_FALSE(repair(node(), {{}, memory_file({})}, {}, {}).files.cpu);
}

TEST(Repair, EmptyEntriesAreNothingToRepair) {
  const std::string file = cpu_file("0-1,4-15", R"("a":{"c":"2-3"},"b":{},"d":null)");
  const auto repaired = repair(node(), {file, {}}, {}, {});
  EXPECT_FALSE(repaired.changed());
  EXPECT_EQ(repaired.files.cpu, file);
}

TEST(Repair, AValidOrphanReplacesAnUnreadableFile) {
  const std::string orphan = cpu_file("0-1,4-15", R"("a":{"c":"2-3"})");
  const auto repaired =
      repair(node(), {"", {}}, {}, {.copies = {{".12", "junk"}, {".123", orphan}}});
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("a"), "c"})->to_string(), "2-3");
  EXPECT_TRUE(mentions(repaired.done, "cpu_manager_state", "replaced by '.123'"));
  EXPECT_TRUE(is_orphan_name(".123456789"));
  EXPECT_TRUE(is_orphan_name(".cpu_manager_state1"));
  EXPECT_FALSE(is_orphan_name(".pinfold_pods"));
  EXPECT_FALSE(is_orphan_name("."));
}

TEST(Repair, ChangedMemorySizesAreCountedAgain) {
  MemoryCheckpoint state;
  for (const int id : {0, 1}) state.machine_state[id] = {0, {{"memory", {8, 0, 8, 0, 8}}}, {id}};
  state.assignments[{PodUid("a"), "c"}] = {{{1}, "memory", 4}};
  state.assignments[{PodUid("b"), "c"}] = {{{0, 1}, "memory", 2}};
  state.assignments[{PodUid("b"), "d"}] = {{{7}, "memory", 2}};
  const auto repaired =
      repair(node(), {{}, encode_memory(state, "Static", MemoryFormat::kV1)}, {}, {});
  const MemoryCheckpoint after = inspect_memory(*repaired.files.memory).value().state;
  EXPECT_EQ(after.machine_state.at(1).tables.at("memory").total, std::uint64_t{16} << 30U);
  EXPECT_EQ(after.assignments.find({PodUid("a"), "c"})->at(0).numa_affinity,
            (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(after.assignments.find({PodUid("a"), "c"})->at(0).size, 4U);
  EXPECT_FALSE(after.assignments.contains({PodUid("b"), "d"}));
  EXPECT_TRUE(mentions(repaired.done, "a/c", "overlaps another group of NUMA nodes: now on 0,1"));
  EXPECT_TRUE(mentions(repaired.lost, "b/d", "NUMA node 7: not on this machine"));
  EXPECT_TRUE(would_start(node(), repaired.files, {}));
}

TEST(Repair, WritesPodLevelMemoryInAVersionThatTheKubeletReads) {
  Config config = test::with_memory_manager(test::aligning_config("best-effort", "pod"));
  config.profile = Profile::kKubelet136;
  config.feature_gates["PodLevelResourceManagers"] = true;
  const Node pod_level = std::move(*Node::make(test::machine_of({}), config));
  MemoryState state;
  ASSERT_TRUE(pod_level.memory().start(state).has_value());
  const std::vector<MemoryBlock> blocks = {{{0}, "memory", std::uint64_t{1} << 30U}};
  state.assignments[{PodUid("a"), "c"}] = blocks;
  state.assignments[{PodUid("a"), "d"}] = blocks;
  state.pods[PodUid("a")] = blocks;
  take_blocks(state.machine_state, blocks);
  const KubeletFiles files{{}, encode_memory(state, "Static", MemoryFormat::kV3)};
  // Kubelet 1.36 reads the containers, but counts their memory twice.
  EXPECT_FALSE(would_start(pod_level, files, {}));
  const auto repaired = repair(pod_level, files, {}, {});
  EXPECT_TRUE(mentions(repaired.done, "memory_manager_state", "is V3, "));
  EXPECT_TRUE(mentions(repaired.done, "memory_manager_state", "written as V2"));
  EXPECT_EQ(repaired.files.memory, encode_memory(state, "Static", MemoryFormat::kV2));
  EXPECT_TRUE(would_start(pod_level, repaired.files, {}));
}

TEST(Repair, MemoryOfAPodWithoutContainersIsReleased) {
  Config config = test::with_memory_manager(test::aligning_config("best-effort", "pod"));
  config.profile = Profile::kKubelet137;
  config.feature_gates["PodLevelResourceManagers"] = true;
  const Node pod_level = std::move(*Node::make(test::machine_of({}), config));
  MemoryState state;
  ASSERT_TRUE(pod_level.memory().start(state).has_value());
  const std::vector<MemoryBlock> blocks = {{{0}, "memory", std::uint64_t{1} << 30U}};
  state.pods[PodUid("a")] = blocks;
  state.pods[PodUid("b")] = blocks;
  state.assignments[{PodUid("b"), "c"}] = blocks;
  take_blocks(state.machine_state, blocks);
  const auto repaired =
      repair(pod_level, {{}, encode_memory(state, "Static", MemoryFormat::kV3)}, {}, {});
  const MemoryCheckpoint after = inspect_memory(*repaired.files.memory).value().state;
  EXPECT_FALSE(after.pods.contains(PodUid("a")));
  EXPECT_TRUE(after.pods.contains(PodUid("b")));
  EXPECT_TRUE(mentions(repaired.done, "a", "memory that none of its containers holds: released"));
  EXPECT_FALSE(mentions(repaired.done, "b", "memory that none of its containers holds: released"));
  EXPECT_TRUE(would_start(pod_level, repaired.files, {}));
}

TEST(Repair, AnotherPolicyKeepsTheAssignments) {
  std::string file = cpu_file("0-1,4-15", R"("a":{"c":"2-3"})");
  file.replace(file.find("static"), 6, "none");
  const auto repaired = repair(node(), {file, {}}, {}, {});
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("a"), "c"})->to_string(), "2-3");
  EXPECT_TRUE(mentions(repaired.done, "cpu_manager_state",
                       "policy 'none' differs from the configured 'static'"));
}

}  // namespace
}  // namespace pinfold::checkpoint
