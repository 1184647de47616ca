#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

namespace pinfold::checkpoint {

/// FNV-1a, 64 bit: tells one content of a file from another, not friend from foe.
[[nodiscard]] std::uint64_t fnv1a_64(std::string_view bytes);

/// What one transaction does to one file. The new contents are in a temporary file beside it.
struct Change {
  std::optional<std::uint64_t> before;  ///< fnv1a_64 of the file that is replaced; nullopt: none
  std::uint64_t after = 0;              ///< fnv1a_64 of the new contents

  friend bool operator==(const Change&, const Change&) = default;
};

/// By file name.
using Changes = std::map<std::string, Change>;

/// The journal of one transaction. Format: docs/checkpoint-format.md.
[[nodiscard]] std::string encode_journal(const Changes& changes);

/// Errors: kCorrupt for anything but a complete journal, which is then one that was being written
/// when the machine stopped; kUnsupported for a complete one of a later version.
[[nodiscard]] Result<Changes> decode_journal(std::string_view bytes);

}  // namespace pinfold::checkpoint
