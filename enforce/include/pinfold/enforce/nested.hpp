#pragma once

#include <functional>
#include <string>

#include "pinfold/enforce/group.hpp"

/// Groups that a container makes below its own (a container runtime or init system inside it), and
/// the CPUs they keep when the container's set changes: docs/cgroups.md.
namespace pinfold::enforce {

/// Says which child groups may be written; empty: all.
using MayWrite = std::function<bool(const std::string& name)>;

/// Writes cpuset.cpus or cpuset.mems of a group. cgroup v1 (and v2 on Linux 5.10) refuses a set
/// that does not contain the sets of the groups below, so these are reduced first, deepest first;
/// one that would have nothing left gets the whole new set. A group below with the same set as the
/// group gets the new set too. Otherwise (cgroup v2) the groups below follow by themselves, except
/// partitions.
/// Domain: `set` is not empty on cgroup v1.
/// Errors: kIo, naming the group below that keeps its set; kBusy if a partition below keeps CPUs.
[[nodiscard]] Result<void> write_set(const Group& group, const std::string& file, const CpuSet& set,
                                     const MayWrite& may_write = {});

}  // namespace pinfold::enforce
