#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pinfold::nri {

/// Reads a number. Domain: at least four bytes from `at` on.
[[nodiscard]] inline std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(at, 4)) {
    value = value << 8U | static_cast<unsigned char>(byte);
  }
  return value;
}

inline void append_u32(std::uint32_t value, std::string& output) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    output += static_cast<char>(value >> shift & 0xFFU);
  }
}

/// Moves bytes from the front of `input` to `part` until it has `size` bytes. Returns whether it
/// has.
[[nodiscard]] inline bool fill(std::string& part, std::size_t size, std::string_view& input) {
  const std::string_view taken = input.substr(0, size - part.size());
  part += taken;
  input.remove_prefix(taken.size());
  return part.size() == size;
}

}  // namespace pinfold::nri
