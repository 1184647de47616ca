#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pinfold::utf8 {

inline constexpr char32_t kReplacement = 0xFFFD;

struct Rune {
  char32_t value = kReplacement;
  std::size_t size = 1;  ///< bytes; an invalid sequence is one byte of kReplacement
  bool valid = false;
};

/// Decodes like Go's utf8.DecodeRune. Domain: text is not empty.
[[nodiscard]] Rune decode(std::string_view text);
/// Returns the offset of the first byte that is not valid UTF-8; npos if there is none.
[[nodiscard]] std::size_t find_invalid(std::string_view text);
void append(std::string& out, char32_t rune);

}  // namespace pinfold::utf8
