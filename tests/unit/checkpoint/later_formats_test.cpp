// CPU V4 and memory V3, and how the kubelets of different versions read them.

#include <gtest/gtest.h>

#include <algorithm>

#include "pinfold/checkpoint/convert.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "salvage.hpp"

namespace pinfold::checkpoint {
namespace {

constexpr std::string_view kCpuV4 =
    R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"pod-a":{"c1":"2-3","c2":"4-5"}},"checksum":3548094566,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,6-7\",\"entries\":{\"pod-a\":{\"c1\":\"2-3\",\"c2\":\"4-5\"}},\"podEntries\":{\"pod-a\":{\"cpuSet\":\"2-5\"}}}","dataChecksum":3285619839})";
/// An earlier Pinfold format: pod entries also outside `data`, and the checksum 0. No kubelet
/// writes it.
constexpr std::string_view kEarlierCpuV4 =
    R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"pod-a":{"c1":"2-3","c2":"4-5"}},"podEntries":{"pod-a":{"cpuSet":"2-5"}},"checksum":0,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,6-7\",\"entries\":{\"pod-a\":{\"c1\":\"2-3\",\"c2\":\"4-5\"}},\"podEntries\":{\"pod-a\":{\"cpuSet\":\"2-5\"}}}","dataChecksum":3285619839})";
constexpr std::string_view kMemoryV3 =
    R"({"policyName":"None","machineState":{},"checksum":4236770233,"data":"{\"policyName\":\"None\",\"machineState\":{},\"podEntries\":{\"pod-a\":{}}}","dataChecksum":3096739904})";

CpuCheckpoint cpu_sample() {
  CpuCheckpoint state;
  state.default_set = CpuSet{0, 1, 6, 7};
  state.assignments[PodUid("pod-a")] = {{"c1", CpuSet{2, 3}}, {"c2", CpuSet{4, 5}}};
  state.pods[PodUid("pod-a")] = CpuSet{2, 3, 4, 5};
  return state;
}

MemoryCheckpoint memory_sample() {
  MemoryCheckpoint state;
  state.pods[PodUid("pod-a")] = {};
  return state;
}

TEST(CpuV4, HoldsItsFieldsTwice) {
  EXPECT_EQ(encode_cpu(cpu_sample(), "static", CpuFormat::kV4), kCpuV4);
}

// The form of the value is known from the sources of 1.37. Its name is likely; no kubelet that
// writes it has been observed.
TEST(CpuV4, HasTheBaselinesOfResizes) {
  CpuCheckpoint state = cpu_sample();
  state.pods.clear();
  state.baselines[PodUid("pod-a")] = {{"c1", CpuSet{2}}};
  const std::string file = encode_cpu(state, "static", CpuFormat::kV4);
  EXPECT_NE(file.find(R"(,\"baselines\":{\"pod-a\":{\"c1\":{\"baseline\":\"2\"}}}}")"),
            std::string::npos)
      << file;
  EXPECT_TRUE(unknown_keys(file).names().empty());
  const auto restored = restore_cpu(file, "static", Kubelet{38, false}, {});
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(**restored, state);
  const auto same = convert_for({37, false}, {file, {}}, {});
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->files.cpu, file);
  const auto older = convert_for({36, false}, {file, {}}, {});
  ASSERT_TRUE(older) << older.error().message;
  ASSERT_EQ(older->lost.size(), 1U);
  EXPECT_EQ(older->lost[0].object, "pod-a/c1");
  EXPECT_NE(older->lost[0].text.find("baseline 2"), std::string::npos);
}

TEST(CpuV4, CarriesBaselinesOfAnotherFormThrough) {
  for (const char* const value : {R"({"pod-a":{"c1":"2"}})", R"({"pod-a":{"c1":{"baseline":"x"}}})",
                                  "[]", R"({"pod-a":{"c1":{"baseline":""}}})"}) {
    const std::string with =
        with_keys(std::string(kCpuV4), UnknownKeys{{}, {{"baselines", value}}});
    const auto inspected = inspect_cpu(with);
    ASSERT_TRUE(inspected) << inspected.error().message;
    EXPECT_TRUE(inspected->state.baselines.empty());
    EXPECT_EQ(unknown_keys(with).names(), std::vector<std::string>{"baselines (in data)"});
    const auto same = convert_for({37, true}, {with, {}}, {});
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_EQ(same->files.cpu, with) << value;
  }
}

