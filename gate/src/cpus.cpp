#include "pinfold/gate/cpus.hpp"

#include <charconv>

#include "pinfold/gate/line.hpp"

namespace pinfold::gate {
namespace {

/// Removes a CPU from the front of a list.
std::optional<std::size_t> take_cpu(std::string_view& list) {
  std::size_t cpu = 0;
  const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), cpu);
  if (error != std::errc{} || cpu >= CpuBits::kMaxCpus) return std::nullopt;
  list.remove_prefix(static_cast<std::size_t>(end - list.data()));
  return cpu;
}

/// Removes a character from the front of a list; returns false if another one is there.
bool take(std::string_view& list, char c) {
  if (!list.starts_with(c)) return false;
  list.remove_prefix(1);
  return true;
}

/// Removes "3" or "3-5" from the front of a list, and inserts it.
bool take_range(std::string_view& list, CpuBits& cpus) {
  const auto first = take_cpu(list);
  if (!first) return false;
  const auto last = take(list, '-') ? take_cpu(list) : first;
  if (!last || *last < *first) return false;
  for (std::size_t cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
  return true;
}

}  // namespace

std::optional<CpuBits> CpuBits::parse(std::string_view list) {
  CpuBits cpus;
  if (list.empty()) return cpus;
  do {
    if (!take_range(list, cpus)) return std::nullopt;
  } while (take(list, ','));
  return list.empty() ? std::optional(cpus) : std::nullopt;
}

bool CpuBits::contains(std::size_t cpu) const {
  return cpu < kMaxCpus && (words_[cpu / kBits] >> (cpu % kBits) & 1U) != 0;
}

bool CpuBits::contains_all(const CpuBits& other) const { return (other - *this).empty(); }

bool CpuBits::intersects(const CpuBits& other) const { return other - *this != other; }

void CpuBits::insert(std::size_t cpu) { words_[cpu / kBits] |= std::uint64_t{1} << (cpu % kBits); }

CpuBits& CpuBits::operator|=(const CpuBits& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

CpuBits& CpuBits::operator-=(const CpuBits& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
  return *this;
}

std::string_view CpuBits::print(std::span<char> buffer) const {
  Line out(buffer);
  for (std::size_t cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (!contains(cpu)) continue;
    const std::size_t first = cpu;
    while (contains(cpu + 1)) ++cpu;
    if (!out.view().empty()) out.add(",");
    out.add(first);
    if (cpu > first) out.add("-").add(cpu);
  }
  return out.view();
}

}  // namespace pinfold::gate
