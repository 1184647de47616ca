#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pinfold::gate {

/// Walks through a JSON text without allocation. The first error ends the walk: then every function
/// returns nothing and failed() is true. Strings are returned as they are in the text, with their
/// escapes.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  /// Enters the object that comes next; anything else is an error.
  void enter();
  /// Moves to the value of the object's next member and returns its key. At the end of the object,
  /// leaves it and returns nullopt.
  [[nodiscard]] std::optional<std::string_view> next();
  /// Returns the string that comes next; nullopt for a value of another type, which is skipped.
  [[nodiscard]] std::optional<std::string_view> text();
  /// Returns the number that comes next; nullopt as for text(), and if it is not a 64-bit integer.
  [[nodiscard]] std::optional<std::int64_t> integer();
  /// Skips a value. Brackets inside it are counted, not matched.
  void skip();

  [[nodiscard]] bool failed() const { return failed_; }
  /// Returns whether only white space is left, and no error occurred.
  [[nodiscard]] bool at_end();

 private:
  [[nodiscard]] char peek();
  [[nodiscard]] bool take(char c);
  [[nodiscard]] std::string_view take_string();
  [[nodiscard]] std::string_view take_literal();
  void fail();

  std::string_view text_;
  bool is_first_ = false;  ///< no member of the entered object was read yet
  bool failed_ = false;
};

/// Removes the escapes of a JSON string, in place. A character beyond ASCII that is escaped becomes
/// a question mark. Returns the part of `text` that holds the result; nullopt for a bad escape.
[[nodiscard]] std::optional<std::string_view> unescape(std::span<char> text);

}  // namespace pinfold::gate
