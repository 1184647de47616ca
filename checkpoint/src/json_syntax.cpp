#include <fmt/format.h>

#include <vector>

#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/text/go_text.hpp"
#include "pinfold/text/utf8.hpp"

namespace pinfold::checkpoint {
namespace {

constexpr std::size_t kMaxDepth = 10000;
constexpr std::string_view kEnd = "unexpected end of JSON input";

/// Prints a byte as Go does: the character with that code point, quoted.
std::string quote_byte(char c) {
  if (c == '\'') return R"('\'')";
  if (c == '"') return R"('"')";
  std::string text;
  utf8::append(text, static_cast<unsigned char>(c));
  const std::string quoted = go::quote(text);
  return fmt::format("'{}'", std::string_view(quoted).substr(1, quoted.size() - 2));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Walks a text once, keeping the nesting in a vector instead of on the call stack.
class Syntax {
 public:
  explicit Syntax(std::string_view text) : text_(text) {}

  std::optional<std::string> check() {
    if (!document()) return std::move(error_);
    return std::nullopt;
  }

 private:
  bool document() {
    if (!value_or_open()) return false;
    while (!open_.empty()) {
      if (!continue_container()) return false;
    }
    skip_space();
    return at_end() || bad("after top-level value");
  }

  /// Consumes a scalar, an empty container, or the opening of a non-empty container.
  bool value_or_open() {
    while (true) {
      skip_space();
      if (at_end()) return end();
      const char c = text_[pos_];
      if (c != '{' && c != '[') return scalar(c);
      if (open_.size() >= kMaxDepth) return bad("exceeded max depth");
      ++pos_;
      skip_space();
      if (at_end()) return end();
      if (text_[pos_] == (c == '{' ? '}' : ']')) {
        ++pos_;
        return true;
      }
      open_.push_back(c);
      if (c == '{' && !object_key()) return false;
    }
  }

  /// Consumes what follows a complete value in a container: its end, or the start of the next
  /// member.
  bool continue_container() {
    const bool object = open_.back() == '{';
    skip_space();
    if (at_end()) return end();
    const char c = text_[pos_];
    if (c == (object ? '}' : ']')) {
      ++pos_;
      open_.pop_back();
      return true;
    }
    if (c != ',') return bad(object ? "after object key:value pair" : "after array element");
    ++pos_;
    return (!object || object_key()) && value_or_open();
  }

  bool object_key() {
    skip_space();
    if (at_end()) return end();
    if (text_[pos_] != '"') return bad("looking for beginning of object key string");
    if (!string()) return false;
    skip_space();
    if (at_end()) return end();
    if (text_[pos_] != ':') return bad("after object key");
    ++pos_;
    return true;
  }

  bool scalar(char c) {
    switch (c) {
      case '"':
        return string();
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        return c == '-' || is_digit(c) ? number() : bad("looking for beginning of value");
    }
  }

  bool string() {
    for (++pos_; !at_end(); ++pos_) {
      const char c = text_[pos_];
      if (c == '"') {
        ++pos_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return bad("in string literal");
      if (c == '\\' && !escape()) return false;
    }
    return end();
  }

  bool escape() {
    ++pos_;
    if (next() != 'u') {
      return std::string_view(R"(bfnrt\/")").find(next()) != std::string_view::npos ||
             bad("in string escape code");
    }
    for (int i = 0; i < 4; ++i) {
      ++pos_;
      if (!is_hex(next())) return bad("in \\u hexadecimal character escape");
    }
    return true;
  }

  bool number() {
    if (text_[pos_] == '-') ++pos_;
    if (!at_end() && text_[pos_] == '0') {
      ++pos_;
    } else if (!digits("in numeric literal")) {
      return false;
    }
    if (!at_end() && text_[pos_] == '.') {
      ++pos_;
      if (!digits("after decimal point in numeric literal")) return false;
    }
    if (!at_end() && (text_[pos_] == 'e' || text_[pos_] == 'E')) {
      ++pos_;
      if (!at_end() && (text_[pos_] == '+' || text_[pos_] == '-')) ++pos_;
      if (!digits("in exponent of numeric literal")) return false;
    }
    return true;
  }

  bool digits(std::string_view context) {
    if (!is_digit(next())) return bad(context);
    while (!at_end() && is_digit(text_[pos_])) ++pos_;
    return true;
  }

  bool literal(std::string_view word) {
    for (const char expected : word) {
      if (next() != expected) {
        return bad(fmt::format("in literal {} (expecting '{}')", word, expected));
      }
      ++pos_;
    }
    return true;
  }

  void skip_space() {
    while (!at_end() && (text_[pos_] == ' ' || text_[pos_] == '\t' || text_[pos_] == '\r' ||
                         text_[pos_] == '\n')) {
      ++pos_;
    }
  }
  [[nodiscard]] bool at_end() const { return pos_ == text_.size(); }
  /// Go appends a space to a text: it completes a number and is an error in a literal or an escape.
  [[nodiscard]] char next() const { return at_end() ? ' ' : text_[pos_]; }

  bool bad(std::string_view context) {
    error_ = fmt::format("invalid character {} {}", quote_byte(next()), context);
    return false;
  }
  bool end() {
    error_ = kEnd;
    return false;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::vector<char> open_;
  std::string error_;
};

}  // namespace

std::optional<std::string> json_syntax_error(std::string_view text) { return Syntax(text).check(); }

}  // namespace pinfold::checkpoint
