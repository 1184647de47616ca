#include "pinfold/checkpoint/kubelet_files.hpp"

#include <gtest/gtest.h>

namespace pinfold::checkpoint {
namespace {

CpuSet cpus(std::string_view list) { return CpuSet::parse(list).value(); }

CpuCheckpoint sample_cpu() {
  CpuCheckpoint state;
  state.default_set = cpus("0-1,6-7");
  state.assignments[PodUid("pod-a")] = {{"c1", cpus("2")}, {"c2", cpus("3")}};
  state.assignments[PodUid("pod-b")] = {{"c1", cpus("4-5")}};
  return state;
}

CpuCheckpoint sample_pod_level_cpu() {
  CpuCheckpoint state;
  state.default_set = cpus("0-1,6-7");
  state.assignments[PodUid("pod-a")] = {{"c1", cpus("2-3")}, {"c2", cpus("4-5")}};
  state.pods[PodUid("pod-a")] = cpus("2-5");
  return state;
}

MemoryCheckpoint sample_memory() {
  constexpr std::uint64_t kGibi = std::uint64_t{1} << 30U;
  MemoryCheckpoint state;
  state.machine_state[0] = {2, {{"memory", {8 * kGibi, kGibi, 7 * kGibi, 7 * kGibi, 0}}}, {0, 1}};
  state.machine_state[1] = {2, {{"memory", {8 * kGibi, 0, 8 * kGibi, kGibi, 7 * kGibi}}}, {0, 1}};
  for (auto& [id, node] : state.machine_state) node.tables["hugepages-2Mi"] = {};
  state.assignments[{PodUid("pod-a"), "c1"}] = {{{0, 1}, "memory", 8 * kGibi}};
  return state;
}

constexpr std::string_view kMemoryHead =
    R"({"policyName":"Static","machineState":{"0":{"numberOfAssignments":2,"memoryMap":{"hugepages-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":8589934592,"systemReserved":1073741824,"allocatable":7516192768,"reserved":7516192768,"free":0}},"cells":[0,1]},"1":{"numberOfAssignments":2,"memoryMap":{"hugepages-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":8589934592,"systemReserved":0,"allocatable":8589934592,"reserved":1073741824,"free":7516192768}},"cells":[0,1]}},"entries":{"pod-a":{"c1":[{"numaAffinity":[0,1],"type":"memory","size":8589934592}]}},)";

/// The kubelet's error for a CPU file, without its fixed prefix and suffix; "" without an error.
std::string cpu_error(std::string_view bytes, bool gate = false, const ContainerIds& ids = {}) {
  const auto state = restore_cpu(bytes, "static", gate, ids);
  if (state) return "";
  std::string text = state.error().message;
  const std::string head = "could not restore state from checkpoint: ";
  const std::string tail =
      ", please drain this node and delete the CPU manager checkpoint file "
      "\"/var/lib/kubelet/cpu_manager_state\" before restarting Kubelet";
  EXPECT_TRUE(text.starts_with(head) && text.ends_with(tail)) << text;
  return text.substr(head.size(), text.size() - head.size() - tail.size());
}

CpuCheckpoint cpu_state(std::string_view bytes, bool gate = false, const ContainerIds& ids = {}) {
  auto state = restore_cpu(bytes, "static", gate, ids);
  EXPECT_TRUE(state.has_value()) << bytes << "\n" << (state ? "" : state.error().message);
  return state && *state ? **state : CpuCheckpoint();
}

TEST(CpuFile, WritesTheBytesOfTheKubelet) {
  CpuCheckpoint empty;
  empty.default_set = cpus("0-7");
  EXPECT_EQ(
      encode_cpu(sample_cpu(), "static", false),
      R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"pod-a":{"c1":"2","c2":"3"},"pod-b":{"c1":"4-5"}},"checksum":3623408339})");
  EXPECT_EQ(encode_cpu(empty, "static", false),
            R"({"policyName":"static","defaultCpuSet":"0-7","checksum":14413152})");
  EXPECT_EQ(
      encode_cpu(sample_pod_level_cpu(), "static", true),
      R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"pod-a":{"c1":"2-3","c2":"4-5"}},"podEntries":{"pod-a":{"cpuSet":"2-5"}},"checksum":3837595685})");
  EXPECT_EQ(encode_cpu(CpuCheckpoint(), "none", true),
            R"({"policyName":"none","defaultCpuSet":"","checksum":642675224})");
}

TEST(MemoryFile, WritesTheBytesOfTheKubelet) {
  EXPECT_EQ(encode_memory(sample_memory(), "Static", false),
            std::string(kMemoryHead) + R"("checksum":2127836931})");
  MemoryCheckpoint pod_level = sample_memory();
  pod_level.pods[PodUid("pod-a")] = pod_level.assignments[{PodUid("pod-a"), "c1"}];
  EXPECT_EQ(
      encode_memory(pod_level, "Static", true),
      std::string(kMemoryHead) +
          R"("podEntries":{"pod-a":{"memoryBlocks":[{"numaAffinity":[0,1],"type":"memory","size":8589934592}]}},"checksum":1451537373})");
  EXPECT_EQ(encode_memory(MemoryCheckpoint(), "None", true),
            R"({"policyName":"None","machineState":{},"checksum":512582496})");
}

