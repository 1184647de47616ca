#include "pinfold/text/go_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "pinfold/text/utf8.hpp"

namespace pinfold::go {
namespace {

tl::unexpected<Error> number_error(std::string_view function, std::string_view text,
                                   std::string_view what) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("strconv.{}: parsing {}: {}", function, quote(text), what));
}

}  // namespace

Result<std::int64_t> atoi(std::string_view text) {
  std::string_view digits = text;
  // from_chars accepts '-' but not '+'; Go accepts either sign, once.
  if (digits.starts_with('+')) {
    digits.remove_prefix(1);
    if (digits.starts_with('-')) return number_error("Atoi", text, "invalid syntax");
  }
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) {
    return number_error("Atoi", text, "invalid syntax");
  }
  if (error != std::errc{}) return number_error("Atoi", text, "value out of range");
  return value;
}

Result<bool> parse_bool(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  static constexpr std::array<std::string_view, 6> kFalse = {"0",     "f",     "F",
                                                             "FALSE", "false", "False"};
  for (const std::string_view word : kTrue) {
    if (text == word) return true;
  }
  for (const std::string_view word : kFalse) {
    if (text == word) return false;
  }
  return number_error("ParseBool", text, "invalid syntax");
}

std::string quote(std::string_view text) {
  constexpr std::string_view kEscaped = "\a\b\f\n\r\t\v\"\\";
  constexpr std::string_view kLetters = "abfnrtv\"\\";
  std::string out = "\"";
  while (!text.empty()) {
    const utf8::Rune rune = utf8::decode(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (const auto known = kEscaped.find(text[0]); known != std::string_view::npos) {
      out += {'\\', kLetters[known]};
    } else if (byte < 0x20 || byte == 0x7f || !rune.valid) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += text.substr(0, rune.size);
    }
    text.remove_prefix(rune.size);
  }
  return out + '"';
}

}  // namespace pinfold::go