TEST(UnknownKeys, AreNamedAndCarriedThrough) {
  EXPECT_TRUE(unknown_keys(kCpuV4).names().empty());
  EXPECT_TRUE(unknown_keys(kMemoryV3).names().empty());
  EXPECT_TRUE(unknown_keys("{").names().empty());
  EXPECT_TRUE(unknown_keys("null").names().empty());
  const UnknownKeys keys{{{"more", "[1,2]"}}, {{"futures", R"({"pod-a":{"c1":"2"}})"}}};
  const std::string with = with_keys(std::string(kCpuV4), keys);
  EXPECT_EQ(unknown_keys(with).names(), (std::vector<std::string>{"more", "futures (in data)"}));
  EXPECT_EQ(with_keys(std::string(kCpuV4), unknown_keys(with)), with);
  EXPECT_EQ(with_keys(with, {}), with);
  const auto inspected = inspect_cpu(with);
  ASSERT_TRUE(inspected) << inspected.error().message;
  EXPECT_EQ(inspected->version, 4);
  EXPECT_EQ(inspected->state, cpu_sample());
  const auto same = convert_for({37, true}, {with, {}}, {});
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(unknown_keys(*same->files.cpu).names(), unknown_keys(with).names());
  EXPECT_TRUE(same->lost.empty());
  const auto older = convert_for({36, true}, {with, {}}, {});
  ASSERT_TRUE(older) << older.error().message;
  ASSERT_EQ(older->lost.size(), 2U);
  EXPECT_EQ(older->lost[0].object, "key more");
  EXPECT_EQ(older->lost[1].object, "key futures (in data)");
}

TEST(Reading, OfAFileWithoutAPolicyDoesNotStart) {
  for (const char* const text : {"{}", "null", R"({"policyName":"dynamic"})"}) {
    const auto cpu = read_cpu(text, {36, false}, std::nullopt, {});
    EXPECT_EQ(cpu.error, "") << text;
    EXPECT_FALSE(cpu.starts()) << text;
    EXPECT_FALSE(read_memory(text, {36, false}, std::nullopt).starts()) << text;
  }
}

/// Checks that a key inside an entry is named, carried through to the same format, and named as
/// lost in an older one.
void expect_carried(const KubeletFiles& with, const Kubelet& same, const Kubelet& older,
                    const std::string& name) {
  EXPECT_EQ(unknown_keys(with.cpu ? *with.cpu : *with.memory).names(),
            std::vector<std::string>{name});
  const auto kept = convert_for(same, with, {});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->files, with);
  EXPECT_TRUE(kept->lost.empty());
  const auto lost = convert_for(older, with, {});
  ASSERT_TRUE(lost) << lost.error().message;
  EXPECT_TRUE(std::any_of(lost->lost.begin(), lost->lost.end(), [&](const Note& note) {
    return note.object == "key " + name;
  })) << name;
}

TEST(UnknownKeys, InsideEntriesAreCarriedThrough) {
  CpuCheckpoint state = cpu_sample();
  state.baselines[PodUid("pod-a")] = {{"c1", CpuSet{2}}};
  const UnknownKeys in_baseline{{}, {}, {{{"baselines", "pod-a", "c1"}, {{"future", "1"}}}}};
  expect_carried({with_keys(encode_cpu(state, "static", CpuFormat::kV4), in_baseline), {}},
                 {37, true}, {36, true}, "future (in baselines)");
  const std::string pod = cpu_sample().pods.begin()->first.value;
  const UnknownKeys in_pod{{}, {}, {{{"podEntries", pod}, {{"since", "[1,{}]"}}}}};
  expect_carried({with_keys(std::string(kCpuV4), in_pod), {}}, {37, true}, {36, true},
                 "since (in podEntries)");
  expect_carried({with_keys(encode_cpu(cpu_sample(), "static", CpuFormat::kV3), in_pod), {}},
                 {36, true}, {36, false}, "since (in podEntries)");
  const UnknownKeys in_blocks{{}, {}, {{{"podEntries", "pod-a"}, {{"swap", "1"}}}}};
  expect_carried({{}, with_keys(std::string(kMemoryV3), in_blocks)}, {37, true}, {36, true},
                 "swap (in podEntries)");
  MemoryCheckpoint memory = memory_sample();
  memory.machine_state[0].tables["memory"] = {};
  const UnknownKeys in_table{
      {}, {}, {{{"machineState", "0", "memoryMap", "memory"}, {{"swap", "1"}}}}};
  expect_carried({{}, with_keys(encode_memory(memory, "Static", MemoryFormat::kV3), in_table)},
                 {37, true}, {36, true}, "swap (in machineState)");
}

TEST(UnknownKeys, OfEntriesThatAreGoneAreNotAdded) {
  const UnknownKeys keys{{}, {}, {{{"podEntries", "none"}, {{"since", "1"}}}}};
  EXPECT_EQ(with_keys(std::string(kCpuV4), keys), kCpuV4);
}

