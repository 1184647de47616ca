#pragma once

#include <set>
#include <string>
#include <vector>

#include "pinfold/types/cpuset.hpp"

/// Whether the kernel, the service and the runtime agree.
namespace pinfold::driver {

/// All that a command prints.
[[nodiscard]] std::string output_of(const std::string& command);
/// Runs a command that must succeed.
void run(const std::string& command);

/// The cpuset of a group of the kernel, given its path in the hierarchy; empty if there is none.
[[nodiscard]] CpuSet cpus_of_group(const std::string& group);

/// Every running container has exactly its CPUs, at once, and no other group can run on exclusive
/// ones. What the service has and the runtime has not may stay until the service's next look: the
/// runtime does not report every end. Throws what is wrong.
void expect_right_state(const std::string& when);

/// What there is without any pod, once a pod has been made and removed.
struct Footprint {
  std::set<std::string> state_files;  ///< names in the state directory
  /// Of the service: paths, "socket", "anon_inode:[eventfd]".
  std::multiset<std::string> open_files;
};
[[nodiscard]] Footprint footprint();

enum class EmptyGroups {
  kNone,
  kOfRuntime,  ///< a runtime that was killed has forgotten some
};
/// The same as expect_right_state without any pod: all CPUs are in the shared pool again, no group
/// is left, no file has been added to the state directory, and the service, also one that was
/// started since, has no more open files.
void expect_nothing_left(const Footprint& before, EmptyGroups empty_groups);

/// Groups of containers of which a killed runtime knows nothing any more, once it has no pod.
struct Forgotten {
  std::vector<std::string> empty;
  std::vector<std::string> running;  ///< with processes: it was killed while it created them
};
[[nodiscard]] Forgotten forgotten_groups();
/// Ends their processes, as the kubelet does below the group of a pod that has ended.
void end_forgotten(const Forgotten& groups);

}  // namespace pinfold::driver
