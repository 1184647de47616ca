#pragma once

#include <optional>
#include <string>

#include "pinfold/enforce/cgroups.hpp"

/// Foreign groups above a group, which can take CPUs away from it. They are only read.
namespace pinfold::enforce {

/// Returns the CPUs of the nearest group above `directory` that has a cpuset: on cgroup v1 a group
/// can have no others. nullopt if none can be read.
[[nodiscard]] std::optional<CpuSet> cpus_above(const Cgroups& cgroups,
                                               const std::string& directory);

/// A group and its CPUs.
struct NarrowGroup {
  std::string directory;
  CpuSet cpus;
  /// The partition inside it that holds some of the missing CPUs: the kernel keeps everything else
  /// off them. "" if there is none.
  std::string partition;
};
/// Returns the topmost group above `directory` that lacks some of the `expected` CPUs: its cpuset
/// takes them away from all groups below it. nullopt if no group above lacks any.
[[nodiscard]] std::optional<NarrowGroup> find_narrow_group(const Cgroups& cgroups,
                                                           const std::string& directory,
                                                           const CpuSet& expected);

}  // namespace pinfold::enforce