TEST(UnknownKeys, AreAddedOnce) {
  const UnknownKeys keys{{{"more", "1"}}, {{"futures", "{}"}}};
  const std::string with = with_keys(std::string(kCpuV4), keys);
  EXPECT_EQ(with_keys(with, keys), with);
}

TEST(WrongSums, AreTheErrorIfNothingElseIsWrong) {
  constexpr std::string_view kFile =
      R"({"policyName":"static","defaultCpuSet":"0,2-3","entries":{"pod-a":{"c":"1"}},"checksum":1})";
  const auto checked = inspect_cpu(kFile);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message.substr(0, 52),
            "wrong checksum: 1 in the file, 1238616267 computed, ");
  const auto unchecked = inspect_cpu_unchecked(kFile);
  ASSERT_TRUE(unchecked) << unchecked.error().message;
  EXPECT_EQ(unchecked->version, 2);
  EXPECT_EQ(unchecked->policy, "static");
  EXPECT_EQ(unchecked->state.default_set.to_string(), "0,2-3");
  EXPECT_EQ(inspect_cpu_unchecked("{").error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(inspect_cpu_unchecked(R"({"defaultCpuSet":"x"})"));
  const auto memory = inspect_memory_unchecked(R"({"policyName":"None","checksum":5})");
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ(memory->version, 1);
}

TEST(MemoryV3, HoldsItsFieldsTwice) {
  EXPECT_EQ(encode_memory(memory_sample(), "None", MemoryFormat::kV3), kMemoryV3);
}

TEST(CpuV4, IsReadWithItsPodEntriesIfTheGateIsOn) {
  CpuCheckpoint state = cpu_sample();
  EXPECT_EQ(*restore_cpu(kCpuV4, "static", Kubelet{37, true}, {}), state);
  state.pods.clear();
  EXPECT_EQ(*restore_cpu(kCpuV4, "static", Kubelet{37, false}, {}), state);
}

TEST(MemoryV3, IsReadWithItsPodEntriesIfTheGateIsOn) {
  EXPECT_EQ(*restore_memory(kMemoryV3, "None", Kubelet{37, true}), memory_sample());
  EXPECT_EQ(*restore_memory(kMemoryV3, "None", Kubelet{37, false}), MemoryCheckpoint());
}

TEST(CpuV4, LosesItsPodEntriesToAnOlderKubelet) {
  CpuCheckpoint state = cpu_sample();
  state.pods.clear();
  for (const Kubelet& kubelet : {Kubelet{35, false}, Kubelet{36, false}, Kubelet{36, true}}) {
    EXPECT_EQ(*restore_cpu(kCpuV4, "static", kubelet, {}), state) << to_string(kubelet);
  }
}

TEST(CpuV4, OfAnEarlierPinfoldKeepsItsState) {
  EXPECT_EQ(*restore_cpu(kEarlierCpuV4, "static", Kubelet{37, true}, {}), cpu_sample());
  EXPECT_EQ(*restore_cpu(kEarlierCpuV4, "static", Kubelet{36, true}, {}), cpu_sample());
  const auto inspected = inspect_cpu(kEarlierCpuV4);
  ASSERT_TRUE(inspected) << inspected.error().message;
  EXPECT_EQ(inspected->version, 4);
  EXPECT_EQ(inspected->state, cpu_sample());
  EXPECT_EQ(encode_cpu(inspected->state, "static", CpuFormat::kV4), kCpuV4);
  // Without its `data`, the pod entries outside remain.
  std::string damaged(kEarlierCpuV4);
  damaged.replace(damaged.find("\"data\":\"{") + 8, 1, "(");
  EXPECT_EQ(salvage_cpu(damaged, {}).state, cpu_sample());
}

TEST(MemoryV3, IsReadByAnOlderKubeletWithoutPodEntries) {
  for (const bool gate : {false, true}) {
    EXPECT_EQ(*restore_memory(kMemoryV3, "None", gate), MemoryCheckpoint()) << gate;
  }
}

TEST(CpuV4, KeepsContainersWhenTheKubeletIsDowngraded) {
  const CpuCheckpoint all = cpu_sample();
  const auto first =
      restore_cpu(encode_cpu(all, "static", CpuFormat::kV3), "static", Kubelet{37, true}, {});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(**first, all);
  const auto down = restore_cpu(encode_cpu(**first, "static", CpuFormat::kV4), "static", true, {});
  ASSERT_TRUE(down) << down.error().message;
  EXPECT_EQ((**down).assignments, all.assignments);
  EXPECT_TRUE((**down).pods.empty());
}

