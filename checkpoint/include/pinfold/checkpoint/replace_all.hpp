#pragma once

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"

namespace pinfold::checkpoint {

/// Replaces files, each as a whole, in the order of their names. Durable when it returns. Errors:
/// kIo; then some may have been replaced.
[[nodiscard]] Result<void> replace_all(Fs& fs, const Contents& contents);

}  // namespace pinfold::checkpoint
