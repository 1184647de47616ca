#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/types/ids.hpp"

namespace pinfold {

/// A set of CPUs by OS id. A regular value type that iterates in ascending order.
/// Domain: ids 0 to kMaxCpus - 1. Sets of CPUs below 1024 allocate nothing.
class CpuSet {
 public:
  /// One more than the highest id that a set can hold (Linux supports 8192 CPUs at most).
  static constexpr std::int32_t kMaxCpus = 65536;

  class const_iterator;

  CpuSet() = default;
  /// Asserts that the ids are in the domain.
  CpuSet(std::initializer_list<std::int32_t> ids);
  [[nodiscard]] static CpuSet of(CpuId cpu);
  /// Returns first to last, both included; empty if last < first.
  [[nodiscard]] static CpuSet range(std::int32_t first, std::int32_t last);

  /// Returns the CPUs of words of 64 bits: CPU 70 is bit 6 of word 1. Domain: kMaxCpus / 64 words.
  [[nodiscard]] static CpuSet of_words(std::span<const std::uint64_t> words);
  /// Writes the set as words; leaves out CPUs beyond them.
  void copy_words(std::span<std::uint64_t> words) const noexcept;

  /// Parses the Linux list format: "0-3,8,10-11"; "" is the empty set. Ranges may overlap and be in
  /// any order. White space is an error.
  /// Errors: kInvalidArgument, with the text that Go's cpuset.Parse gives for the same input.
  [[nodiscard]] static Result<CpuSet> parse(std::string_view list);

  /// Prints the Linux list format, with ranges merged and in ascending order.
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] bool empty() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool contains(CpuId cpu) const noexcept;
  [[nodiscard]] bool contains_all(const CpuSet& other) const noexcept;
  [[nodiscard]] bool intersects(const CpuSet& other) const noexcept;
  /// Returns (*this & other).size() without building the intersection.
  [[nodiscard]] std::size_t count_common(const CpuSet& other) const noexcept;

  void insert(CpuId cpu);
  void erase(CpuId cpu) noexcept;
  void clear() noexcept;

  /// Returns the lowest id. Domain: not empty.
  [[nodiscard]] CpuId first() const noexcept;
  /// Returns the highest id. Domain: not empty.
  [[nodiscard]] CpuId last() const noexcept;

  CpuSet& operator|=(const CpuSet& other);
  CpuSet& operator&=(const CpuSet& other) noexcept;
  CpuSet& operator-=(const CpuSet& other) noexcept;
  friend CpuSet operator|(CpuSet a, const CpuSet& b) { return a |= b; }
  friend CpuSet operator&(CpuSet a, const CpuSet& b) noexcept { return a &= b; }
  friend CpuSet operator-(CpuSet a, const CpuSet& b) noexcept { return a -= b; }
  friend bool operator==(const CpuSet&, const CpuSet&) = default;

  [[nodiscard]] const_iterator begin() const noexcept;
  [[nodiscard]] const_iterator end() const noexcept;

 private:
  using Word = std::uint64_t;
  static constexpr std::size_t kInlineWords = 16;

  [[nodiscard]] std::size_t word_count() const noexcept { return kInlineWords + high_.size(); }
  [[nodiscard]] Word word(std::size_t index) const noexcept {
    return index < kInlineWords ? low_[index] : high_[index - kInlineWords];
  }
  [[nodiscard]] Word& word(std::size_t index) noexcept {
    return index < kInlineWords ? low_[index] : high_[index - kInlineWords];
  }
  void grow(std::size_t words);
  void trim() noexcept;

  // CPUs below 1024: enough for nearly every machine, and loops over them have a fixed length.
  std::array<Word, kInlineWords> low_{};
  // CPUs from 1024 on. Invariant: the last word is not 0, so that equal sets have equal words.
  std::vector<Word> high_;
};

class CpuSet::const_iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = CpuId;
  using difference_type = std::ptrdiff_t;
  using pointer = const CpuId*;
  using reference = CpuId;

  const_iterator() = default;
  CpuId operator*() const noexcept {
    return CpuId{static_cast<std::int32_t>(index_ * 64) + std::countr_zero(word_)};
  }
  const_iterator& operator++() noexcept {
    word_ &= word_ - 1;
    skip_zeros();
    return *this;
  }
  const_iterator operator++(int) noexcept {
    const_iterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const const_iterator&, const const_iterator&) = default;

 private:
  friend class CpuSet;
  const_iterator(const CpuSet& set, std::size_t index) noexcept
      : set_(&set), index_(index), word_(index < set.word_count() ? set.word(index) : 0) {
    skip_zeros();
  }
  void skip_zeros() noexcept {
    while (word_ == 0 && index_ < set_->word_count()) {
      ++index_;
      word_ = index_ < set_->word_count() ? set_->word(index_) : 0;
    }
  }

  const CpuSet* set_ = nullptr;
  std::size_t index_ = 0;
  Word word_ = 0;
};

std::ostream& operator<<(std::ostream& out, const CpuSet& set);

}  // namespace pinfold
