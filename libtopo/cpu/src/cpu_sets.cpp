#include "cpu_sets.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace pinfold::cpu {

std::unique_ptr<const place::CpuTree> tree_of(const Machine& machine) {
  std::vector<place::CpuPlace> places;
  places.reserve(machine.cpus().size());
  for (const Cpu& cpu : machine.cpus()) {
    places.push_back({cpu.id.value, cpu.core.value, cpu.socket.value,
                      machine.groups_of(cpu.id).numa, cpu.l3.value});
  }
  return std::make_unique<const place::CpuTree>(places, machine.numa_count());
}

int whole_cpus(const Quantity& amount) {
  const std::int64_t cpus = amount.value();
  if (cpus <= 0 || Quantity::Int128{cpus} * 1000 != amount.milli_value()) return 0;
  return static_cast<int>(std::min<std::int64_t>(cpus, std::numeric_limits<int>::max()));
}

place::Cpus words_of(const CpuSet& cpus, const place::CpuTree& tree, place::Arena& arena) {
  const place::Cpus words = arena.make<place::Word>(tree.words());
  cpus.copy_words(words);
  return words;
}

tl::expected<CpuSet, std::string> take(const place::CpuPolicy& policy, const CpuSet& available,
                                       int count) {
  place::HeapArena memory(policy.bytes());
  const auto taken = place::take(policy.rules(), words_of(available, policy.tree(), memory.arena()),
                                 count, memory.arena(), nullptr);
  if (!taken) return tl::unexpected(text_of(taken.error()));
  return CpuSet::of_words(*taken);
}

std::string text_of(const place::CpuFailure& failure) {
  std::array<char, place::kLongestText> memory{};
  place::Text text(memory);
  text << failure;
  return std::string(text.view());
}

Rejection rejection_of(const place::CpuFailure& failure) {
  if (!place::is_alignment(failure)) return Rejection::unexpected(text_of(failure));
  return {std::string(place::kAlignmentReason),
          std::string(place::kBeforeAlignment) + text_of(failure)};
}

}  // namespace pinfold::cpu
