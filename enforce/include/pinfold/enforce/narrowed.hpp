#pragma once

#include <optional>
#include <string>

#include "pinfold/enforce/cgroups.hpp"

/// Groups of others above a group, which can take CPUs away from it. They are only read.
namespace pinfold::enforce {

/// The CPUs of the nearest group above `directory` that has a cpuset: on cgroup v1 a group can have
/// no others. nullopt: none can be read.
[[nodiscard]] std::optional<CpuSet> cpus_above(const Cgroups& cgroups,
                                               const std::string& directory);

/// A group, and the CPUs that it has.
struct NarrowGroup {
  std::string directory;
  CpuSet cpus;
  /// The partition in it that has some of the others: the kernel keeps everything else off these.
  /// "": none.
  std::string partition;
};
/// The topmost group above `directory` that lacks some of the `expected` CPUs: whoever wrote its
/// cpuset has taken them from all groups below it. nullopt: no group above lacks any.
[[nodiscard]] std::optional<NarrowGroup> find_narrow_group(const Cgroups& cgroups,
                                                           const std::string& directory,
                                                           const CpuSet& expected);

}  // namespace pinfold::enforce
