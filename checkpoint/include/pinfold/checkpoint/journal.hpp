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

/// The version that is written. Versions 2 and 3 can be read too.
inline constexpr int kJournalVersion = 4;

/// Returns the checksum by which records of a version identify the contents of a file. It detects
/// damage, not forgery. Domain: a version that can be read.
[[nodiscard]] std::uint64_t content_sum(std::string_view bytes, int version = kJournalVersion);

/// One step from old contents to new contents.
struct Edit {
  std::uint64_t keep = 0;  ///< bytes to keep
  std::uint64_t drop = 0;  ///< bytes to drop after these
  std::string insert;      ///< bytes to insert in their place

  friend bool operator==(const Edit&, const Edit&) = default;
};
/// From front to back; what follows the last edit is kept.
using Edits = std::vector<Edit>;

/// The effect of one transaction on one file.
struct FileChange {
  std::optional<std::uint64_t> before;  ///< content_sum of the replaced file; nullopt: none
  /// The new contents, or the edits that turn the contents of the earlier records into them.
  std::variant<std::string, Edits> after;

  friend bool operator==(const FileChange&, const FileChange&) = default;
};

/// Complete contents by file name.
using Contents = std::map<std::string, std::string>;

/// By file name.
using Changes = std::map<std::string, FileChange>;

/// One transaction in the journal.
struct Record {
  int version = kJournalVersion;
  Changes changes;

  friend bool operator==(const Record&, const Record&) = default;
};

/// Records begin at multiples of this size, so that appending one cannot tear another.
inline constexpr std::size_t kJournalBlock = 4096;

/// Computes the content_sum() of whole records without reading most of their padding.
[[nodiscard]] std::uint64_t journal_sum(std::string_view records);

/// Returns the bytes to append for a transaction, in version kJournalVersion.
[[nodiscard]] std::string encode_record(const Changes& changes);

/// Returns a record of encode_record() without its padding.
[[nodiscard]] std::string_view without_padding(std::string_view record);

/// Whether the sums of records are checked. kKnown: the caller has checked one over all records.
enum class RecordSums { kCheck, kKnown };

/// Returns the transactions of a journal, oldest first, up to the first incomplete or damaged
/// record: that one was being written when the machine stopped.
/// Errors: kUnsupported for a complete record of another version.
[[nodiscard]] Result<std::vector<Record>> decode_journal(std::string_view bytes,
                                                         RecordSums sums = RecordSums::kCheck);

/// Returns the edits from `before` to `after`, or `after` itself if there would be many edits or
/// they would be longer than half of it.
[[nodiscard]] std::variant<std::string, Edits> difference(std::string_view before,
                                                          std::string_view after);

/// Applies a transaction. `contents` is the result of all earlier records, starting with the first
/// one.
/// Errors: kCorrupt if the edits belong to other contents.
[[nodiscard]] Result<void> apply_record(const Record& record, Contents& contents);

}  // namespace pinfold::checkpoint
