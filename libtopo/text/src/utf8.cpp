#include "pinfold/text/utf8.hpp"

namespace pinfold::utf8 {

Rune decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  char32_t value = lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  const char32_t lowest = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  if (value < lowest || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {};
  return {value, size, true};
}

std::size_t find_invalid(std::string_view text) {
  std::size_t pos = 0;
  while (pos < text.size()) {
    const Rune rune = decode(text.substr(pos));
    if (!rune.valid) return pos;
    pos += rune.size;
  }
  return std::string_view::npos;
}

void append(std::string& out, char32_t rune) {
  const auto put = [&](char32_t bits) {
    out += static_cast<char>(static_cast<unsigned char>(bits));
  };
  if (rune < 0x80) {
    put(rune);
  } else if (rune < 0x800) {
    put(0xC0 | (rune >> 6U));
    put(0x80 | (rune & 0x3F));
  } else if (rune < 0x10000) {
    put(0xE0 | (rune >> 12U));
    put(0x80 | ((rune >> 6U) & 0x3F));
    put(0x80 | (rune & 0x3F));
  } else {
    put(0xF0 | (rune >> 18U));
    put(0x80 | ((rune >> 12U) & 0x3F));
    put(0x80 | ((rune >> 6U) & 0x3F));
    put(0x80 | (rune & 0x3F));
  }
}

}  // namespace pinfold::utf8
