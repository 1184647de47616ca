#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::checkpoint {

/// Checks that a mode is that of a regular file. Errors: kInvalidArgument, naming `file` and its
/// kind.
[[nodiscard]] Result<void> check_is_regular(mode_t mode, const std::string& file);

/// Checks a state directory that is open as `directory`, and those of `names` that are the
/// kubelet's or Pinfold's files: they must be regular, and with OwnerCheck::kOn only root and the
/// caller may be able to change them, the directory and the directories above it. Opens no file, so
/// a FIFO does not block. Errors: kInvalidArgument; kIo.
[[nodiscard]] Result<void> check_state_directory(int directory, const std::string& path,
                                                 const std::vector<std::string>& names,
                                                 OwnerCheck owners);

}  // namespace pinfold::checkpoint
