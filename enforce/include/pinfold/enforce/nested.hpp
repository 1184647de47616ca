#pragma once

#include <functional>
#include <string>

#include "pinfold/enforce/group.hpp"

/// Groups that a container makes below its own (a container runtime or an init system inside of
/// it), and what they keep when the container's set changes: docs/cgroups.md.
namespace pinfold::enforce {

/// Which of the groups right below a group may be written; empty: all.
using MayWrite = std::function<bool(const std::string& name)>;

/// Writes cpuset.cpus or cpuset.mems of a group. cgroup v1 (and v2 of Linux 5.10) refuses a set
/// that does not contain those of the groups below: these are reduced first, the deepest first; one
/// that would have nothing left gets the whole set. A group below with the same set as the group
/// gets the new one. Else the groups below follow, except partitions.
/// Domain: `set` is not empty on cgroup v1.
/// Errors: kIo, with the group below that keeps its set; kBusy for a partition below that keeps
/// CPUs.
[[nodiscard]] Result<void> write_set(const Group& group, const std::string& file, const CpuSet& set,
                                     const MayWrite& may_write = {});

}  // namespace pinfold::enforce
