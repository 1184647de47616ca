#pragma once

#include <map>
#include <string>

#include "pinfold/api/config.hpp"
#include "pinfold/enforce/cgroups.hpp"

/// Partitions: the kernel keeps everything else off a container's CPUs. See docs/cgroups.md.
namespace pinfold::enforce {

/// Ends partitions that are no longer desired or will get other CPUs; called before a plan is
/// applied. Returns: the error of each group whose partition could not be ended.
[[nodiscard]] std::map<GroupName, Error> end_partitions(Cgroups& cgroups, const Layout& observed,
                                                        const Layout& desired, Partition kind);
/// Makes every container with exclusive CPUs a partition, as far as the kernel allows; called after
/// a plan was applied. A container that cannot be one stays an ordinary group and keeps its cpuset.
/// Returns: the kernel's reason for each such container.
[[nodiscard]] std::map<GroupName, std::string> begin_partitions(Cgroups& cgroups,
                                                                const Layout& desired,
                                                                Partition kind);

}  // namespace pinfold::enforce
