#include "pinfold/checkpoint/repair.hpp"

#include <gtest/gtest.h>

#include "node_fixture.hpp"
#include "notes.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "salvage.hpp"

namespace pinfold::checkpoint {
namespace {

/// Two NUMA nodes of 8 CPUs and 16 GiB; CPU 0 and 1 GiB of node 0 are reserved.
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
      {"###", ""},
      {"", ""},
      {"12", ""},
  };
  for (const auto& [torn, closed] : cases) EXPECT_EQ(close_json(torn), closed) << torn;
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
            (std::vector<Note>{{"a/c", "CPUs 0 are reserved for the system"},
                               {"b/c", "CPUs 20 are not on this machine"},
                               {"b/c", "CPUs 2 also belong to another pod, which keeps them"},
                               {"b/d", "CPUs 30 are not on this machine"}}));
}

TEST(Repair, ThePodWithTheFewestCpusLosesThemForASharedPool) {
  Config config = test::aligning_config("best-effort");
  config.profile = Profile::kKubelet136;  // which does not start without a shared pool
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
                                "CPUs 8-10: a kubelet does not start without a shared pool, "
                                "and no pod has fewer CPUs"}}));
  EXPECT_TRUE(would_start(strict, repaired.formats, repaired.files, {}));
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
  EXPECT_EQ(repaired.lost, (std::vector<Note>{{"a/c", "CPUs 20 are not on this machine"}}));
  EXPECT_FALSE(repair(pod_level, repaired.files, {}, {}).changed());
}

TEST(Repair, ATornFileIsReadUpToItsLastCompleteValue) {
  std::string torn = cpu_file("0-1,6-15", R"("a":{"c":"2-3"},"b":{"c":"4-5"})");
  torn.resize(torn.find("4-5"));
  const auto repaired = repair(node(), {torn, {}}, {}, {});
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("a"), "c"})->to_string(), "2-3");
  EXPECT_EQ(cpu_of(repaired).default_set.to_string(), "0-1,4-15");
  EXPECT_TRUE(mentions(repaired.done, "cpu_manager_state", "is torn (unexpected end"));
}

TEST(Repair, AValidOrphanReplacesAnUnreadableFile) {
  const std::string orphan = cpu_file("0-1,4-15", R"("a":{"c":"2-3"})");
  const auto repaired = repair(node(), {"", {}}, {}, {{".12", "junk"}, {".123", orphan}});
  EXPECT_EQ(cpu_of(repaired).assignments.find({PodUid("a"), "c"})->to_string(), "2-3");
  EXPECT_TRUE(
      mentions(repaired.done, "cpu_manager_state", "replaced by the sound temporary file '.123'"));
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
  EXPECT_TRUE(would_start(node(), repaired.formats, repaired.files, {}));
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
