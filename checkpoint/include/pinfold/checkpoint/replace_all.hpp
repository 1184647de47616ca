#pragma once

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"

namespace pinfold::checkpoint {

/// Replaces each file as a whole, in the order of their names. Durable on return. Errors: kIo; some
/// files may have been replaced then.
[[nodiscard]] Result<void> replace_all(Fs& fs, const Contents& contents);

}  // namespace pinfold::checkpoint
