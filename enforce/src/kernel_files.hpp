#pragma once

#include <sys/types.h>

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// Reads all of /proc and /sys that the library needs, except the control groups, and parses the
/// kernel's text files: fields between separators, and numbers.
namespace pinfold::enforce {

/// Reads the whole file; returns "" if it cannot be read, because its process has ended or this
/// kernel lacks the feature.
[[nodiscard]] std::string read_kernel_file(const std::string& path);
/// Reads /proc/PID/`file`.
[[nodiscard]] std::string read_process_file(pid_t pid, std::string_view file);
/// Returns the names in a directory, unordered; empty if it cannot be read.
[[nodiscard]] std::vector<std::string> list_kernel_directory(const std::string& path);

/// Removes the next field, up to `separator`, from `rest` and returns it.
inline std::string_view next_field(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view field = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return field;
}

/// Parses a number. Returns false if `text` is anything else.
template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace pinfold::enforce
