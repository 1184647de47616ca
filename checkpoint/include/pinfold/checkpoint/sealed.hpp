#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// Pinfold's own files begin with a line that has their kind and a checksum of the rest:
///   #pinfold_pods crc64 0123456789abcdef
namespace pinfold::checkpoint {

[[nodiscard]] std::string seal(std::string_view kind, std::string_view body);
/// Returns the first line. `sum`: the content_sum() of the body.
[[nodiscard]] std::string seal_line(std::string_view kind, std::uint64_t sum);

/// Returns what follows the first line. A text that begins with '{' or a digit comes from an
/// earlier version, which wrote no such line, and is returned unchanged.
/// Errors: kCorrupt for another kind, a malformed line or a wrong checksum.
[[nodiscard]] Result<std::string_view> unseal(std::string_view kind, std::string_view text);

}  // namespace pinfold::checkpoint
