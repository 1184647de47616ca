#pragma once

#include <optional>
#include <string>

#include "pinfold/enforce/group.hpp"

namespace pinfold::enforce {

/// The content of a file; nullopt if it is gone. Errors: kIo.
[[nodiscard]] Result<std::optional<std::string>> read_if_exists(const Group::Part& part,
                                                                const std::string& file);
/// True for a group of cgroup v1 that was made, but not filled: it has nothing, while an empty set
/// of cgroup v2 means the parent's. No process can be in it, nor in a group below it. Errors: kIo.
[[nodiscard]] Result<bool> is_blank(const Group& group);

}  // namespace pinfold::enforce
