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

struct RuneRange {
  char32_t first;
  char32_t last;
};
/// Characters beyond ASCII that Go does not print: the Unicode categories Cc, Cf, Zs, Zl, Zp and
/// Co, and noncharacters up to U+FFFF. DIFFERENCE: unassigned code points are printed.
constexpr std::array<RuneRange, 27> kNotPrintable = {{
    {0x80, 0xA0},       {0xAD, 0xAD},       {0x600, 0x605},      {0x61C, 0x61C},
    {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},      {0x8E2, 0x8E2},
    {0x1680, 0x1680},   {0x180E, 0x180E},   {0x2000, 0x200F},    {0x2028, 0x202F},
    {0x205F, 0x206F},   {0x3000, 0x3000},   {0xE000, 0xF8FF},    {0xFDD0, 0xFDEF},
    {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},   {0xFFFE, 0xFFFF},    {0x110BD, 0x110BD},
    {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3},  {0x1D173, 0x1D17A},
    {0xE0001, 0xE0001}, {0xE0020, 0xE007F}, {0xF0000, 0x10FFFF},
}};

bool is_printable(char32_t rune) {
  return std::none_of(kNotPrintable.begin(), kNotPrintable.end(), [rune](const RuneRange& range) {
    return range.first <= rune && rune <= range.last;
  });
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
    } else if (!is_printable(rune.value)) {
      const auto value = static_cast<std::uint32_t>(rune.value);
      out += value < 0x10000 ? fmt::format("\\u{:04x}", value) : fmt::format("\\U{:08x}", value);
    } else {
      out += text.substr(0, rune.size);
    }
    text.remove_prefix(rune.size);
  }
  return out + '"';
}

}  // namespace pinfold::go
