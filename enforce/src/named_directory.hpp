#pragma once

#include <string>

#include "pinfold/base/result.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::enforce {

/// Opens a directory that another program named.
/// Errors: kNotFound, kIo; kInvalidArgument if it is not in a cgroup mount.
[[nodiscard]] Result<UniqueFd> open_named_directory(const std::string& directory);

}  // namespace pinfold::enforce
