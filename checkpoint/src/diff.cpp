#include "pinfold/checkpoint/diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>

#include "pinfold/types/amount_text.hpp"

namespace pinfold::checkpoint {
namespace {

using Texts = std::map<std::string, std::string>;  // by object

std::string text_of(const CpuSet& cpus) { return cpus.empty() ? "no CPU" : cpus.to_string(); }

std::string text_of(const std::vector<MemoryBlock>& blocks) {
  std::string text;
  for (const MemoryBlock& block : blocks) {
    text += fmt::format("{}{} {} on {}", text.empty() ? "" : ", ", block.type,
                        exact_bytes(block.size), fmt::join(block.numa_affinity, ","));
  }
  return text.empty() ? "no memory" : text;
}

template <class Value>
Texts texts_of(const ContainerMap<Value>& assignments) {
  Texts texts;
  for (const auto& entry : assignments) texts[to_string(entry.id())] = text_of(entry.value);
  return texts;
}

template <class Value>
Texts texts_of(const std::map<PodUid, Value>& pods) {
  Texts texts;
  for (const auto& [pod, value] : pods) texts[pod.value] = text_of(value);
  return texts;
}

Texts baselines_of(const CpuCheckpoint& state) {
  Texts texts;
  for (const auto& [pod, name, cpus] : state.baselines) {
    texts["baseline of " + to_string(ContainerId{pod, name})] = text_of(cpus);
  }
  return texts;
}

Texts texts_of(const std::map<std::int32_t, NodeMemory>& machine) {
  Texts texts;
  for (const auto& [id, node] : machine) {
    texts[fmt::format("NUMA node {}", id)] = fmt::format(
        "{} assignment{}, {}", node.number_of_assignments,
        node.number_of_assignments == 1 ? "" : "s",
        node.cells.empty() ? "no group" : fmt::format("group {}", fmt::join(node.cells, ",")));
    for (const auto& [type, table] : node.tables) {
      texts[fmt::format("NUMA node {} {}", id, type)] = fmt::format(
          "total {}, system {}, allocatable {}, reserved {}, free {}", exact_bytes(table.total),
          exact_bytes(table.system_reserved), exact_bytes(table.allocatable),
          exact_bytes(table.reserved), exact_bytes(table.free));
    }
  }
  return texts;
}

void compare(const Texts& before, const Texts& after, std::vector<Difference>& out) {
  Texts all = before;
  all.insert(after.begin(), after.end());
  for (const auto& [object, ignored] : all) {
    const auto old_text = before.find(object);
    const auto new_text = after.find(object);
    Difference difference{object, old_text == before.end() ? "" : old_text->second,
                          new_text == after.end() ? "" : new_text->second};
    if (difference.before != difference.after) out.push_back(std::move(difference));
  }
}

}  // namespace

std::vector<Difference> diff(const CpuCheckpoint& before, const CpuCheckpoint& after) {
  std::vector<Difference> out;
  compare({{"shared pool", text_of(before.default_set)}},
          {{"shared pool", text_of(after.default_set)}}, out);
  compare(texts_of(before.assignments), texts_of(after.assignments), out);
  compare(texts_of(before.pods), texts_of(after.pods), out);
  compare(baselines_of(before), baselines_of(after), out);
  return out;
}

std::vector<Difference> diff(const MemoryCheckpoint& before, const MemoryCheckpoint& after) {
  std::vector<Difference> out;
  compare(texts_of(before.machine_state), texts_of(after.machine_state), out);
  compare(texts_of(before.assignments), texts_of(after.assignments), out);
  compare(texts_of(before.pods), texts_of(after.pods), out);
  return out;
}

}  // namespace pinfold::checkpoint
