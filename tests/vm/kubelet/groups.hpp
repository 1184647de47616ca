#pragma once

#include <string>
#include <vector>

/// The control groups and processes of the fake kubelet, on cgroup v2.
namespace pinfold::test {

/// A container that runs: its group and its program.
struct Place {
  std::string group;  ///< full path
  std::string cpus;   ///< cpuset.cpus
  std::string mems;   ///< cpuset.mems; "": not set
  std::vector<std::string> command;
};

/// Makes the group with its parents, sets its cpuset, and starts the program unless one runs there.
void run(const Place& place);
[[nodiscard]] bool has_process(const std::string& group);
/// Returns the directories of pods below the groups of all QoS classes.
[[nodiscard]] std::vector<std::string> pod_groups();
/// Kills all processes of a pod's group and removes it.
void remove_group(const std::string& group);

inline constexpr const char* kPods = "/sys/fs/cgroup/kubepods";

}  // namespace pinfold::test
