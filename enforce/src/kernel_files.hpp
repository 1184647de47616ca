#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

/// Reads all of /proc and /sys that the library needs, except the control groups.
namespace pinfold::enforce {

/// Reads the whole file; returns "" if it cannot be read, because its process has ended or this
/// kernel lacks the feature.
[[nodiscard]] std::string read_kernel_file(const std::string& path);
/// Reads /proc/PID/`file`.
[[nodiscard]] std::string read_process_file(pid_t pid, std::string_view file);
/// Returns the names in a directory, unordered; empty if it cannot be read.
[[nodiscard]] std::vector<std::string> list_kernel_directory(const std::string& path);

}  // namespace pinfold::enforce