TEST(MemoryFile, SortsNumaNodesAsTexts) {
  MemoryCheckpoint state;
  state.machine_state[2] = {};
  state.machine_state[10] = {};
  const std::string bytes = encode_memory(state, "Static", false);
  EXPECT_LT(bytes.find("\"10\":"), bytes.find("\"2\":")) << bytes;
}

TEST(CpuFile, ReadsWhatItWrote) {
  EXPECT_EQ(cpu_state(encode_cpu(sample_cpu(), "static", false), false), sample_cpu());
  const CpuCheckpoint pods = sample_pod_level_cpu();
  EXPECT_EQ(cpu_state(encode_cpu(pods, "static", true), true), pods);
}

TEST(MemoryFile, ReadsWhatItWrote) {
  const auto state =
      restore_memory(encode_memory(sample_memory(), "Static", false), "Static", false);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(**state, sample_memory());
}

TEST(CpuFile, OmitsPodEntriesWithTheGateOff) {
  CpuCheckpoint state = sample_pod_level_cpu();
  const std::string bytes = encode_cpu(state, "static", false);
  EXPECT_EQ(bytes.find("podEntries"), std::string::npos) << bytes;
  state.pods.clear();
  EXPECT_EQ(cpu_state(bytes), state);
}

TEST(CpuFile, IsAbsent) {
  const auto state = restore_cpu(std::nullopt, "static", true, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, std::nullopt);
}

TEST(CpuFile, MigratesContainerIds) {
  constexpr std::string_view kV1 =
      R"({"policyName":"static","defaultCpuSet":"0-1,4-7","entries":{"0123456789abcdef":"2-3"},"checksum":2564086301})";
  CpuCheckpoint expected;
  expected.default_set = cpus("0-1,4-7");
  expected.assignments[{PodUid("pod-a"), "c1"}] = cpus("2-3");
  for (const bool gate : {false, true}) {
    EXPECT_EQ(cpu_state(kV1, gate, {{"0123456789abcdef", {PodUid("pod-a"), "c1"}}}), expected);
    EXPECT_EQ(cpu_error(kV1, gate),
              "failed to migrate checkpoint from v1 to v2: containerID '0123456789abcdef' not "
              "found in initial containers list");
  }
}

TEST(CpuFile, AcceptsTheChecksumOverTheSuffixedTypeOnlyWithTheGateOff) {
  // FNV-1a of "(*state.CPUManagerCheckpointV2){PolicyName:(string)static ..." for the empty file.
  constexpr std::string_view kFile =
      R"({"policyName":"static","defaultCpuSet":"0-7","checksum":1506833380})";
  EXPECT_EQ(cpu_error(kFile, true), "checkpoint is corrupted");
  EXPECT_EQ(cpu_error(kFile, false), "");
}

TEST(CpuFile, KeepsPodEntriesOfAZeroChecksumOnlyIfTheGateIsOn) {
  constexpr std::string_view kFile =
      R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"pod-a":{"c1":"2-5"}},"podEntries":{"pod-a":{"cpuSet":"2-5"}},"checksum":0})";
  for (const bool gate : {false, true}) {
    const CpuCheckpoint state = cpu_state(kFile, gate);
    EXPECT_EQ(state.assignments.by_pod().size(), 1U) << gate;
    EXPECT_EQ(state.pods.size(), gate ? 1U : 0U) << gate;
  }
}

TEST(CpuFile, MatchesKeysWithoutCaseAndSkipsUnknownOnes) {
  constexpr std::string_view kFile =
      " {\t\"POLICYNAME\" : \"static\",\r\n\"x\":[{\"a\":[\"]\\\"\"]},1.5e3,true,null],"
      "\"DefaultCpu\\u017fet\":\"0\",\"defaultcpuset\":\"0-7\",\"checksum\":14413152}\n";
  EXPECT_EQ(cpu_state(kFile).default_set, cpus("0-7"));
}

TEST(CpuFile, ReadsNullEntriesAsNoneButHashesThemAsNil) {
  EXPECT_EQ(
      cpu_error(
          R"({"policyName":"static","defaultCpuSet":"0-7","entries":null,"checksum":14413152})"),
      "checkpoint is corrupted");
  EXPECT_TRUE(cpu_state(R"({"policyName":"static","defaultCpuSet":"0-7","entries":null})")
                  .assignments.empty());
}

