#pragma once

#include <string>
#include <vector>

#include "pinfold/agent/desired.hpp"
#include "pinfold/enforce/foreign.hpp"
#include "pinfold/enforce/narrowed.hpp"

namespace pinfold::agent {

/// "'/sys/fs/cgroup/kubepods' has CPUs 0-3", and which group is a partition.
[[nodiscard]] std::string describe(const enforce::NarrowGroup& group);

/// Adds foreign groups whose processes run on exclusive CPUs or cannot be read.
void add_foreign_drift(const std::vector<enforce::ForeignGroup>& foreign, const Desired& desired,
                       std::vector<std::string>& lines);

}  // namespace pinfold::agent
