#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "agent.hpp"

/// The state of a guest that a scenario can change.
namespace pinfold::guest {

/// Maps each name to what is known about it.
using Facts = std::map<std::string, std::string>;

/// Joins several texts.
[[nodiscard]] std::string joined(std::initializer_list<std::string_view> parts);

/// User-space processes: "PID" to name, start time, groups, and allowed CPUs and memory nodes.
[[nodiscard]] Facts processes();
/// Mounts: "ID MOUNTPOINT" to the line in mountinfo.
[[nodiscard]] Facts mounts();
inline constexpr const char* kIsGroup = "a cgroup";
/// The groups of all hierarchies (value kIsGroup) and the files with their settings.
[[nodiscard]] Facts groups(const Agent& agent);
/// All files that do not belong to the kernel.
[[nodiscard]] Facts files();
/// CPUs, huge pages, modules, devices, shared memory, and the kernel's settings.
[[nodiscard]] Facts kernel();
/// Returns the difference between the clock and the time since boot.
[[nodiscard]] std::chrono::seconds clock_offset();

struct Baseline {
  Facts processes;
  Facts mounts;
  Facts groups;
  Facts files;
  Facts kernel;
  std::chrono::seconds clock{0};
};

}  // namespace pinfold::guest
