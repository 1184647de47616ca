#pragma once

#include "pinfold/enforce/group.hpp"

namespace pinfold::enforce {

/// True if the groups below a group of cgroup v2 have a controller. Errors: kNotFound, kIo.
[[nodiscard]] Result<bool> is_enabled(const Group::Part& part, Controller controller);
/// Gives the groups below it a controller; writes nothing if they have it. Errors: as is_enabled.
[[nodiscard]] Result<void> enable(const Group::Part& part, Controller controller);

/// The same without a look before. Errors: kNotFound, kIo.
[[nodiscard]] Result<void> switch_on(const Group::Part& part, Controller controller);

}  // namespace pinfold::enforce
