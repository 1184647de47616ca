#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "agent.hpp"

/// What a guest is like, as far as a scenario can change it.
namespace pinfold::guest {

/// Names to what is known of them.
using Facts = std::map<std::string, std::string>;

/// One text of several.
[[nodiscard]] std::string joined(std::initializer_list<std::string_view> parts);

/// The processes of programs: "PID" to when it started, its groups, and where it may run.
[[nodiscard]] Facts processes();
/// "ID MOUNTPOINT" to the line of mountinfo.
[[nodiscard]] Facts mounts();
inline constexpr const char* kIsGroup = "a cgroup";
/// The groups of all hierarchies (kIsGroup), and the files of their settings.
[[nodiscard]] Facts groups(const Agent& agent);
/// All files that are not the kernel's.
[[nodiscard]] Facts files();
/// CPUs, huge pages, modules, devices, memory that processes share, and the kernel's settings.
[[nodiscard]] Facts kernel();
/// How far the clock is from the time since the boot.
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
