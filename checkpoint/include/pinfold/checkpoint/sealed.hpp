#pragma once

#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// Our own files carry a first line with their kind and a checksum of the rest:
///   #pinfold_pods crc64 0123456789abcdef
namespace pinfold::checkpoint {

[[nodiscard]] std::string seal(std::string_view kind, std::string_view body);

/// What follows the first line. A text that begins with '{' or a digit is of an earlier version,
/// which had no such line: it is returned as it is.
/// Errors: kCorrupt for another kind, a malformed line or a wrong checksum.
[[nodiscard]] Result<std::string_view> unseal(std::string_view kind, std::string_view text);

}  // namespace pinfold::checkpoint
