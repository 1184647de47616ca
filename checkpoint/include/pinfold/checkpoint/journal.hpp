#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pinfold/base/result.hpp"

/// The journal of a store. Format: docs/checkpoint-format.md.
namespace pinfold::checkpoint {

/// The version that is written. Versions 2 and 3 are read too.
inline constexpr int kJournalVersion = 4;

/// The sum by which records of a version identify the contents of a file. It detects damage, not
/// forgery. Domain: a version that can be read.
[[nodiscard]] std::uint64_t content_sum(std::string_view bytes, int version = kJournalVersion);

/// One step from old contents to new ones.
struct Edit {
  std::uint64_t keep = 0;  ///< so many bytes stay
  std::uint64_t drop = 0;  ///< and so many after them do not,
  std::string insert;      ///< but these bytes are there

  friend bool operator==(const Edit&, const Edit&) = default;
};
/// From the front to the back; what follows the last one stays.
using Edits = std::vector<Edit>;

/// What one transaction does to one file.
struct Change {
  std::optional<std::uint64_t> before;  ///< content_sum of the file that is replaced; nullopt: none
  /// The new contents, or how they differ from those that the records before have.
  std::variant<std::string, Edits> after;

  friend bool operator==(const Change&, const Change&) = default;
};

/// Whole contents by file name.
using Contents = std::map<std::string, std::string>;

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

/// Edits that lead from `before` to `after`; or `after`, if they would be many or longer than half
/// of it.
[[nodiscard]] std::variant<std::string, Edits> difference(std::string_view before,
                                                          std::string_view after);

/// From the contents before a transaction to those after it. `contents` is what the records before
/// have, from the first one on. Errors: kCorrupt for edits of other contents than these.
[[nodiscard]] Result<void> apply_record(const Record& record, Contents& contents);

}  // namespace pinfold::checkpoint
