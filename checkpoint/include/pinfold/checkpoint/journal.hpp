#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

/// The journal of a store. Format: docs/checkpoint-format.md.
namespace pinfold::checkpoint {

/// The version that is written. Version 2 is read too.
inline constexpr int kJournalVersion = 3;

/// The sum by which records of a version identify the contents of a file. It detects damage, not
/// forgery. Domain: a version that can be read.
[[nodiscard]] std::uint64_t content_sum(std::string_view bytes, int version = kJournalVersion);

/// What one transaction does to one file.
struct Change {
  std::optional<std::uint64_t> before;  ///< content_sum of the file that is replaced; nullopt: none
  std::string after;                    ///< the new contents

  friend bool operator==(const Change&, const Change&) = default;
};

/// By file name.
using Changes = std::map<std::string, Change>;

/// One transaction as the journal holds it.
struct Record {
  int version = kJournalVersion;
  Changes changes;

  friend bool operator==(const Record&, const Record&) = default;
};

/// Records begin at multiples of this size, so that appending one cannot tear another.
inline constexpr std::size_t kJournalBlock = 4096;

/// The bytes that append a transaction to the journal, in version kJournalVersion.
[[nodiscard]] std::string encode_record(const Changes& changes);

/// The transactions of a journal, oldest first, up to the first record that is incomplete or
/// damaged: it was being written when the machine stopped.
/// Errors: kUnsupported for a complete record of another version.
[[nodiscard]] Result<std::vector<Record>> decode_journal(std::string_view bytes);

}  // namespace pinfold::checkpoint
