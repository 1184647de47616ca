#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/checkpoint/note.hpp"

namespace pinfold::checkpoint {

/// Adds to a written file the unknown keys of the file `from` that it replaces, if both have the
/// same format; otherwise notes them in `lost`.
[[nodiscard]] std::string keep_keys(std::string written, std::string_view from, bool is_same_format,
                                    std::vector<Note>& lost);

}  // namespace pinfold::checkpoint
