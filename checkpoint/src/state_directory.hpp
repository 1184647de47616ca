#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::checkpoint {

/// Errors: kInvalidArgument for a mode that is not a regular file's; it names `file` and the kind.
[[nodiscard]] Result<void> check_is_regular(mode_t mode, const std::string& file);

/// Checks a state directory that is open as `directory`, and those of `names` that are the
/// kubelet's or Pinfold's: they are regular files, and with OwnerCheck::kOn only root and the
/// caller can change them, the directory and the directories above it. Opens no file, so a FIFO
/// does not block. Errors: kInvalidArgument; kIo.
[[nodiscard]] Result<void> check_state_directory(int directory, const std::string& path,
                                                 const std::vector<std::string>& names,
                                                 OwnerCheck owners);

}  // namespace pinfold::checkpoint
