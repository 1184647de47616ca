#include "pinfold/checkpoint/convert.hpp"

#include <gtest/gtest.h>

#include "notes.hpp"
#include "pinfold/checkpoint/diff.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/memory/count_again.hpp"

namespace pinfold::checkpoint {
namespace {

constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;

/// A pod with six CPUs: one container has two exclusively, two share three, and one belonged to a
/// removed container.
CpuCheckpoint pod_level_cpu() {
  CpuCheckpoint state;
  state.default_set = CpuSet{0, 1};
  state.assignments[PodUid("pod-a")] = {{"alone", {2, 3}}, {"side", {4, 5, 6}}, {"web", {4, 5, 6}}};
  state.pods[PodUid("pod-a")] = CpuSet::range(2, 7);
  return state;
}

/// The pod's memory: 6 GiB of group 0,1; one container has 2 GiB exclusively, two share 4 GiB.
MemoryCheckpoint pod_level_memory() {
  MemoryCheckpoint state;
  const MemoryTable half{8 * kGi, 0, 8 * kGi, 0, 8 * kGi};
  for (const int id : {0, 1}) state.machine_state[id] = {0, {{"memory", half}}, {id}};
  state.assignments[PodUid("pod-a")] = {{"alone", {{{0, 1}, "memory", 2 * kGi}}},
                                        {"side", {{{0, 1}, "memory", 4 * kGi}}},
                                        {"web", {{{0, 1}, "memory", 4 * kGi}}}};
  state.pods[PodUid("pod-a")] = {{{0, 1}, "memory", 6 * kGi}};
  take_blocks(state.machine_state, state.pods[PodUid("pod-a")]);
  return state;
}

TEST(WithoutPodEntries, EveryContainerKeepsItsCpus) {
  const CpuCheckpoint before = pod_level_cpu();
  const auto after = without_pod_entries(before);
  EXPECT_EQ(after.state.assignments, before.assignments);
  EXPECT_TRUE(after.state.pods.empty());
  EXPECT_EQ(after.state.default_set.to_string(), "0-1,7");
  EXPECT_TRUE(mentions(after.lost, "pod-a", "CPUs 2-7 as one reservation"));
  EXPECT_TRUE(mentions(after.lost, "pod-a", "CPU 7 that no container holds"));
  EXPECT_TRUE(mentions(after.lost, "pod-a", "containers side, web share CPUs"));
}

TEST(WithoutPodEntries, SharedMemoryIsCountedOnce) {
  const auto after = without_pod_entries(pod_level_memory());
  const auto& containers = *after.state.assignments.find(PodUid("pod-a"));
  EXPECT_EQ(containers.at("alone")[0].size, 2 * kGi);
  EXPECT_EQ(containers.at("side")[0].size, 4 * kGi);
  EXPECT_EQ(containers.at("web")[0].size, 0U);
  EXPECT_EQ(containers.at("web")[0].numa_affinity, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(after.state.machine_state.at(0).tables.at("memory").reserved, 6 * kGi);
  EXPECT_EQ(after.state.machine_state.at(0).number_of_assignments, 3);
  EXPECT_TRUE(mentions(after.lost, "pod-a/web", "stays on NUMA nodes 0,1, counted as 0 bytes"));
}

TEST(WithoutPodEntries, MemoryThatNoContainerHoldsIsReleased) {
  MemoryCheckpoint state = pod_level_memory();
  state.assignments.erase({PodUid("pod-a"), "alone"});
  state.assignments.erase({PodUid("pod-a"), "side"});
  const auto after = without_pod_entries(state);
  EXPECT_EQ(after.state.machine_state.at(0).tables.at("memory").reserved, 4 * kGi);
  EXPECT_TRUE(mentions(after.lost, "pod-a", "2Gi of memory that no container holds"));
}

TEST(WithoutPodEntries, DoesNotChangeAStateWithoutThem) {
  CpuCheckpoint cpu = pod_level_cpu();
  cpu.pods.clear();
  EXPECT_EQ(without_pod_entries(cpu).state, cpu);
  MemoryCheckpoint memory = pod_level_memory();
  memory.pods.clear();
  EXPECT_EQ(without_pod_entries(memory).state, memory);
  EXPECT_TRUE(without_pod_entries(memory).lost.empty());
}

TEST(Convert, KeepsPodEntriesIfTheFormatHasThem) {
  const KubeletFiles v4 = {encode_cpu(pod_level_cpu(), "static", CpuFormat::kV4),
                           encode_memory(pod_level_memory(), "Static", MemoryFormat::kV3)};
  const auto v3 = convert(v4, {3, 2}, {});
  ASSERT_TRUE(v3) << v3.error().message;
  EXPECT_EQ(v3->files.cpu, encode_cpu(pod_level_cpu(), "static", CpuFormat::kV3));
  EXPECT_EQ(v3->files.memory, encode_memory(pod_level_memory(), "Static", MemoryFormat::kV2));
  EXPECT_TRUE(v3->lost.empty());
  EXPECT_TRUE(mentions(v3->kept, "pod-a/web", "CPUs 4-6"));
  EXPECT_EQ(convert(v3->files, {4, 3}, {})->files, v4);
}

/// Returns the files that kubelet 1.37 writes for these states.
KubeletFiles files_of_137() {
  const Kubelet kubelet{37, true};
  return {write_cpu(pod_level_cpu(), "static", kubelet),
          write_memory(pod_level_memory(), "Static", kubelet)};
}

TEST(Convert, KubeletsThatLosePodEntriesDoNotStartFromTheFilesOf137) {
  // The machine state outside `data` counts the pod's memory, but these kubelets count that of its
  // containers.
  for (const Kubelet& kubelet :
       {Kubelet{35, false}, Kubelet{36, false}, Kubelet{36, true}, Kubelet{37, false}}) {
    const auto reading = read_memory(*files_of_137().memory, kubelet, "Static");
    EXPECT_TRUE(reading.reads()) << to_string(kubelet) << reading.error;
    EXPECT_NE(reading.start_error, "") << to_string(kubelet);
    EXPECT_TRUE(reading.state.pods.empty()) << to_string(kubelet);
    // CPU 7 of the pod belongs to no container.
    const auto cpu = read_cpu(*files_of_137().cpu, kubelet, "static", {});
    EXPECT_EQ(cpu.start_error,
              "current set of available CPUs \"0-7\" doesn't match with CPUs in state \"0-6\"")
        << to_string(kubelet) << cpu.error;
  }
  EXPECT_TRUE(read_memory(*files_of_137().memory, {37, true}, "Static").starts());
  EXPECT_TRUE(read_cpu(*files_of_137().cpu, {37, true}, "static", {}).starts());
}

TEST(Convert, OlderKubeletsStartFromFilesOf137WithoutPodEntries) {
  const auto without = without_pod_entries(pod_level_memory()).state;
  const std::string file = write_memory(without, "Static", {37, true});
  for (const KubeletFormats& known : kubelets()) {
    const auto reading = read_memory(file, known.kubelet, "Static");
    EXPECT_TRUE(reading.starts()) << to_string(known.kubelet) << reading.start_error;
    EXPECT_EQ(reading.state, without) << to_string(known.kubelet);
  }
}

TEST(Convert, EveryKubeletStartsFromFilesForIt) {
  for (const KubeletFormats& known : kubelets()) {
    const Kubelet& kubelet = known.kubelet;
    const auto done = convert_for(kubelet, files_of_137(), {});
    ASSERT_TRUE(done) << to_string(kubelet) << done.error().message;
    const auto cpu = read_cpu(*done->files.cpu, kubelet, "static", {});
    const auto memory = read_memory(*done->files.memory, kubelet, "Static");
    EXPECT_TRUE(cpu.starts()) << to_string(kubelet) << cpu.error;
    EXPECT_TRUE(memory.starts()) << to_string(kubelet) << memory.error << memory.start_error;
    EXPECT_EQ(cpu.state.assignments, pod_level_cpu().assignments) << to_string(kubelet);
    EXPECT_EQ(cpu.state.pods.empty(), !kubelet.pod_level_gate) << to_string(kubelet);
    EXPECT_EQ(memory.state.pods.empty(), !kubelet.pod_level_gate) << to_string(kubelet);
    EXPECT_EQ(done->lost.empty(), kubelet.pod_level_gate) << to_string(kubelet);
    EXPECT_EQ(write_cpu(cpu.state, "static", kubelet), done->files.cpu) << to_string(kubelet);
    EXPECT_EQ(write_memory(memory.state, "Static", kubelet), done->files.memory);
  }
}

TEST(Convert, CpuV1NamesContainersByTheirIds) {
  const std::string v1 =
      R"({"policyName":"static","defaultCpuSet":"0-1,4-7","entries":{"0123456789abcdef":"2-3"},"checksum":2564086301})";
  const ContainerIds ids = {{"0123456789abcdef", {PodUid("pod-a"), "c1"}}};
  const auto v2 = convert({v1, {}}, {2, 1}, ids);
  ASSERT_TRUE(v2) << v2.error().message;
  EXPECT_TRUE(mentions(v2->kept, "pod-a/c1", "CPUs 2-3"));
  EXPECT_EQ(v2->files.memory, std::nullopt);
  EXPECT_EQ(convert(v2->files, {1, 1}, ids)->files.cpu, v1);
  EXPECT_EQ(convert({v1, {}}, {2, 1}, {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(convert(v2->files, {1, 1}, {}).error().message,
            "container 'pod-a/c1': CPU V1 needs its runtime id");
}

TEST(Convert, NamesTheUnreadableFile) {
  EXPECT_EQ(convert({"{", {}}, {2, 1}, {}).error().message,
            "'cpu_manager_state': unexpected end of JSON input");
  EXPECT_EQ(parse_formats("cpu-v5").error().code, ErrorCode::kInvalidArgument);
  const std::pair<const char*, Formats> formats[] = {
      {"cpu-v1", {1, 1}},    {"cpu-v2", {2, 1}},    {"cpu-v3", {3, 2}},    {"cpu-v4", {4, 3}},
      {"memory-v1", {2, 1}}, {"memory-v2", {3, 2}}, {"memory-v3", {4, 3}},
  };
  for (const auto& [name, expected] : formats) EXPECT_EQ(parse_formats(name), expected) << name;
}

TEST(Diff, NamesEveryObjectThatDiffers) {
  CpuCheckpoint after = pod_level_cpu();
  after.default_set = CpuSet{0, 1, 2, 3};
  after.assignments[PodUid("pod-a")].erase("alone");
  after.pods.clear();
  EXPECT_EQ(diff(pod_level_cpu(), after),
            (std::vector<Difference>{
                {"shared pool", "0-1", "0-3"}, {"pod-a/alone", "2-3", ""}, {"pod-a", "2-7", ""}}));
  EXPECT_TRUE(diff(pod_level_cpu(), pod_level_cpu()).empty());
}

TEST(Diff, NamesNodesAndBlocks) {
  MemoryCheckpoint after = pod_level_memory();
  after.machine_state.at(1).cells = {1};
  after.assignments[{PodUid("pod-a"), "web"}].clear();
  EXPECT_EQ(
      diff(pod_level_memory(), after),
      (std::vector<Difference>{{"NUMA node 1", "1 assignment, group 0,1", "1 assignment, group 1"},
                               {"pod-a/web", "memory 4Gi on 0,1", "no memory"}}));
}

TEST(Convert, HasTheBaselinesThatAreKnownElsewhere) {
  CpuCheckpoint state;
  state.default_set = CpuSet::range(0, 1);
  state.assignments[{PodUid("a"), "c"}] = CpuSet::range(2, 5);
  state.assignments[{PodUid("b"), "c"}] = CpuSet::range(6, 7);
  const KubeletFiles older{encode_cpu(state, "static", CpuFormat::kV2), {}};
  KnownBaselines known;
  known.baselines[{PodUid("a"), "c"}] = CpuSet::range(2, 3);
  known.baselines[{PodUid("b"), "c"}] = CpuSet::range(5, 6);  // not among its CPUs
  const auto baselines_for = [&](int minor) {
    const auto converted = convert_for({minor, false}, older, {}, known);
    return inspect_cpu(*converted.value().files.cpu).value().state.baselines;
  };
  ContainerMap<CpuSet> expected;
  EXPECT_EQ(baselines_for(36), expected);
  expected[{PodUid("a"), "c"}] = CpuSet::range(2, 3);
  EXPECT_EQ(baselines_for(38), expected);
  known.is_needed = true;
  expected[{PodUid("b"), "c"}] = CpuSet::range(6, 7);
  EXPECT_EQ(baselines_for(38), expected);
}

}  // namespace
}  // namespace pinfold::checkpoint
