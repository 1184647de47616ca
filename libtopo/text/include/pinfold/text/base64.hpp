#pragma once

#include <string>
#include <string_view>

namespace pinfold {

/// Decodes base64 (RFC 4648). Stops at the first other character, such as padding.
[[nodiscard]] std::string decode_base64(std::string_view text);

}  // namespace pinfold
