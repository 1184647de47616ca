#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pinfold::gate {

/// A set of CPUs by OS id that never allocates. Domain: ids below kMaxCpus.
class Cpus {
 public:
  static constexpr std::size_t kMaxCpus = 8192;  ///< of Linux

  /// Parses the Linux list format, "0-3,8"; "" is the empty set.
  /// Returns nullopt for any other text and for a CPU outside the domain.
  [[nodiscard]] static std::optional<Cpus> parse(std::string_view list);

  [[nodiscard]] bool empty() const { return *this == Cpus(); }
  [[nodiscard]] bool contains(std::size_t cpu) const;
  [[nodiscard]] bool contains_all(const Cpus& other) const;
  [[nodiscard]] bool intersects(const Cpus& other) const;
  void insert(std::size_t cpu);

  Cpus& operator|=(const Cpus& other);
  Cpus& operator-=(const Cpus& other);
  friend Cpus operator|(Cpus a, const Cpus& b) { return a |= b; }
  friend Cpus operator-(Cpus a, const Cpus& b) { return a -= b; }
  friend bool operator==(const Cpus&, const Cpus&) = default;

  /// Prints the Linux list format into `buffer` and returns it; what does not fit is left out.
  [[nodiscard]] std::string_view print(std::span<char> buffer) const;

 private:
  static constexpr std::size_t kBits = 64;

  std::array<std::uint64_t, kMaxCpus / kBits> words_{};
};

}  // namespace pinfold::gate
