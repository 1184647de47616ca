#pragma once

#include <string>
#include <string_view>

namespace pinfold {

/// Escapes text for an XML element or attribute: '&', '<', '>' and '"' become entities. Domain:
/// characters that XML allows.
[[nodiscard]] std::string escape_xml(std::string_view text);

}  // namespace pinfold
