#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pinfold/checkpoint/convert.hpp"

namespace pinfold::checkpoint {

/// A file that was written, with the unknown keys of the one it is made `from` if that has the same
/// format; else they are added to `lost`.
[[nodiscard]] std::string keep_keys(std::string written, std::string_view from, bool is_same_format,
                                    std::vector<Note>& lost);

}  // namespace pinfold::checkpoint
