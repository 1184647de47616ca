#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pinfold::gate {

/// A set of CPUs by OS id that never allocates. Domain: ids below kMaxCpus.
class CpuBits {
 public:
  static constexpr std::size_t kMaxCpus = 8192;  ///< of Linux

  /// Parses the Linux list format, "0-3,8"; "" is the empty set.
  /// Returns nullopt for any other text and for a CPU outside the domain.
  [[nodiscard]] static std::optional<CpuBits> parse(std::string_view list);

  [[nodiscard]] bool empty() const { return *this == CpuBits(); }
  [[nodiscard]] bool contains(std::size_t cpu) const;
  [[nodiscard]] bool contains_all(const CpuBits& other) const;
  [[nodiscard]] bool intersects(const CpuBits& other) const;
  void insert(std::size_t cpu);

  CpuBits& operator|=(const CpuBits& other);
  CpuBits& operator-=(const CpuBits& other);
  friend CpuBits operator|(CpuBits a, const CpuBits& b) { return a |= b; }
  friend CpuBits operator-(CpuBits a, const CpuBits& b) { return a -= b; }
  friend bool operator==(const CpuBits&, const CpuBits&) = default;

  /// Prints the Linux list format into `buffer` and returns it; what does not fit is left out.
  [[nodiscard]] std::string_view print(std::span<char> buffer) const;

 private:
  static constexpr std::size_t kBits = 64;

  std::array<std::uint64_t, kMaxCpus / kBits> words_{};
};

}  // namespace pinfold::gate
