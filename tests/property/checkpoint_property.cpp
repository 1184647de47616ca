// What is written is read back, whatever the names and numbers in it are.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/journal.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"

namespace pinfold::checkpoint {
namespace {

/// Bounds maps of maps of lists, which else grow with the cube.
constexpr int kSize = 8;

/// Any ASCII, control characters included: what is no UTF-8 does not survive Go's JSON either.
rc::Gen<std::string> any_name() {
  return rc::gen::container<std::string>(
      rc::gen::map(rc::gen::inRange(0, 128), [](int code) { return static_cast<char>(code); }));
}

rc::Gen<CpuSet> any_set() {
  return rc::gen::map(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 600)),
                      [](const std::vector<int>& ids) {
                        CpuSet set;
                        for (const int id : ids) set.insert(CpuId{id});
                        return set;
                      });
}

template <class Value>
rc::Gen<std::map<std::string, Value>> by_name(rc::Gen<Value> value) {
  return rc::gen::container<std::map<std::string, Value>>(any_name(), std::move(value));
}

template <class Value>
rc::Gen<std::map<PodUid, Value>> by_pod(rc::Gen<Value> value) {
  const auto any_uid = rc::gen::map(any_name(), [](const std::string& uid) { return PodUid(uid); });
  return rc::gen::container<std::map<PodUid, Value>>(any_uid, std::move(value));
}

/// A pod may be listed without containers.
template <class Value>
rc::Gen<ContainerMap<Value>> by_container(rc::Gen<Value> value) {
  return rc::gen::map(by_pod(by_name(std::move(value))), [](const auto& pods) {
    ContainerMap<Value> map;
    for (const auto& [pod, containers] : pods) map[pod] = containers;
    return map;
  });
}

rc::Gen<CpuCheckpoint> any_cpu_state() {
  return rc::gen::map(rc::gen::tuple(any_set(), by_container(any_set()), by_pod(any_set())),
                      [](const auto& parts) {
                        CpuCheckpoint state;
                        std::tie(state.default_set, state.assignments, state.pods) = parts;
                        return state;
                      });
}

rc::Gen<std::vector<MemoryBlock>> any_blocks() {
  return rc::gen::container<std::vector<MemoryBlock>>(rc::gen::map(
      rc::gen::tuple(rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(0, 300)),
                     any_name(), rc::gen::arbitrary<std::uint64_t>()),
      [](const auto& parts) {
        return std::apply([](const auto&... part) { return MemoryBlock{part...}; }, parts);
      }));
}

rc::Gen<NodeMemory> any_node() {
  const auto table = rc::gen::map(rc::gen::arbitrary<std::array<std::uint64_t, 5>>(),
                                  [](const std::array<std::uint64_t, 5>& n) {
                                    return MemoryTable{n[0], n[1], n[2], n[3], n[4]};
                                  });
  return rc::gen::map(
      rc::gen::tuple(rc::gen::arbitrary<int>(), by_name<MemoryTable>(table),
                     rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(0, 300))),
      [](const auto& parts) {
        return std::apply([](const auto&... part) { return NodeMemory{part...}; }, parts);
      });
}

rc::Gen<MemoryCheckpoint> any_memory_state() {
  return rc::gen::map(rc::gen::tuple(rc::gen::container<std::map<std::int32_t, NodeMemory>>(
                                         rc::gen::inRange(0, 300), any_node()),
                                     by_container(any_blocks()), by_pod(any_blocks())),
                      [](const auto& parts) {
                        MemoryCheckpoint state;
                        std::tie(state.machine_state, state.assignments, state.pods) = parts;
                        return state;
                      });
}

RC_GTEST_PROP(CpuFile, SurvivesEveryFormat, ()) {
  const CpuCheckpoint state = *rc::gen::resize(kSize, any_cpu_state());
  const std::string policy = *any_name();
  CpuCheckpoint containers = state;
  containers.pods.clear();
  RC_ASSERT(restore_cpu(encode_cpu(state, policy, CpuFormat::kV3), policy, true, {}) == state);
  RC_ASSERT(restore_cpu_v4(encode_cpu(state, policy, CpuFormat::kV4), policy, true) == state);
  const std::string v2 = encode_cpu(state, policy, CpuFormat::kV2);
  RC_ASSERT(restore_cpu(v2, policy, false, {}) == containers);
  RC_ASSERT(restore_cpu(v2, policy, true, {}) == containers);
}

RC_GTEST_PROP(MemoryFile, SurvivesEveryFormat, ()) {
  const MemoryCheckpoint state = *rc::gen::resize(kSize, any_memory_state());
  const std::string policy = *any_name();
  MemoryCheckpoint containers = state;
  containers.pods.clear();
  RC_ASSERT(restore_memory(encode_memory(state, policy, MemoryFormat::kV2), policy, true) == state);
  RC_ASSERT(restore_memory_v3(encode_memory(state, policy, MemoryFormat::kV3), policy, true) ==
            state);
  const std::string v1 = encode_memory(state, policy, MemoryFormat::kV1);
  RC_ASSERT(restore_memory(v1, policy, false) == containers);
  RC_ASSERT(restore_memory(v1, policy, true) == containers);
}

RC_GTEST_PROP(CpuFile, NoticesAChangedByteOfItsContents, ()) {
  const CpuCheckpoint state = *rc::gen::resize(kSize, any_cpu_state());
  const std::string other = state.default_set.empty() ? "0" : "";
  auto content = nlohmann::json::parse(encode_cpu(state, "static", false));
  content["defaultCpuSet"] = other;
  RC_PRE(content["checksum"] != 0);
  RC_ASSERT_FALSE(restore_cpu(content.dump(), "static", false, {}).has_value());
}

RC_GTEST_PROP(JsonWriter, WritesWhatAPlainParserReads, ()) {
  const std::string text = *any_name();
  JsonWriter json;
  json.string(text);
  RC_ASSERT(nlohmann::json::parse(json.text()).get<std::string>() == text);
  std::string again;
  JsonReader(json.text()).read(again);
  RC_ASSERT(again == text);
}

RC_GTEST_PROP(Journal, GivesBackTheRecordsThatAreComplete,
              (std::uint64_t before, const std::string& one, const std::string& two)) {
  const Changes changes = {{"cpu_manager_state", {before, one}},
                           {".pinfold_pods", {std::nullopt, two}}};
  const Record one_record{kJournalVersion, changes};
  const std::string record = encode_record(changes);
  RC_ASSERT(decode_journal(record) == std::vector{one_record});
  RC_ASSERT(decode_journal(record + record) == (std::vector{one_record, one_record}));
  const std::size_t written = record.find_last_not_of('\0') + 1;
  const auto size = *rc::gen::inRange<std::size_t>(0, written);
  RC_ASSERT(decode_journal(record + record.substr(0, size)) == std::vector{one_record});
  std::string damaged = record;
  damaged[size] ^= 1;
  RC_ASSERT(decode_journal(damaged) != std::vector{one_record});
}

}  // namespace
}  // namespace pinfold::checkpoint
