#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/text/utf8.hpp"

namespace pinfold::checkpoint {
namespace {

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain = {};
  for (std::size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = true;
  for (const char c : {'"', '\\', '<', '>', '&'}) plain[static_cast<unsigned char>(c)] = false;
  return plain;
}();

bool is_plain(char c) { return kPlain[static_cast<unsigned char>(c)]; }

void append_ascii_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

void append_escaped(std::string& out, std::string_view value) {
  for (std::size_t i = 0; i < value.size();) {
    if (static_cast<unsigned char>(value[i]) < 0x80) {
      if (is_plain(value[i])) {
        out += value[i];
      } else {
        append_ascii_escape(out, value[i]);
      }
      ++i;
      continue;
    }
    const utf8::Rune rune = utf8::decode(value.substr(i));
    if (!rune.valid) {
      out += "\\ufffd";
    } else if (rune.value == 0x2028 || rune.value == 0x2029) {  // line separators in JavaScript
      out += rune.value == 0x2028 ? "\\u2028" : "\\u2029";
    } else {
      out += value.substr(i, rune.size);
    }
    i += rune.size;
  }
}

}  // namespace

void JsonWriter::key(std::int64_t number) { key(fmt::format_int(number).c_str()); }

void JsonWriter::string(std::string_view value) {
  text_ += '"';
  if (std::all_of(value.begin(), value.end(), is_plain)) {
    text_ += value;
  } else {
    append_escaped(text_, value);
  }
  text_ += '"';
}

}  // namespace pinfold::checkpoint
