#pragma once

#include <cstddef>
#include <string>

#include "pinfold/enforce/processes.hpp"

/// CPU affinity: threads that may run on fewer CPUs than their group has. From Linux 6.2 on it
/// outlives changes of the cpuset.
namespace pinfold::enforce {

/// The CPU affinity of the processes of a group and of the groups below it.
struct Affinity {
  ProcessId main;            ///< the process that has run for the longest; pid 0: there is none
  CpuSet cpus;               ///< the CPUs of its group that its threads, together, may run on
  CpuSet group_cpus;         ///< the effective ones of its group
  std::size_t threads = 0;   ///< of all processes
  std::size_t narrowed = 0;  ///< of these, those that may run on a part of their group's CPUs only

  /// True if the main process as a whole cannot use all CPUs. One whose threads share them out is
  /// not limited: databases and packet processors pin their threads on purpose.
  [[nodiscard]] bool is_limited() const { return cpus != group_cpus; }

  friend bool operator==(const Affinity&, const Affinity&) = default;
};

/// What cannot be read, or ended meanwhile, is left out. Domain: a group with a process table.
[[nodiscard]] Affinity affinity_of(const Group& group);

/// "its process 123 may run on 2-3 only: CPU affinity, inherited or its own; 'taskset -apc ...'
/// widens it"; "" if it is not limited.
[[nodiscard]] std::string limit_of(const Affinity& affinity);
/// The command that lets all threads of a process run on every CPU of their group.
[[nodiscard]] std::string widening_command(pid_t process);

/// Widens the affinity of all processes of a group and of the groups below it, or of the `only`
/// one. Returns: the processes that were limited before and are not now. Errors: those of
/// ProcessTable::widen_affinity, but for processes that have ended; the others are done all the
/// same.
[[nodiscard]] Result<std::vector<pid_t>> widen_affinities(const Group& group,
                                                          std::optional<pid_t> only);

}  // namespace pinfold::enforce
