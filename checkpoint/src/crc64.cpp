#include "crc64.hpp"

#include <endian.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace pinfold::checkpoint {
namespace {

constexpr std::uint64_t kReflectedPolynomial = 0xC96C5795D7870F42U;
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kByteValues = 256;
using Table = std::array<std::uint64_t, kByteValues>;

/// Builds the tables: for each byte, table k has the remainder of that byte followed by k zero
/// bytes.
constexpr std::array<Table, kWord> make_tables() {
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

// A sum is a polynomial modulo that of the CRC, with the coefficient of x^0 in the highest bit. A
// byte after a text multiplies the text's sum by x^8.

constexpr std::uint64_t times_x(std::uint64_t a) {
  return (a & 1U) != 0 ? (a >> 1U) ^ kReflectedPolynomial : a >> 1U;
}
constexpr std::uint64_t times_x4(std::uint64_t a) {
  return (a >> 4U) ^ kTables[0][(a & 0xFU) << 4U];
}

constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  // Each multiple of b by four coefficients; that of x^0 is the highest bit.
  std::array<std::uint64_t, 16> multiples = {};
  for (std::size_t bit = 8; bit > 0; bit /= 2, b = times_x(b)) multiples[bit] = b;
  for (std::size_t i = 1; i < multiples.size(); ++i) {
    const std::size_t rest = i & (i - 1);  // without its lowest bit
    multiples[i] = multiples[rest] ^ multiples[i - rest];
  }
  std::uint64_t sum = 0;
  for (std::size_t shift = 0; shift < 64; shift += 4) {  // the highest powers first
    sum = times_x4(sum) ^ multiples[(a >> shift) & 0xFU];
  }
  return sum;
}

/// Builds x^(8 * n * step) for each n.
constexpr Table make_factors(std::size_t step) {
  std::uint64_t factor = std::uint64_t{1} << 63U;
  for (std::size_t i = 0; i < 8 * step; ++i) factor = times_x(factor);
  Table factors = {std::uint64_t{1} << 63U};
  for (std::size_t n = 1; n < kByteValues; ++n) factors[n] = product(factors[n - 1], factor);
  return factors;
}
constexpr std::array kFactors = {make_factors(1), make_factors(kByteValues)};

/// Returns the first eight bytes as a word, in the same order on every machine.
std::uint64_t first_word(std::string_view bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), kWord);
  return le64toh(word);
}

/// Returns the remainder of a word. A fold expression, because GCC does not unroll a loop here,
/// which takes four times as long.
template <std::size_t... Byte>
std::uint64_t remainder_of(std::uint64_t word, std::index_sequence<Byte...>) {
  return (kTables[kWord - 1 - Byte][(word >> (8 * Byte)) & 0xFFU] ^ ...);
}

}  // namespace

/// Processes eight bytes at a time: a commit computes sums over everything it writes.
std::uint64_t crc64(std::string_view bytes) {
  constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};
  std::uint64_t sum = kAllOnes;
  for (; bytes.size() >= kWord; bytes.remove_prefix(kWord)) {
    sum = remainder_of(sum ^ first_word(bytes), std::make_index_sequence<kWord>());
  }
  for (const char c : bytes) {
    sum = (sum >> 8U) ^ kTables[0][(sum ^ static_cast<unsigned char>(c)) & 0xFFU];
  }
  return sum ^ kAllOnes;
}

std::uint64_t crc64_of_padded(std::string_view bytes) {
  std::size_t zeros = 0;
  while (bytes.size() >= kWord && first_word(bytes.substr(bytes.size() - kWord)) == 0) {
    bytes.remove_suffix(kWord);
    zeros += kWord;
  }
  return ~product(crc64_factor(zeros), ~crc64(bytes));
}

std::uint64_t crc64_factor(std::size_t size) {
  constexpr std::size_t kBlock = kByteValues * kByteValues;
  constexpr std::uint64_t kOfBlock = product(kFactors[1].back(), kFactors[1][1]);
  std::uint64_t factor =
      product(kFactors[0][size % kByteValues], kFactors[1][size / kByteValues % kByteValues]);
  for (; size >= kBlock; size -= kBlock) factor = product(factor, kOfBlock);
  return factor;
}

std::uint64_t crc64_of_both(std::uint64_t first, std::uint64_t second, std::uint64_t factor) {
  return product(factor, first) ^ second;
}

}  // namespace pinfold::checkpoint
