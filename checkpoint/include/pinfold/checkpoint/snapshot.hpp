#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "pinfold/checkpoint/store.hpp"

/// The state as one piece of shared memory: a file of the state directory that the writer maps, and
/// updates after each commit. Readers take no lock and never hold up the writer. Format and
/// promises: docs/checkpoint-format.md.
namespace pinfold::checkpoint {

inline constexpr std::string_view kSnapshotFileName = ".pinfold_snapshot";

/// The state that was published last, whole: never a mixture, also while the writer is being
/// killed. After a kill it may be one commit behind the files, until the next opening of the store.
/// Errors: kNotFound if nothing was published since the machine booted: read_files() then;
/// kUnsupported for a later version; kCorrupt; kBusy if it changed a thousand times while it was
/// read; kIo.
/// Thread-safety: any number of readers, in any processes.
[[nodiscard]] Result<Files> read_snapshot(const std::string& directory);

/// The same out of the bytes of a snapshot, which another process may be changing. `boot_id` is
/// that of the running machine. Domain: `bytes` begins at a multiple of 8.
[[nodiscard]] Result<Files> decode_snapshot(std::span<const std::byte> bytes,
                                            std::string_view boot_id);

/// The one writer; whoever holds the store's lock.
class SnapshotWriter {
 public:
  explicit SnapshotWriter(std::string directory);
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;
  ~SnapshotWriter();

  /// Makes `files` what readers see. If that fails there is no snapshot any more.
  void publish(const Files& files);

 private:
  struct Mapped;
  [[nodiscard]] Result<void> try_publish(const std::string& payload);

  std::string directory_;
  std::unique_ptr<Mapped> mapped_;
};

}  // namespace pinfold::checkpoint
