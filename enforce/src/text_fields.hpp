#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

/// Parsing of the kernel's text files: fields between separators, and numbers.
namespace pinfold::enforce {

/// Removes the next field, up to `separator`, from `rest` and returns it.
inline std::string_view next_field(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view field = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return field;
}

/// Returns false if `text` is anything but a number.
template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace pinfold::enforce
