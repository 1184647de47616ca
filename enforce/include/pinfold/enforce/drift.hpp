#pragma once

#include <string>
#include <vector>

#include "pinfold/enforce/layout.hpp"

namespace pinfold::enforce {

/// Returns the differences between the observed and the desired layout, one sentence each:
/// "pod1/c1: cpuset.cpus is '0-7', expected '2-3'".
[[nodiscard]] std::vector<std::string> drift(const Layout& observed, const Layout& desired);
/// Does the same for one group; returns nothing for a group that is not desired.
[[nodiscard]] std::vector<std::string> drift_of(const GroupName& name, const Layout& observed,
                                                const Layout& desired);

}  // namespace pinfold::enforce
