#pragma once

#include <string>
#include <vector>

#include "pinfold/enforce/layout.hpp"

namespace pinfold::enforce {

/// What is not as it should be, one sentence for each, "pod1/c1: cpuset.cpus is '0-7', expected
/// '2-3'"; empty if nothing is.
[[nodiscard]] std::vector<std::string> drift(const Layout& observed, const Layout& desired);

}  // namespace pinfold::enforce
