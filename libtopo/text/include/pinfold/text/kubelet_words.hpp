#pragma once

#include <string>
#include <string_view>

namespace pinfold {

/// Replaces each text of Go's libraries within an error by plain words and adds the original, which
/// is what a kubelet logs: "reservedSystemCPUs: "0:1" is not a whole number (kubelet:
/// strconv.Atoi: parsing "0:1": invalid syntax)". Texts that already follow "(kubelet: " and all
/// other text stay.
/// Domain: texts of encoding/json, strconv, time and resource.Quantity.
[[nodiscard]] std::string in_plain_words(std::string_view error);

}  // namespace pinfold
