// What is written is read back, for any names and numbers.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "draw.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/journal.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"

namespace pinfold::checkpoint {
namespace {

using test::draw;

constexpr int kMost = 3;  // entries of a map or list: maps of maps of lists grow with the cube

std::uint64_t any_number() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
}

/// Any ASCII, control characters included: invalid UTF-8 does not survive Go's JSON either.
std::string any_name() {
  std::string name(static_cast<std::size_t>(draw(0, 8)), ' ');
  for (char& c : name) c = static_cast<char>(draw(0, 127));
  return name;
}

/// Calls `add` up to kMost times.
template <class Add>
void some(const Add& add) {
  for (int left = draw(0, kMost); left > 0; --left) add();
}

CpuSet any_set() {
  CpuSet set;
  some([&] { set.insert(CpuId{draw(0, 599)}); });
  return set;
}

std::vector<std::int32_t> any_ids() {
  std::vector<std::int32_t> ids;
  some([&] { ids.push_back(draw(0, 299)); });
  return ids;
}

std::vector<MemoryBlock> any_blocks() {
  std::vector<MemoryBlock> blocks;
  some([&] { blocks.push_back({any_ids(), any_name(), any_number()}); });
  return blocks;
}

NodeMemory any_node() {
  NodeMemory node;
  node.number_of_assignments = draw(-100, 100);
  some([&] {
    node.tables[any_name()] = {any_number(), any_number(), any_number(), any_number(),
                               any_number()};
  });
  node.cells = any_ids();
  return node;
}

/// The assignments and pods of a state. A pod may be listed without containers.
template <class State, class Value>
void add_pods(State& state, const Value& any_value) {
  some([&] {
    auto& containers = state.assignments[PodUid(any_name())];
    some([&] { containers[any_name()] = any_value(); });
  });
  some([&] { state.pods[PodUid(any_name())] = any_value(); });
}

CpuCheckpoint any_cpu_state() {
  CpuCheckpoint state;
  state.default_set = any_set();
  add_pods(state, any_set);
  return state;
}

MemoryCheckpoint any_memory_state() {
  MemoryCheckpoint state;
  some([&] { state.machine_state[draw(0, 299)] = any_node(); });
  add_pods(state, any_blocks);
  return state;
}

RC_GTEST_PROP(CpuFile, SurvivesEveryFormat, ()) {
  const CpuCheckpoint state = any_cpu_state();
  const std::string policy = any_name();
  CpuCheckpoint containers = state;
  containers.pods.clear();
  RC_ASSERT(restore_cpu(encode_cpu(state, policy, CpuFormat::kV3), policy, true, {}) == state);
  RC_ASSERT(restore_cpu(encode_cpu(state, policy, CpuFormat::kV4), policy, Kubelet{37, true}, {}) ==
            state);
  const std::string v2 = encode_cpu(state, policy, CpuFormat::kV2);
  RC_ASSERT(restore_cpu(v2, policy, false, {}) == containers);
  RC_ASSERT(restore_cpu(v2, policy, true, {}) == containers);
}

RC_GTEST_PROP(MemoryFile, SurvivesEveryFormat, ()) {
  const MemoryCheckpoint state = any_memory_state();
  const std::string policy = any_name();
  MemoryCheckpoint containers = state;
  containers.pods.clear();
  RC_ASSERT(restore_memory(encode_memory(state, policy, MemoryFormat::kV2), policy, true) == state);
  RC_ASSERT(restore_memory(encode_memory(state, policy, MemoryFormat::kV3), policy,
                           Kubelet{37, true}) == state);
  const std::string v1 = encode_memory(state, policy, MemoryFormat::kV1);
  RC_ASSERT(restore_memory(v1, policy, false) == containers);
  RC_ASSERT(restore_memory(v1, policy, true) == containers);
}

RC_GTEST_PROP(CpuFile, DetectsAChangedByte, ()) {
  const CpuCheckpoint state = any_cpu_state();
  const std::string other = state.default_set.empty() ? "0" : "";
  auto content = nlohmann::json::parse(encode_cpu(state, "static", false));
  content["defaultCpuSet"] = other;
  RC_PRE(content["checksum"] != 0);
  RC_ASSERT_FALSE(restore_cpu(content.dump(), "static", false, {}).has_value());
}

RC_GTEST_PROP(JsonWriter, WritesWhatAPlainParserReads, ()) {
  const std::string text = any_name();
  JsonWriter json;
  json.string(text);
  RC_ASSERT(nlohmann::json::parse(json.text()).get<std::string>() == text);
  std::string again;
  JsonReader(json.text()).read(again);
  RC_ASSERT(again == text);
}

std::string any_text() {
  std::string text;
  for (int i = draw(0, 60); i > 0; --i) text += fmt::format("pod {}, ", draw(0, 9));
  return text;
}

std::string edited_at_random(std::string text) {
  for (int i = draw(0, 4); i > 0; --i) {
    const auto at = static_cast<std::size_t>(draw(0, static_cast<int>(text.size())));
    text.replace(at, static_cast<std::size_t>(draw(0, 30)), draw(0, 1) == 0 ? "" : any_text());
  }
  return text;
}

/// After any commits and a cut at any byte, the journal gives the contents after the complete
/// records.
RC_GTEST_PROP(Journal, GivesTheContentsAfterTheCompleteRecords, ()) {
  const std::string name = "cpu_manager_state";
  std::vector<std::string> states = {any_text()};
  std::string journal = encode_record({{name, {std::nullopt, states.front()}}});
  std::vector<std::size_t> ends = {journal.find_last_not_of('\0') + 1};
  for (int i = draw(0, 5); i > 0; --i) {
    const std::string& before = states.back();
    std::string after = edited_at_random(before);
    journal += encode_record({{name, {content_sum(before), difference(before, after)}}});
    ends.push_back(journal.find_last_not_of('\0') + 1);
    states.push_back(std::move(after));
  }
  const auto size = static_cast<std::size_t>(draw(0, static_cast<int>(journal.size())));
  const auto complete =
      static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin());
  const auto records = decode_journal(std::string_view(journal).substr(0, size));
  RC_ASSERT(records.has_value());
  RC_ASSERT(records->size() == complete);
  Contents contents;
  for (const Record& record : *records) RC_ASSERT(apply_record(record, contents).has_value());
  RC_ASSERT(contents == (complete == 0 ? Contents() : Contents{{name, states[complete - 1]}}));
}

RC_GTEST_PROP(Journal, ReadsTheCompleteRecords,
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
