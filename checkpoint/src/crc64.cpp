#include "crc64.hpp"

#include <array>
#include <cstddef>

namespace pinfold::checkpoint {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kByteValues = 256;
using Table = std::array<std::uint64_t, kByteValues>;

/// Builds the tables: for each byte, table k has the remainder of that byte followed by k zero
/// bytes.
constexpr std::array<Table, kWord> make_tables() {
  constexpr std::uint64_t kReflectedPolynomial = 0xC96C5795D7870F42U;
  std::array<Table, kWord> tables = {};
  for (std::size_t byte = 0; byte < kByteValues; ++byte) {
    std::uint64_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest & 1U) != 0 ? (rest >> 1U) ^ kReflectedPolynomial : rest >> 1U;
    }
    tables[0][byte] = rest;
  }
  for (std::size_t zeros = 1; zeros < kWord; ++zeros) {
    for (std::size_t byte = 0; byte < kByteValues; ++byte) {
      const std::uint64_t rest = tables[zeros - 1][byte];
      tables[zeros][byte] = (rest >> 8U) ^ tables[0][rest & 0xFFU];
    }
  }
  return tables;
}
constexpr auto kTables = make_tables();

/// Returns the first eight bytes as a word, in the same order on every machine.
std::uint64_t first_word(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kWord; ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word;
}

}  // namespace

/// Processes eight bytes at a time: a commit computes sums over everything it writes.
std::uint64_t crc64(std::string_view bytes) {
  constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};
  std::uint64_t sum = kAllOnes;
  for (; bytes.size() >= kWord; bytes.remove_prefix(kWord)) {
    const std::uint64_t word = sum ^ first_word(bytes);
    sum = 0;
    for (std::size_t i = 0; i < kWord; ++i)
      sum ^= kTables[kWord - 1 - i][(word >> (8 * i)) & 0xFFU];
  }
  for (const char c : bytes) {
    sum = (sum >> 8U) ^ kTables[0][(sum ^ static_cast<unsigned char>(c)) & 0xFFU];
  }
  return sum ^ kAllOnes;
}

}  // namespace pinfold::checkpoint