TEST(CpuV4, ReadsV3AndV2ButNotV1) {
  CpuCheckpoint containers = cpu_sample();
  containers.pods.clear();
  for (const bool gate : {false, true}) {
    EXPECT_EQ(*restore_cpu(encode_cpu(containers, "static", CpuFormat::kV2), "static",
                           Kubelet{37, gate}, {}),
              containers);
    EXPECT_EQ(*restore_cpu(encode_cpu(cpu_sample(), "static", CpuFormat::kV3), "static",
                           Kubelet{37, false}, {}),
              containers);
  }
  EXPECT_FALSE(restore_cpu(
      R"({"policyName":"static","defaultCpuSet":"0-1,4-7","entries":{"0123456789abcdef":"2-3"},"checksum":2564086301})",
      "static", Kubelet{37, false}, {}));
}

TEST(MemoryV3, ReadsV2AndV1) {
  for (const MemoryFormat format : {MemoryFormat::kV1, MemoryFormat::kV2}) {
    EXPECT_EQ(*restore_memory(encode_memory({}, "None", format), "None", Kubelet{37, true}),
              MemoryCheckpoint());
  }
}

TEST(CpuV4, DoesNotFallBackFromADamagedText) {
  const auto message = [](std::string from, std::string_view to) {
    std::string file(kCpuV4);
    file.replace(file.rfind(from), from.size(), to);
    const auto state = restore_cpu(file, "static", Kubelet{37, true}, {});
    return state ? "" : state.error().message.substr(41);
  };
  EXPECT_TRUE(
      message("2-5", "2-4")
          .starts_with("could not load v4 checkpoint: checkpoint is corrupted, please drain"));
  EXPECT_TRUE(
      message("{\\\"cpuSet", "{cpuSet")
          .starts_with("could not load v4 checkpoint: failed to deserialize cpu manager checkpoint "
                       "data: invalid "
                       "character 'c' looking for beginning of object key string, please drain"));
}

/// Replaces the last occurrence of `from`, which is in the file's `data`.
std::string with_wrong_data(std::string file, std::string_view from, std::string_view to) {
  return file.replace(file.rfind(from), from.size(), to);
}

TEST(Salvage, TakesContainersFromOutsideIfDataIsDamaged) {
  const std::string v4(kCpuV4);
  EXPECT_EQ(salvage_cpu(with_wrong_data(v4, "4-5", "4"), {}).state, cpu_sample());
  EXPECT_EQ(salvage_cpu(with_wrong_data(v4, "\\\"}}}", "\\\"}"), {}).state, cpu_sample());
  CpuCheckpoint containers = cpu_sample();
  containers.pods.clear();
  EXPECT_EQ(salvage_cpu(with_wrong_data(v4, "podEntries", "x"), {}).state, containers);
  // Neither checksum is right.
  const std::string neither = with_wrong_data(v4, "3548094566", "1");
  CpuCheckpoint fewer = cpu_sample();
  fewer.assignments[{PodUid("pod-a"), "c2"}] = CpuSet{4};
  EXPECT_EQ(salvage_cpu(with_wrong_data(neither, "4-5", "4"), {}).state, fewer);
}

TEST(Salvage, TakesMemoryOfContainersFromOutsideIfDataIsDamaged) {
  MemoryCheckpoint state;
  const std::vector<MemoryBlock> blocks = {{{0}, "memory", 25}};
  state.assignments[{PodUid("pod-a"), "c"}] = blocks;
  state.pods[PodUid("pod-a")] = {{{0}, "memory", 50}};
  const std::string v3 = encode_memory(state, "None", MemoryFormat::kV3);
  EXPECT_EQ(salvage_memory(with_wrong_data(v3, ":25}", ":24}")).state, state);
  EXPECT_EQ(salvage_memory(with_wrong_data(v3, "}]}}}", "}")).state, state);
}

/// Returns the kubelet's reason in the message of a failed reading.
template <class State>
std::string reason_of(const Reading<State>& reading) {
  constexpr std::string_view kHead = "could not restore state from checkpoint: ";
  const std::size_t end = reading.error.find(", please drain this node");
  return reading.reads() ? "" : reading.error.substr(kHead.size(), end - kHead.size());
}

TEST(CpuV4, NamesTheFieldAroundAPodEntry) {
  const std::string data = R"({"policyName":"static","podEntries":{"a":{"cpuSet":7}}})";
  std::string text = data;
  for (std::size_t i = 0; (i = text.find('"', i)) != std::string::npos; i += 2)
    text.insert(i, "\\");
  const std::string file = R"({"data":")" + text + R"(","dataChecksum":1})";
  EXPECT_EQ(reason_of(read_cpu(file, {37, true}, "static", {})),
            "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint data: "
            "json: cannot unmarshal number into Go struct field "
            "CPUManagerCheckpointData.podEntries.cpuSet of type string");
}

