#pragma once

#include <optional>
#include <string>

#include "pinfold/enforce/group.hpp"

namespace pinfold::enforce {

/// Reads a file; nullopt if it is gone. Errors: kIo.
[[nodiscard]] Result<std::optional<std::string>> read_if_exists(const GroupReader::Part& part,
                                                                const std::string& file);
/// Returns true for a cgroup v1 group that was created but never filled: there an empty set means
/// no CPUs (on cgroup v2: the parent's). It and the groups below it can have no processes. Errors:
/// kIo.
[[nodiscard]] Result<bool> is_blank(const GroupReader& group);

}  // namespace pinfold::enforce
