#include "pinfold/gate/json.hpp"

#include <algorithm>
#include <charconv>

namespace pinfold::gate {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kEscapes = "\"\\/bfnrt";
constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t";
constexpr std::size_t kHexDigits = 4;

/// Returns the character of "uXXXX".
std::optional<char> unescape_unicode(std::string_view escape) {
  constexpr unsigned kAscii = 128;
  if (escape.size() <= kHexDigits) return std::nullopt;
  unsigned code = 0;
  const char* const end = escape.data() + 1 + kHexDigits;
  if (std::from_chars(escape.data() + 1, end, code, 16).ptr != end) return std::nullopt;
  return code < kAscii ? static_cast<char>(code) : '?';
}

}  // namespace

void JsonCursor::fail() {
  failed_ = true;
  text_ = {};
}

char JsonCursor::peek() {
  text_.remove_prefix(std::min(text_.find_first_not_of(kSpace), text_.size()));
  return text_.empty() ? '\0' : text_.front();
}

bool JsonCursor::take(char c) {
  if (peek() != c || text_.empty()) return false;
  text_.remove_prefix(1);
  return true;
}

bool JsonCursor::at_end() {
  (void)peek();
  return !failed_ && text_.empty();
}

void JsonCursor::enter() {
  if (!take('{')) fail();
  is_first_ = true;
}

std::optional<std::string_view> JsonCursor::next() {
  const bool was_first = is_first_;
  is_first_ = false;
  if (take('}')) return std::nullopt;
  if (!was_first && !take(',')) fail();
  if (peek() != '"') fail();
  if (failed_) return std::nullopt;
  const std::string_view key = take_string();
  if (!take(':')) fail();
  return failed_ ? std::nullopt : std::optional(key);
}

std::optional<std::string_view> JsonCursor::text() {
  if (peek() != '"') {
    skip();
    return std::nullopt;
  }
  const std::string_view text = take_string();
  return failed_ ? std::nullopt : std::optional(text);
}

std::optional<std::int64_t> JsonCursor::integer() {
  const char first = peek();
  if (first != '-' && (first < '0' || first > '9')) {
    skip();
    return std::nullopt;
  }
  const std::string_view digits = take_literal();
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

/// Domain: a quotation mark comes next.
std::string_view JsonCursor::take_string() {
  std::size_t end = 1;
  while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) {
    fail();
    return {};
  }
  const std::string_view text = text_.substr(1, end - 1);
  text_.remove_prefix(end + 1);
  return text;
}

std::string_view JsonCursor::take_literal() {
  const std::size_t end = std::min(text_.find_first_of(",:]}{[\" \t\r\n"), text_.size());
  const std::string_view literal = text_.substr(0, end);
  text_.remove_prefix(end);
  if (literal.empty()) fail();
  return literal;
}

void JsonCursor::skip() {
  std::size_t depth = 0;
  do {
    const char c = peek();
    if (c == '"') {
      (void)take_string();
    } else if (c == '{' || c == '[') {
      ++depth;
      text_.remove_prefix(1);
    } else if (depth > 0 && (c == '}' || c == ']')) {
      --depth;
      text_.remove_prefix(1);
    } else if (depth > 0 && (c == ',' || c == ':')) {
      text_.remove_prefix(1);
    } else {
      (void)take_literal();
    }
  } while (depth > 0 && !failed_);
}

std::optional<std::string_view> unescape(std::span<char> text) {
  std::size_t size = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      text[size++] = text[at];
      continue;
    }
    const std::string_view rest(text.data() + at + 1, text.size() - at - 1);
    const std::size_t known = rest.empty() ? kEscapes.npos : kEscapes.find(rest.front());
    const bool is_unicode = rest.starts_with('u');
    const auto c = is_unicode               ? unescape_unicode(rest)
                   : known != kEscapes.npos ? std::optional(kEscaped[known])
                                            : std::nullopt;
    if (!c) return std::nullopt;
    text[size++] = *c;
    at += is_unicode ? 1 + kHexDigits : 1;
  }
  return std::string_view(text.data(), size);
}

}  // namespace pinfold::gate
