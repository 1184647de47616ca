#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::checkpoint {

/// What a file is by its mode: "a directory", "a FIFO".
[[nodiscard]] std::string kind_of_file(mode_t mode);

/// Checks a state directory that is open as `directory`, and those of `names` that are the
/// kubelet's or Pinfold's: they are regular files, and with OwnerCheck::kOn only root and the
/// caller can change them, the directory and the directories above it. Opens no file, so a FIFO
/// does not block. Errors: kInvalidArgument; kIo.
[[nodiscard]] Result<void> check_state_directory(int directory, const std::string& path,
                                                 const std::vector<std::string>& names,
                                                 OwnerCheck owners);

}  // namespace pinfold::checkpoint
