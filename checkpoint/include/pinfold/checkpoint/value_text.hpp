#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pinfold::checkpoint {

/// The base of GoDump and JsonWriter: a text with separators between the elements inside each
/// bracket. Small functions are inline because writing a state takes thousands of calls.
class ValueText {
 public:
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string take() && { return std::move(text_); }

  /// Called before every element of an array.
  void element() { separate(); }
  void number(std::uint64_t value);
  void number(std::int64_t value);

 protected:
  explicit ValueText(char separator) : separator_(separator) {}

  void open(std::string_view bracket) {
    text_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void separate() {
    if (!first_) text_ += separator_;
    first_ = false;
  }
  /// Omits the separator of the next element, which has one already or needs none.
  void skip_separator() { first_ = false; }

  std::string text_;

 private:
  char separator_;
  bool first_ = true;
};

}  // namespace pinfold::checkpoint
