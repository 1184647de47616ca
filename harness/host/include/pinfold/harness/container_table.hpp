#pragma once

#include <string>
#include <vector>

#include "pinfold/harness/judge.hpp"

namespace pinfold::harness {

/// Returns the table of a `verify` step: desired and observed values.
[[nodiscard]] std::string container_table(const std::vector<ContainerRow>& rows);

}  // namespace pinfold::harness
