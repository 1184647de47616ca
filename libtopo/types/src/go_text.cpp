#include "pinfold/types/go_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

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
  // from_chars takes '-' but not '+'; Go takes one sign of either kind.
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
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out += fmt::format("\\x{:02x}", byte);
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

}  // namespace pinfold::go
