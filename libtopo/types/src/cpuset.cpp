#include "pinfold/types/cpuset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <ostream>

#include "pinfold/text/go_text.hpp"

namespace pinfold {
namespace {

constexpr std::int32_t kBits = 64;

constexpr std::size_t word_of(std::int32_t id) { return static_cast<std::size_t>(id / kBits); }
constexpr std::uint64_t bit_of(std::int32_t id) { return std::uint64_t{1} << (id % kBits); }

/// Counts the ones in each byte; see NumaMask::count().
constexpr std::uint64_t ones_by_byte(std::uint64_t word) {
  word -= (word >> 1U) & 0x5555555555555555U;
  word = (word & 0x3333333333333333U) + ((word >> 2U) & 0x3333333333333333U);
  return (word + (word >> 4U)) & 0x0f0f0f0f0f0f0f0fU;
}

/// Sums the eight bytes. The results of ones_by_byte for up to 16 words can be added up first.
constexpr std::size_t sum_of_bytes(std::uint64_t bytes) {
  const std::uint64_t pairs = (bytes & 0x00ff00ff00ff00ffU) + ((bytes >> 8U) & 0x00ff00ff00ff00ffU);
  return static_cast<std::size_t>((pairs * 0x0001000100010001U) >> 48U);
}

Result<std::int32_t> parse_id(std::string_view text) {
  PINFOLD_LET(auto id, go::atoi(text));
  if (id < 0 || id >= CpuSet::kMaxCpus) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("cpu id {} is out of range, expected 0 to {}", id, CpuSet::kMaxCpus - 1));
  }
  return static_cast<std::int32_t>(id);
}

}  // namespace

CpuSet::CpuSet(std::initializer_list<std::int32_t> ids) {
  for (const std::int32_t id : ids) insert(CpuId{id});
}

CpuSet CpuSet::of(CpuId cpu) { return range(cpu.value, cpu.value); }

CpuSet CpuSet::range(std::int32_t first, std::int32_t last) {
  CpuSet set;
  if (last < first) return set;
  assert(first >= 0 && last < kMaxCpus);
  set.grow(word_of(last) + 1);
  for (std::size_t i = word_of(first); i <= word_of(last); ++i) set.word(i) = ~Word{0};
  set.word(word_of(first)) &= ~Word{0} << (first % kBits);
  set.word(word_of(last)) &= ~Word{0} >> (kBits - 1 - last % kBits);
  return set;
}

CpuSet CpuSet::of_words(std::span<const std::uint64_t> words) {
  assert(words.size() <= word_of(kMaxCpus));
  CpuSet set;
  if (words.size() > kInlineWords) set.grow(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) set.word(i) = words[i];
  set.trim();
  return set;
}

void CpuSet::copy_words(std::span<std::uint64_t> words) const noexcept {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i < word_count() ? word(i) : 0;
}

Result<CpuSet> CpuSet::parse(std::string_view list) {
  CpuSet set;
  if (list.empty()) return set;
  for (std::size_t pos = 0; pos <= list.size();) {
    const std::size_t comma = std::min(list.find(',', pos), list.size());
    const std::string_view item = list.substr(pos, comma - pos);
    pos = comma + 1;
    const std::size_t dash = item.find('-');
    PINFOLD_LET(const auto low, parse_id(item.substr(0, dash)));
    std::int32_t high = low;
    if (dash != std::string_view::npos) {
      PINFOLD_LET(high, parse_id(item.substr(dash + 1)));
      if (high < low) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("invalid range \"{}\" ({} > {})", item, low, high));
      }
    }
    set |= range(low, high);
  }
  return set;
}

std::string CpuSet::to_string() const {
  std::string out;
  for (auto it = begin(); it != end();) {
    const std::int32_t low = (*it).value;
    std::int32_t high = low;
    for (++it; it != end() && (*it).value == high + 1; ++it) ++high;
    if (!out.empty()) out += ',';
    fmt::format_to(std::back_inserter(out), "{}", low);
    if (high > low) fmt::format_to(std::back_inserter(out), "-{}", high);
  }
  return out;
}

bool CpuSet::empty() const noexcept {
  Word any = 0;
  for (const Word word : low_) any |= word;
  return any == 0 && high_.empty();
}

