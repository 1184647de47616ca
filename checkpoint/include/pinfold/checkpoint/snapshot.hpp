#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/files.hpp"

/// The state in shared memory: a file in the state directory that the writer maps and updates after
/// each commit. Readers take no lock and never delay the writer. Format and guarantees:
/// docs/checkpoint-format.md.
namespace pinfold::checkpoint {

inline constexpr std::string_view kSnapshotFileName = ".pinfold_snapshot";

/// Reads the last published state, never a mixture of two, even if the writer is killed. After a
/// kill it may be one commit behind the files until the store is opened again.
/// Errors: kNotFound if nothing was published since the machine booted or Pinfold was upgraded (use
/// read_files() then); kUnsupported for a later version; kCorrupt; kBusy if it changed a thousand
/// times during the read; kIo.
/// Thread-safety: any number of readers, in any processes.
[[nodiscard]] Result<Files> read_snapshot(const std::string& directory);

/// Decodes the bytes of a snapshot, which another process may be changing. `boot_id` is that of the
/// running machine. Domain: `bytes` is aligned to 8 bytes.
[[nodiscard]] Result<Files> decode_snapshot(std::span<const std::byte> bytes,
                                            std::string_view boot_id);

/// The only writer; it holds the store's lock.
class SnapshotWriter {
 public:
  explicit SnapshotWriter(const std::string& directory);
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;
  ~SnapshotWriter();

  /// Makes `files` visible to readers; removes the snapshot if that fails.
  void publish(const Files& files);
  /// Makes one more transaction visible, without copying the state. `record`: from encode_record().
  /// Returns false, and changes nothing, if there is no room; then call publish().
  [[nodiscard]] bool append(std::string_view record);
  /// Removes the snapshot, so that readers read the files. Needs no memory.
  void remove();

 private:
  struct Mapped;
  [[nodiscard]] Result<void> try_publish(const std::string& payload);

  std::string path_;
  std::string temp_path_;
  std::unique_ptr<Mapped> mapped_;
};

}  // namespace pinfold::checkpoint
