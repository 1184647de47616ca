#pragma once

#include <cstddef>
#include <string_view>

namespace pinfold {

/// The length of the UTF-8 character that `text` begins with; 0 if it is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

}  // namespace pinfold