TEST(CpuFile, ReportsWhyItCannotBeRead) {
  struct Case {
    std::string_view name;
    std::string_view bytes;
    std::string_view error;
  };
  constexpr Case kCases[] = {
      {"empty", "", "unexpected end of JSON input"},
      {"truncated", R"({"policyName":"sta)", "unexpected end of JSON input"},
      {"two values", R"({}{})", "invalid character '{' after top-level value"},
      {"checksum", R"({"policyName":"static","checksum":1})", "checkpoint is corrupted"},
      {"checksum of V2 with entries",
       R"({"policyName":"static","entries":{"a":{"b":"1"}},"checksum":1})",
       "json: cannot unmarshal object into Go struct field CPUManagerCheckpointV1.entries of type "
       "string"},
      {"string", R"("x")",
       "json: cannot unmarshal string into Go value of type state.CPUManagerCheckpointV1"},
      {"negative checksum", R"({"checksum":-1})",
       "json: cannot unmarshal number -1 into Go struct field CPUManagerCheckpointV1.checksum of "
       "type checksum.Checksum"},
      {"policy", R"({"policyName":"none"})",
       R"(configured policy "static" differs from state checkpoint policy "none")"},
      {"no object fields", "null",
       R"(configured policy "static" differs from state checkpoint policy "")"},
      {"default set", R"({"policyName":"static","defaultCpuSet":"0-3 "})",
       R"x(could not parse default cpu set "0-3 ": strconv.Atoi: parsing "3 ": invalid syntax)x"},
      {"range", R"({"policyName":"static","entries":{"p":{"c":"5-4"}}})",
       R"x(could not parse cpuset "5-4" for container "c" in pod "p": invalid range "5-4" (5 > 4))x"},
  };
  for (const Case& c : kCases) EXPECT_EQ(cpu_error(c.bytes), c.error) << c.name << ": " << c.bytes;
}

TEST(MemoryFile, ReportsWhyItCannotBeRead) {
  struct Case {
    std::string_view bytes;
    std::string_view error;
  };
  constexpr Case kCases[] = {
      {R"({"machineState":{"0":{"numberOfAssignments":"1"}}})",
       "json: cannot unmarshal string into Go struct field "
       "NUMANodeState.machineState.numberOfAssignments of type int"},
      {R"({"machineState":{"a":{}}})",
       "json: cannot unmarshal number a into Go struct field "
       "MemoryManagerCheckpointV1.machineState "
       "of type int"},
      {R"({"machineState":{"0":{"memoryMap":{"memory":{"free":1.5}}}}})",
       "json: cannot unmarshal number 1.5 into Go struct field "
       "MemoryTable.machineState.memoryMap.free of type uint64"},
      {R"({"entries":{"p":{"c":{}}}})",
       "json: cannot unmarshal object into Go struct field MemoryManagerCheckpointV1.entries of "
       "type []state.Block"},
      {R"({"policyName":"None"})",
       R"([memorymanager] configured policy "Static" differs from state checkpoint policy "None")"},
  };
  for (const Case& c : kCases) {
    const auto state = restore_memory(c.bytes, "Static", true, "/tmp/k/");
    ASSERT_FALSE(state) << c.bytes;
    EXPECT_EQ(state.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(state.error().message,
              "could not restore state from checkpoint: " + std::string(c.error) +
                  ", please drain this node and delete the memory manager checkpoint file "
                  "\"/tmp/k/memory_manager_state\" before restarting Kubelet")
        << c.bytes;
  }
}

TEST(MemoryFile, ReadsNegativeNumaIds) {
  const auto state =
      restore_memory(R"({"policyName":"Static","machineState":{"-1":{"cells":[-1]}},"checksum":0})",
                     "Static", false);
  ASSERT_TRUE(state) << state.error().message;
  ASSERT_TRUE((*state)->machine_state.contains(-1));
  EXPECT_EQ((*state)->machine_state.at(-1).cells, std::vector<std::int32_t>{-1});
}

TEST(MemoryFile, OfTheFirstVersionHasNoPodEntries) {
  std::string file = encode_memory(sample_memory(), "Static", MemoryFormat::kV1);
  file.insert(file.find("\"checksum\""), "\"podEntries\":7,");
  const auto state = restore_memory(file, "Static", false);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(**state, sample_memory());
}

TEST(MemoryFile, MergesMapsOfARepeatedField) {
  // Maps of a repeated field merge; a repeated map entry replaces the first.
  constexpr std::string_view kFile =
      R"({"policyName":"Static","machineState":{"0":{"cells":[0],"numberOfAssignments":1}},)"
      R"("machineState":{"1":{"cells":[1]},"0":{"cells":[5,7],"cells":[6]}}})";
  const auto state = restore_memory(kFile, "Static", false);
  ASSERT_TRUE(state) << state.error().message;
  const auto& nodes = (*state)->machine_state;
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes.at(0), (NodeMemory{0, {}, {6}}));
  EXPECT_EQ(nodes.at(1), (NodeMemory{0, {}, {1}}));
}

}  // namespace
}  // namespace pinfold::checkpoint
