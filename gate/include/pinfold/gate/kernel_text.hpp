#pragma once

#include <optional>
#include <string_view>

namespace pinfold::gate {

/// A control group as /proc/PID/cgroup names it.
struct GroupPath {
  std::string_view path;  ///< begins with "/"
  bool is_v1 = false;
};
/// The groups of a process that hold its cpuset and its CPU limit.
struct ProcessGroups {
  GroupPath cpuset;
  GroupPath cpu;
};

/// Parses /proc/PID/cgroup: a controller that version 1 does not have is in version 2.
/// Returns nullopt if a group is missing, or is outside the reader's cgroup namespace ("/..").
[[nodiscard]] std::optional<ProcessGroups> parse_process_groups(std::string_view text);

/// Returns whether a group is that of a Guaranteed pod of Kubernetes, or of its container: the
/// kubelet puts other pods below "burstable" and "besteffort".
[[nodiscard]] bool is_guaranteed(std::string_view path);

/// Returns whether a quota ("max" or "-1": none) is a whole number of CPUs. Units: microseconds.
[[nodiscard]] bool is_whole_cpus(std::string_view quota, std::string_view period);

/// Returns the texts before and after the first blank; the second is empty without one.
struct TwoWords {
  std::string_view first;
  std::string_view second;
};
[[nodiscard]] TwoWords split_words(std::string_view line);

/// Returns whether the beginning of the service's answer is that of an error, or malformed, or says
/// that the kernel does not have the change.
[[nodiscard]] bool is_error_answer(std::string_view line);

}  // namespace pinfold::gate
