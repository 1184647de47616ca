#pragma once

#include <set>
#include <string>
#include <vector>

#include "pinfold/types/cpuset.hpp"

/// Checks that the kernel, the service and the runtime agree.
namespace pinfold::driver {

/// Returns the whole output of a command.
[[nodiscard]] std::string output_of(const std::string& command);
/// Runs a command that must succeed.
void run(const std::string& command);

/// Returns the cpuset of a group of the kernel, given its path in the hierarchy; empty if there is
/// none.
[[nodiscard]] CpuSet cpus_of_group(const std::string& group);

/// Expects that every running container has exactly its CPUs, at once, and that no other group can
/// run on exclusive ones. Pods and containers that the service has but the runtime does not may
/// stay until the service's next look, because the runtime does not report every end. Throws what
/// is wrong.
void expect_right_state(const std::string& when);

/// What remains without any pod, after one has been created and removed.
struct Footprint {
  std::set<std::string> state_files;  ///< names in the state directory
  /// Open files of the service: paths, "socket", "anon_inode:[eventfd]".
  std::multiset<std::string> open_files;
};
[[nodiscard]] Footprint footprint();

enum class EmptyGroups {
  kNone,
  kOfRuntime,  ///< a killed runtime has forgotten some
};
/// As expect_right_state, and without any pod: all CPUs are in the shared pool again, no group is
/// left, no file was added to the state directory, and the service, even if it was restarted, has
/// no more open files than before.
void expect_nothing_left(const Footprint& before, EmptyGroups empty_groups);

/// Groups of containers that a killed runtime no longer knows, once it has no pod.
struct Forgotten {
  std::vector<std::string> empty;
  std::vector<std::string> running;  ///< with processes: killed while it created them
};
[[nodiscard]] Forgotten forgotten_groups();
/// Ends their processes, as the kubelet does below the group of a pod that has ended.
void end_forgotten(const Forgotten& groups);

}  // namespace pinfold::driver
