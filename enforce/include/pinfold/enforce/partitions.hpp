#pragma once

#include <map>
#include <string>

#include "pinfold/api/config.hpp"
#include "pinfold/enforce/cgroups.hpp"

/// Partitions: the kernel keeps everything else off the CPUs of a container. docs/cgroups.md.
namespace pinfold::enforce {

/// Ends the partitions of groups that are to be none or to get other CPUs; before a plan is
/// applied. Returns: why those did not end that should have.
[[nodiscard]] std::map<GroupName, Error> end_partitions(Cgroups& cgroups, const Layout& observed,
                                                        const Layout& desired, Partition kind);
/// Makes every container with exclusive CPUs a partition, as far as the kernel allows it; after a
/// plan was applied. A container that cannot be one is an ordinary group, and keeps its cpuset.
/// Returns: the kernel's reason for each of those.
[[nodiscard]] std::map<GroupName, std::string> begin_partitions(Cgroups& cgroups,
                                                                const Layout& desired,
                                                                Partition kind);

}  // namespace pinfold::enforce
