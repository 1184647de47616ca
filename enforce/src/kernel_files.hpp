#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

/// All reading of /proc and /sys but the control groups.
namespace pinfold::enforce {

/// The whole file; "" if it cannot be read: it belongs to a process that has ended, or to a feature
/// that this kernel does not have.
[[nodiscard]] std::string read_kernel_file(const std::string& path);
/// /proc/PID/`file`.
[[nodiscard]] std::string read_process_file(pid_t pid, std::string_view file);
/// The names in a directory, in no order; none if it cannot be read.
[[nodiscard]] std::vector<std::string> list_kernel_directory(const std::string& path);

}  // namespace pinfold::enforce
