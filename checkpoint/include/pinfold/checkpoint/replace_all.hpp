#pragma once

#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"

namespace pinfold::checkpoint {

/// Writes all bytes. Errors: kIo.
[[nodiscard]] Result<void> write_all(File& file, std::string_view bytes);

/// Replaces each file as a whole, in the order of their names. Durable on return. Errors: kIo; some
/// files may have been replaced then.
[[nodiscard]] Result<void> replace_all(Fs& fs, const Contents& contents);

}  // namespace pinfold::checkpoint
