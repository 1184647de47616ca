#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/text/utf8.hpp"

namespace pinfold::checkpoint {
namespace {

/// Parses the four hexadecimal digits of a \u escape. Domain: `digits` begins with them.
char32_t hex4(std::string_view digits) {
  std::uint16_t value = 0;
  std::from_chars(digits.data(), digits.data() + 4, value, 16);
  return value;
}

char32_t unescape(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return static_cast<unsigned char>(c);
  }
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// Removes the first byte of a key, or the first character if that folds to an ASCII letter.
/// Returns it, letters in upper case.
char take_folded(std::string_view& key) {
  const char first = key.front();
  if (is_ascii(first)) {
    key.remove_prefix(1);
    return first >= 'a' && first <= 'z' ? static_cast<char>(first - 'a' + 'A') : first;
  }
  constexpr std::string_view kLongS = "\xc5\xbf";
  constexpr std::string_view kKelvin = "\xe2\x84\xaa";
  const bool is_long_s = key.starts_with(kLongS);
  const bool is_kelvin = key.starts_with(kKelvin);
  key.remove_prefix(is_long_s ? kLongS.size() : is_kelvin ? kKelvin.size() : 1);
  return is_long_s ? 'S' : is_kelvin ? 'K' : first;
}

template <class Number>
bool parse_number(std::string_view token, Number& out) {
  Number value = 0;
  const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc{} || stop != token.data() + token.size()) return false;
  out = value;
  return true;
}

}  // namespace

bool JsonReader::same_field(std::string_view key, std::string_view name) {
  while (!key.empty() && !name.empty()) {
    if (take_folded(key) != take_folded(name)) return false;
  }
  return key.empty() && name.empty();
}

bool JsonReader::null() {
  if (peek() != 'n') return false;
  pos_ += 4;
  return true;
}

void JsonReader::read(std::string& out, std::string_view go_type) {
  if (null()) return;
  if (peek() != '"') return wrong_type(go_type);
  out = unquote();
}

void JsonReader::read(std::uint64_t& out, std::string_view go_type) {
  if (null()) return;
  const std::string_view token = number_token();
  if (token.empty()) return wrong_type(go_type);
  if (!parse_number(token, out)) mismatch(fmt::format("number {}", token), go_type);
}

void JsonReader::read(std::int64_t& out, std::string_view go_type) {
  if (null()) return;
  const std::string_view token = number_token();
  if (token.empty()) return wrong_type(go_type);
  if (!parse_number(token, out)) mismatch(fmt::format("number {}", token), go_type);
}

std::string_view JsonReader::raw() {
  (void)peek();
  const std::size_t start = pos_;
  skip();
  return text_.substr(start, pos_ - start);
}

void JsonReader::skip() {
  std::size_t depth = 0;
  do {
    switch (peek()) {
      case '"':
        skip_string();
        break;
      case '{':
      case '[':
        ++depth;
        ++pos_;
        break;
      case '}':
      case ']':
        --depth;
        ++pos_;
        break;
      default:  // a literal, a comma or a colon
        pos_ = std::min(text_.find_first_of(" \t\r\n,:]}\"{[", pos_ + 1), text_.size());
    }
  } while (depth > 0);
}

JsonReader JsonReader::nested() {
  peek();
  const std::size_t start = pos_;
  skip();
  JsonReader inner(text_.substr(start, pos_ - start));
  inner.struct_ = struct_;
  inner.path_ = path_;
  inner.is_nested_ = true;
  return inner;
}

void JsonReader::mismatch(std::string_view what, std::string_view go_type) {
  if (!error_.empty()) return;
  error_ = path_.empty()
               ? fmt::format("json: cannot unmarshal {} into Go value of type {}", what, go_type)
               : fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}",
                             what, struct_, fmt::join(path_, "."), go_type);
}

char JsonReader::peek() {
  pos_ = std::min(text_.find_first_not_of(" \t\r\n", pos_), text_.size());
  return pos_ < text_.size() ? text_[pos_] : '\0';
}

bool JsonReader::enter(char bracket, std::string_view go_type) {
  if (peek() != bracket) {
    wrong_type(go_type);
    return false;
  }
  ++pos_;
  return true;
}

bool JsonReader::next_key(std::string& key) {
  if (!next_element()) return false;
  key = unquote();
  peek();
  ++pos_;  // the colon
  return true;
}

bool JsonReader::next_element() {
  const char c = peek();
  if (c == '}' || c == ']' || c == ',') ++pos_;
  peek();
  return c != '}' && c != ']';
}

void JsonReader::wrong_type(std::string_view go_type) {
  switch (peek()) {
    case '{':
      mismatch("object", go_type);
      break;
    case '[':
      mismatch("array", go_type);
      break;
    case '"':
      mismatch("string", go_type);
      break;
    case 't':
    case 'f':
      mismatch("bool", go_type);
      break;
    default:
      mismatch("number", go_type);
  }
  skip();
}

std::string_view JsonReader::number_token() {
  const char c = peek();
  if (c != '-' && (c < '0' || c > '9')) return {};
  const std::size_t start = pos_;
  skip();
  return text_.substr(start, pos_ - start);
}

std::string JsonReader::unquote() {
  std::string out;
  for (++pos_; text_[pos_] != '"';) {
    const std::string_view rest = text_.substr(pos_);
    const auto* const end = std::find_if(
        rest.begin(), rest.end(), [](char c) { return c == '"' || c == '\\' || !is_ascii(c); });
    const auto plain = static_cast<std::size_t>(end - rest.begin());
    if (plain > 0) {
      out += rest.substr(0, plain);
      pos_ += plain;
    } else if (rest[0] != '\\') {
      const utf8::Rune rune = utf8::decode(rest);
      utf8::append(out, rune.value);
      pos_ += rune.size;
    } else if (rest[1] != 'u') {
      utf8::append(out, unescape(rest[1]));
      pos_ += 2;
    } else {
      char32_t rune = hex4(rest.substr(2));
      pos_ += 6;
      if (rune >= 0xD800 && rune < 0xE000) {  // a surrogate; replaced unless part of a pair
        const bool pair = rune < 0xDC00 && rest.size() >= 12 && rest[6] == '\\' && rest[7] == 'u';
        const char32_t low = pair ? hex4(rest.substr(8)) : 0;
        const bool valid = low >= 0xDC00 && low < 0xE000;
        rune = valid ? 0x10000 + ((rune - 0xD800) << 10U) + (low - 0xDC00) : utf8::kReplacement;
        if (valid) pos_ += 6;
      }
      utf8::append(out, rune);
    }
  }
  ++pos_;
  return out;
}

void JsonReader::skip_string() {
  for (++pos_; text_[pos_] != '"'; ++pos_) {
    if (text_[pos_] == '\\') ++pos_;
  }
  ++pos_;
}

}  // namespace pinfold::checkpoint
