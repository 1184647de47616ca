#pragma once

#include <string>
#include <vector>

#include "pinfold/enforce/layout.hpp"

namespace pinfold::enforce {

/// Where the observed layout differs from the desired one, one sentence for each difference:
/// "pod1/c1: cpuset.cpus is '0-7', expected '2-3'".
[[nodiscard]] std::vector<std::string> drift(const Layout& observed, const Layout& desired);
/// The same for one group; nothing for one that is not desired.
[[nodiscard]] std::vector<std::string> drift_of(const GroupName& name, const Layout& observed,
                                                const Layout& desired);

}  // namespace pinfold::enforce
