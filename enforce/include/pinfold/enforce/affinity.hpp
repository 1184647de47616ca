#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "pinfold/enforce/process_table.hpp"

/// CPU affinity: detects and widens threads that may run on fewer CPUs than their group has. Since
/// Linux 6.2 an affinity survives changes of the cpuset.
namespace pinfold::enforce {

struct Group;
struct GroupReader;

/// The CPU affinity of the processes in a group and in the groups below it.
struct Affinity {
  ProcessId main;            ///< the process that has run longest; pid 0 if the group has none
  CpuSet cpus;               ///< the CPUs of its group that its threads together may run on
  CpuSet group_cpus;         ///< the effective CPUs of its group
  std::size_t threads = 0;   ///< of all processes
  std::size_t narrowed = 0;  ///< how many of them may run only on part of their group's CPUs

  /// Returns true if the main process as a whole cannot use all CPUs. A process that divides them
  /// among its threads is not limited: databases and packet processors pin their threads on
  /// purpose.
  [[nodiscard]] bool is_limited() const { return cpus != group_cpus; }

  friend bool operator==(const Affinity&, const Affinity&) = default;
};

/// Reads the affinity of all processes; skips those that cannot be read or end meanwhile. Domain: a
/// group with a process table.
[[nodiscard]] Affinity affinity_of(const GroupReader& group);

/// Returns "the CPU affinity of its process 123 permits only CPUs 2-3; 'taskset -apc
/// ...' widens it", or "" if the affinity is not limited.
[[nodiscard]] std::string limit_of(const Affinity& affinity);
/// Returns the command that lets all threads of a process run on every CPU of their group.
[[nodiscard]] std::string widening_command(pid_t process);

/// Widens the affinity of all processes in a group and in the groups below it, or only that of
/// process `only`. Returns: the processes that were limited and no longer are. Errors: those of
/// ProcessTable::widen_affinity, except for processes that have ended; an error does not stop the
/// others.
[[nodiscard]] Result<std::vector<pid_t>> widen_affinities(const Group& group,
                                                          std::optional<pid_t> only);

}  // namespace pinfold::enforce
