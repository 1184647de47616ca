#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

/// Small files of /proc and /sys that are written.
namespace pinfold::quiet {

/// Reads a file without the line break at its end. Errors: kNotFound, kIo.
[[nodiscard]] Result<std::string> read_value(const std::string& path);
/// Writes a value with a single write. Errors: kNotFound, kIo, with the path and the value.
[[nodiscard]] Result<void> write_value(const std::string& path, std::string_view value);
/// Returns the names in a directory, sorted; empty if it cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const std::string& directory);

}  // namespace pinfold::quiet
