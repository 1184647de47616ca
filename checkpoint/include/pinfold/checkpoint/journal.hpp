#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::checkpoint {

/// Tells one content of a file from another, not friend from foe. Algorithm:
/// docs/checkpoint-format.md.
[[nodiscard]] std::uint64_t sum64(std::string_view bytes);

/// What one transaction does to one file.
struct Change {
  std::optional<std::uint64_t> before;  ///< sum64 of the file that is replaced; nullopt: none
  std::string after;                    ///< the new contents

  friend bool operator==(const Change&, const Change&) = default;
};

/// By file name.
using Changes = std::map<std::string, Change>;

/// Records begin at multiples of it, so that appending one cannot tear another.
inline constexpr std::size_t kJournalBlock = 4096;

/// One transaction, as it is appended to the journal. Format: docs/checkpoint-format.md.
[[nodiscard]] std::string encode_record(const Changes& changes);

/// The transactions of a journal, oldest first. What follows the last complete record is left out:
/// it was being written when the machine stopped.
/// Errors: kUnsupported for a complete record of another version.
[[nodiscard]] Result<std::vector<Changes>> decode_journal(std::string_view bytes);

}  // namespace pinfold::checkpoint
