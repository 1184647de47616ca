#pragma once

#include <string>
#include <vector>

#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/note.hpp"

namespace pinfold::checkpoint {

/// Adds to a written file the unknown keys of the file that it replaces, if both have the same
/// format; otherwise notes them in `lost`.
[[nodiscard]] std::string keep_keys(std::string written, const UnknownKeys& keys,
                                    bool is_same_format, std::vector<Note>& lost);

}  // namespace pinfold::checkpoint
