#include "pinfold/text/base64.hpp"

namespace pinfold {

std::string decode_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned value = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    value = (value << 6U | static_cast<unsigned>(digit)) & 0xFFFFU;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(value >> bits & 0xFFU);
    }
  }
  return bytes;
}

}  // namespace pinfold
