#pragma once

#include "pinfold/enforce/group.hpp"

namespace pinfold::enforce {

/// Returns true if a controller is enabled for the groups below a cgroup v2 group. Errors:
/// kNotFound, kIo.
[[nodiscard]] Result<bool> is_enabled(const GroupReader::Part& part, Controller controller);
/// Enables a controller for the groups below; writes nothing if it is enabled already. Errors: as
/// is_enabled.
[[nodiscard]] Result<void> enable(const Group::Part& part, Controller controller);

/// Like enable(), but always writes. Errors: kNotFound, kIo.
[[nodiscard]] Result<void> switch_on(const Group::Part& part, Controller controller);

}  // namespace pinfold::enforce