TEST(Kubelet136, KeepsPodEntriesOfAFailedAttemptUpToTheWrongOne) {
  const std::string head = R"({"policyName":"static","defaultCpuSet":"0-1","podEntries":{"a":)";
  const auto pods_of = [&](const std::string& rest, const ContainerIds& ids) {
    const auto reading = read_cpu(head + rest, {36, true}, "static", ids);
    EXPECT_TRUE(reading.reads()) << reading.error;
    return reading.state.pods;
  };
  const std::map<PodUid, CpuSet> first = {{PodUid("a"), CpuSet{2}}};
  EXPECT_EQ(pods_of(R"({"cpuSet":"2"},"b":{"cpuSet":"x"},"c":{"cpuSet":"3"}},"checksum":0})", {}),
            first);
  EXPECT_EQ(pods_of(R"({"cpuSet":"2"},"b":{"cpuSet":7}},"checksum":0})", {}), first);
  // CPU V1.
  EXPECT_EQ(pods_of(R"({"cpuSet":"2"}},"entries":{"id":"2"}})", {{"id", {PodUid("a"), "c"}}}),
            first);
}

TEST(Kubelet135, TriesCpuV1BeforeV2) {
  const Kubelet kubelet{35, false};
  const auto reason = [&](std::string_view file) {
    return reason_of(read_cpu(file, kubelet, "static", {}));
  };
  EXPECT_EQ(reason(R"({"policyName":"static","entries":{"id":"2"}})"),
            "error migrating v1 checkpoint state to v2 checkpoint state: containerID 'id' not "
            "found in initial containers list");
  EXPECT_EQ(reason(R"({"policyName":"static","entries":[]})"),
            "json: cannot unmarshal array into Go struct field CPUManagerCheckpoint.entries of "
            "type map[string]map[string]string");
  EXPECT_EQ(reason(encode_cpu(cpu_sample(), "static", CpuFormat::kV3)), "checkpoint is corrupted");
  CpuCheckpoint containers = cpu_sample();
  containers.pods.clear();
  for (const CpuFormat format : {CpuFormat::kV2, CpuFormat::kV4}) {
    const auto reading =
        read_cpu(encode_cpu(cpu_sample(), "static", format), kubelet, "static", {});
    EXPECT_EQ(reading.state, containers) << reading.error;
  }
}

TEST(Kubelet135, NeedsTheChecksumOfAMemoryFile) {
  const Kubelet kubelet{35, false};
  const auto reason = [&](std::string_view file) {
    return reason_of(read_memory(file, kubelet, "None"));
  };
  EXPECT_EQ(reason(R"({"policyName":"None","machineState":{},"checksum":4236770233})"), "");
  EXPECT_EQ(reason(R"({"policyName":"None","machineState":{},"checksum":0})"),
            "checkpoint is corrupted");
  EXPECT_EQ(reason(R"({"policyName":7})"),
            "json: cannot unmarshal number into Go struct field MemoryManagerCheckpoint.policyName "
            "of type string");
}

TEST(Inspect, FindsTheNewestFormatOfTheBytes) {
  CpuCheckpoint state = cpu_sample();
  for (const auto& [format, version] :
       {std::pair(CpuFormat::kV4, 4), {CpuFormat::kV3, 3}, {CpuFormat::kV2, 2}}) {
    const auto seen = inspect_cpu(encode_cpu(state, "static", format));
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(seen->version, version);
    EXPECT_EQ(seen->policy, "static");
    EXPECT_EQ(seen->state.pods.empty(), version == 2);
  }
  const auto v1 = inspect_cpu(
      R"({"policyName":"static","defaultCpuSet":"0-1,4-7","entries":{"0123456789abcdef":"2-3"},"checksum":2564086301})");
  ASSERT_TRUE(v1) << v1.error().message;
  EXPECT_EQ(v1->version, 1);
  EXPECT_EQ(*v1->state.assignments.find({PodUid(), "0123456789abcdef"}), (CpuSet{2, 3}));
  for (const auto& [format, version] :
       {std::pair(MemoryFormat::kV3, 3), {MemoryFormat::kV2, 2}, {MemoryFormat::kV1, 1}}) {
    const auto seen = inspect_memory(encode_memory(memory_sample(), "None", format));
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(seen->version, version);
  }
}

}  // namespace
}  // namespace pinfold::checkpoint