std::size_t CpuSet::size() const noexcept {
  Word sums = 0;
  for (const Word word : low_) sums += ones_by_byte(word);
  std::size_t count = sum_of_bytes(sums);
  for (const Word word : high_) count += sum_of_bytes(ones_by_byte(word));
  return count;
}

bool CpuSet::contains(CpuId cpu) const noexcept {
  return cpu.value >= 0 && word_of(cpu.value) < word_count() &&
         (word(word_of(cpu.value)) & bit_of(cpu.value)) != 0;
}

bool CpuSet::contains_all(const CpuSet& other) const noexcept {
  Word missing = 0;
  for (std::size_t i = 0; i < kInlineWords; ++i) missing |= other.low_[i] & ~low_[i];
  if (missing != 0 || other.high_.size() > high_.size()) return false;
  for (std::size_t i = 0; i < other.high_.size(); ++i) missing |= other.high_[i] & ~high_[i];
  return missing == 0;
}

bool CpuSet::intersects(const CpuSet& other) const noexcept {
  Word any = 0;
  for (std::size_t i = 0; i < kInlineWords; ++i) any |= low_[i] & other.low_[i];
  const std::size_t common = std::min(high_.size(), other.high_.size());
  for (std::size_t i = 0; i < common; ++i) any |= high_[i] & other.high_[i];
  return any != 0;
}

std::size_t CpuSet::count_common(const CpuSet& other) const noexcept {
  Word sums = 0;
  for (std::size_t i = 0; i < kInlineWords; ++i) sums += ones_by_byte(low_[i] & other.low_[i]);
  std::size_t count = sum_of_bytes(sums);
  const std::size_t common = std::min(high_.size(), other.high_.size());
  for (std::size_t i = 0; i < common; ++i) {
    count += sum_of_bytes(ones_by_byte(high_[i] & other.high_[i]));
  }
  return count;
}

void CpuSet::insert(CpuId cpu) {
  assert(cpu.value >= 0 && cpu.value < kMaxCpus);
  grow(word_of(cpu.value) + 1);
  word(word_of(cpu.value)) |= bit_of(cpu.value);
}

void CpuSet::erase(CpuId cpu) noexcept {
  if (!contains(cpu)) return;
  word(word_of(cpu.value)) &= ~bit_of(cpu.value);
  trim();
}

void CpuSet::clear() noexcept {
  low_.fill(0);
  high_.clear();
}

CpuId CpuSet::first() const noexcept {
  assert(!empty());
  return *begin();
}

CpuId CpuSet::last() const noexcept {
  assert(!empty());
  std::size_t top = word_count() - 1;
  while (word(top) == 0) --top;
  return CpuId{(static_cast<std::int32_t>(top) + 1) * kBits - 1 - std::countl_zero(word(top))};
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  grow(other.word_count());
  for (std::size_t i = 0; i < kInlineWords; ++i) low_[i] |= other.low_[i];
  for (std::size_t i = 0; i < other.high_.size(); ++i) high_[i] |= other.high_[i];
  return *this;
}

CpuSet& CpuSet::operator&=(const CpuSet& other) noexcept {
  for (std::size_t i = 0; i < kInlineWords; ++i) low_[i] &= other.low_[i];
  while (high_.size() > other.high_.size()) high_.pop_back();
  for (std::size_t i = 0; i < high_.size(); ++i) high_[i] &= other.high_[i];
  trim();
  return *this;
}

CpuSet& CpuSet::operator-=(const CpuSet& other) noexcept {
  for (std::size_t i = 0; i < kInlineWords; ++i) low_[i] &= ~other.low_[i];
  const std::size_t common = std::min(high_.size(), other.high_.size());
  for (std::size_t i = 0; i < common; ++i) high_[i] &= ~other.high_[i];
  trim();
  return *this;
}

CpuSet::const_iterator CpuSet::begin() const noexcept { return {*this, 0}; }

CpuSet::const_iterator CpuSet::end() const noexcept { return {*this, word_count()}; }

void CpuSet::grow(std::size_t words) {
  if (words > word_count()) high_.resize(words - kInlineWords, 0);
}

void CpuSet::trim() noexcept {
  while (!high_.empty() && high_.back() == 0) high_.pop_back();
}

std::ostream& operator<<(std::ostream& out, const CpuSet& set) { return out << set.to_string(); }

}  // namespace pinfold
