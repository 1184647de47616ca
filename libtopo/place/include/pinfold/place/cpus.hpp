#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "pinfold/types/numa_mask.hpp"

/// Sets of CPUs as borrowed words: CPU 70 is bit 6 of word 1. All sets of one machine have as many
/// words as its highest CPU needs, so a set of a small machine is one word.
namespace pinfold::place {

using Word = std::uint64_t;
inline constexpr std::int32_t kBits = 64;
using Cpus = std::span<Word>;
using CpusView = std::span<const Word>;

[[nodiscard]] constexpr int ones(Word word) { return NumaMask(word).count(); }
/// Does the same, faster for words with few ones.
[[nodiscard]] constexpr int few_ones(Word word) {
  int count = 0;
  for (; word != 0; word &= word - 1) ++count;
  return count;
}

/// CPUs that belong together. Stores only the words with CPUs, which for most cores is one.
struct CpuGroup {
  std::int32_t id = -1;  ///< of the core, socket, cache or NUMA node
  std::int32_t size = 0;
  std::size_t place = 0;  ///< the index of its first word
  Word first = 0;         ///< its first word
  CpusView rest;          ///< the words after that

  /// Returns a word of the set.
  [[nodiscard]] Word word(std::size_t index) const {
    if (index == place) return first;
    return index > place && index - place <= rest.size() ? rest[index - place - 1] : 0;
  }
};

[[nodiscard]] inline bool is_empty(CpusView set) {
  Word any = 0;
  for (const Word word : set) any |= word;
  return any == 0;
}
[[nodiscard]] inline int count(CpusView set) {
  int sum = 0;
  for (const Word word : set) sum += word == 0 ? 0 : ones(word);
  return sum;
}
[[nodiscard]] inline int count_common(CpusView set, const CpuGroup& group) {
  constexpr std::int32_t kFew = 4;  // as in a core
  const Word common = set[group.place] & group.first;
  int sum = group.size <= kFew ? few_ones(common) : ones(common);
  for (std::size_t i = 0; i < group.rest.size(); ++i) {
    sum += ones(set[group.place + 1 + i] & group.rest[i]);
  }
  return sum;
}
[[nodiscard]] inline int count_common(CpusView a, CpusView b) {
  int sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += ones(a[i] & b[i]);
  return sum;
}
[[nodiscard]] inline bool intersects(CpusView set, const CpuGroup& group) {
  Word any = set[group.place] & group.first;
  for (std::size_t i = 0; i < group.rest.size(); ++i) {
    any |= set[group.place + 1 + i] & group.rest[i];
  }
  return any != 0;
}
[[nodiscard]] inline bool intersects(CpusView a, CpusView b) {
  Word any = 0;
  for (std::size_t i = 0; i < a.size(); ++i) any |= a[i] & b[i];
  return any != 0;
}
/// Returns whether the three have a CPU in common.
[[nodiscard]] inline bool intersects(CpusView set, const CpuGroup& a, const CpuGroup& b) {
  Word any = set[a.place] & a.first & b.word(a.place);
  for (std::size_t i = 0; i < a.rest.size(); ++i) {
    const std::size_t index = a.place + 1 + i;
    any |= set[index] & a.rest[i] & b.word(index);
  }
  return any != 0;
}
[[nodiscard]] inline bool contains(CpusView set, std::int32_t cpu) {
  return ((set[static_cast<std::size_t>(cpu / kBits)] >> (cpu % kBits)) & 1U) != 0;
}

inline void insert(Cpus set, std::int32_t cpu) {
  set[static_cast<std::size_t>(cpu / kBits)] |= Word{1} << (cpu % kBits);
}
inline void erase(Cpus set, std::int32_t cpu) {
  set[static_cast<std::size_t>(cpu / kBits)] &= ~(Word{1} << (cpu % kBits));
}
inline void add(Cpus set, CpusView more) {
  for (std::size_t i = 0; i < set.size(); ++i) set[i] |= more[i];
}
inline void add(Cpus set, const CpuGroup& more) {
  set[more.place] |= more.first;
  for (std::size_t i = 0; i < more.rest.size(); ++i) set[more.place + 1 + i] |= more.rest[i];
}
inline void remove(Cpus set, CpusView others) {
  for (std::size_t i = 0; i < set.size(); ++i) set[i] &= ~others[i];
}
inline void remove(Cpus set, const CpuGroup& others) {
  set[others.place] &= ~others.first;
  for (std::size_t i = 0; i < others.rest.size(); ++i) {
    set[others.place + 1 + i] &= ~others.rest[i];
  }
}
inline void keep_only(Cpus set, CpusView others) {
  for (std::size_t i = 0; i < set.size(); ++i) set[i] &= others[i];
}

/// Calls visit(cpu) in ascending order, until it returns false.
template <class Visit>
void for_each_cpu_while(CpusView set, Visit&& visit) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    for (Word rest = set[i]; rest != 0; rest &= rest - 1) {
      if (!visit(static_cast<std::int32_t>(i) * kBits + std::countr_zero(rest))) return;
    }
  }
}
/// Calls visit(cpu) in ascending order.
template <class Visit>
void for_each_cpu(CpusView set, Visit&& visit) {
  for_each_cpu_while(set, [&](std::int32_t cpu) {
    visit(cpu);
    return true;
  });
}
/// Returns the lowest CPU of the set in the group; -1 if there is none.
[[nodiscard]] inline std::int32_t first_common(CpusView set, const CpuGroup& group) {
  for (std::size_t i = 0; i <= group.rest.size(); ++i) {
    const std::size_t index = group.place + i;
    const Word common = set[index] & group.word(index);
    if (common == 0) continue;
    return static_cast<std::int32_t>(index) * kBits + std::countr_zero(common);
  }
  return -1;
}
/// Returns the highest CPU. Domain: not empty.
[[nodiscard]] inline std::int32_t last(CpusView set) {
  std::size_t i = set.size() - 1;
  while (set[i] == 0) --i;
  return static_cast<std::int32_t>(i) * kBits + kBits - 1 - std::countl_zero(set[i]);
}

}  // namespace pinfold::place
