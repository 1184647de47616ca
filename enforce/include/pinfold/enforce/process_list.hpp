#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace pinfold::enforce {

/// A process that cannot be taken for a later one with the same number.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  ///< field 22 of /proc/PID/stat

  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

/// Nothing if there is no such process (any more).
[[nodiscard]] std::optional<ProcessId> identify(pid_t pid);
/// Its path in the hierarchy with the cpusets, as /proc/PID/cgroup tells it; "" if it is gone.
[[nodiscard]] std::string cpuset_path(pid_t pid);
/// True if `path` is `group` ("pod1/c1", relative to any root) or lies below it.
[[nodiscard]] bool is_within(std::string_view path, std::string_view group);

/// Which processes ran in which group ("pod1/c1") when the agent looked last.
using ProcessList = std::map<std::string, std::set<ProcessId>>;
inline constexpr std::string_view kProcessesFileName = ".pinfold_processes";
/// One line for each process: "PID START_TIME GROUP".
[[nodiscard]] std::string encode_processes(const ProcessList& list);
/// Lines that are none of these are left out.
[[nodiscard]] ProcessList decode_processes(std::string_view text);

}  // namespace pinfold::enforce
