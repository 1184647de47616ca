#pragma once

#include <vector>

#include "pinfold/audit/observed.hpp"
#include "pinfold/checkpoint/running_container.hpp"

namespace pinfold::audit {

/// Returns the containers that run, without sandboxes, named as in an audit.
[[nodiscard]] std::vector<checkpoint::RunningContainer> running_containers(
    const Observed& observed);

}  // namespace pinfold::audit
