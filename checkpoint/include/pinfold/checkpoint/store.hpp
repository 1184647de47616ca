#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/file_text.hpp"
#include "pinfold/checkpoint/files.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"

namespace pinfold::checkpoint {

/// The meaning of a failed checkpoint of the journal for readers of the state directory.
inline constexpr std::string_view kNotSettled =
    "stored in the journal, but the kubelet's files are out of date";

/// Reads the state of a directory without a lock, as the next opening would see it, including the
/// journal. While a writer commits, the files may come from two transactions.
/// Errors: kIo; kUnsupported for a journal of another version.
[[nodiscard]] Result<Files> read_files(Fs& fs);

/// Writes all bytes. Errors: kIo.
[[nodiscard]] Result<void> write_all(File& file, std::string_view bytes);

/// Replaces a file as a whole, but does not sync it: after a power cut it may have any content.
/// Errors: kIo, and the file is unchanged.
[[nodiscard]] Result<void> replace_side_file(Fs& fs, const std::string& name,
                                             std::string_view bytes);

/// Replaces each file as a whole, in the order of their names. Durable on return. Errors: kIo; some
/// files may have been replaced then.
[[nodiscard]] Result<void> replace_all(Fs& fs, const Contents& contents);

class SnapshotWriter;
class WriteLock;

/// The state directory. A commit changes all its files or none, whenever the process or the machine
/// stops: docs/checkpoint-format.md has the crash model and the guarantees. One writer at a time
/// across processes: the lock is held from open to destruction, and is released if the process
/// dies. Not thread-safe. At most one Store for each directory in a process.
class Store {
 public:
  /// The journal is checkpointed before a commit that would make it larger than this; in bytes.
  static constexpr std::size_t kJournalLimit = std::size_t{4} << 20U;
  /// checkpoint_journal() removes a journal larger than this, because every opening or read replays
  /// it; in bytes.
  static constexpr std::size_t kKeptJournal = std::size_t{128} << 10U;
  /// leave_journal() leaves a journal with at most this many transactions. The next opening replays
  /// them; until then the kubelet's files do not have them.
  static constexpr std::size_t kMostLeft = 16;

  /// Takes the lock, then completes or drops what an interrupted commit left behind. Continues a
  /// journal that the last store has left, see leave_journal().
  /// Errors: kNotFound if the directory does not exist; kInvalidArgument if others can change it,
  /// or if a file is not regular (see open_state_directory); kBusy if another process holds the
  /// lock for longer than the timeout, or until the wait is interrupted (errno EINTR); kUnsupported
  /// for a journal of another version, which is left alone; kIo.
  [[nodiscard]] static Result<Store> open(const std::string& directory, LockWait wait = {},
                                          OwnerCheck owners = OwnerCheck::kOn);
  /// Opens a store on any file system, without a lock and without a snapshot.
  [[nodiscard]] static Result<Store> open(std::unique_ptr<Fs> fs,
                                          std::size_t journal_limit = kJournalLimit);
  /// Opens a store for reading: takes no lock and writes nothing, so it works while a writer runs,
  /// and on a full or read-only disk. load() returns the state that was committed when the store
  /// was opened; nothing can be stored. Errors: kNotFound if the directory does not exist;
  /// kInvalidArgument as open(); kUnsupported for a journal of another version; kBusy if the state
  /// changed during each of many attempts to read it; kIo.
  [[nodiscard]] static Result<Store> open_read_only(const std::string& directory,
                                                    OwnerCheck owners = OwnerCheck::kOn);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  /// Checkpoints the journal, unless leave_journal() said otherwise, but cannot report a failure,
  /// so call checkpoint_journal() first. The next opening retries what fails here.
  ~Store();

  /// Returns the stored state; nullopt for a file that does not exist. Recovers first after a disk
  /// failure, otherwise reads nothing. Errors: kIo if the recovery fails.
  [[nodiscard]] Result<Files> load();
  /// Returns what load() or commit() last found or stored, without reading anything.
  [[nodiscard]] const FileTexts& texts() const { return current_; }

  /// Stores all files that have a value in one step, with one write and one sync of the changes. A
  /// nullopt leaves its file alone. On success the new state is durable in the journal; the files
  /// themselves are older until checkpoint_journal(). Errors: kInvalidArgument for more than
  /// kMaxStateFileBytes; kIo: the old state remains. If the disk does not even show that, the
  /// message says so, and the next load(), commit() or opening decides: the old or the new state,
  /// never a mixture.
  [[nodiscard]] Result<void> commit(const Files& next);
  /// Does the same for texts. Looks only at parts that differ from those of the stored texts.
  [[nodiscard]] Result<void> commit_texts(const FileTexts& next);

  /// Brings the state files up to date and makes them durable. Until then they are older than the
  /// state, and opening the store replaces them. Keeps a journal that is not large, so that the
  /// next commit needs no new one. Errors: kIo: the committed state stays durable in the journal,
  /// and the next call or opening tries again.
  [[nodiscard]] Result<void> checkpoint_journal();
  /// Like checkpoint_journal(), but always removes the journal.
  [[nodiscard]] Result<void> checkpoint_and_remove_journal();
  /// Makes closing the store write and sync nothing but leave the journal to the next opening,
  /// which continues it. Until a store checkpoints the journal, the kubelet's files are older than
  /// the state. Returns false, and changes nothing, if the journal has more than kMostLeft
  /// transactions.
  [[nodiscard]] bool leave_journal();

  /// Replaces a side file: one of Pinfold's own files that is not part of any commit. It is
  /// replaced as a whole but not synced, so a crash can restore the previous one.
  /// Errors: kIo; the previous file remains.
  [[nodiscard]] Result<void> write_side_file(std::string_view name, std::string_view bytes);
  /// Reads a side file; nullopt if it does not exist. Errors: kIo; kInvalidArgument if it is not a
  /// regular file.
  [[nodiscard]] Result<std::optional<std::string>> read_side_file(std::string_view name);

 private:
  Store(std::unique_ptr<Fs> fs, std::unique_ptr<WriteLock> lock);

  Result<void> try_commit(const FileTexts& next);
  Result<void> open_journal(std::size_t record_size);
  Result<void> append_to_journal(const std::string& record, bool is_first);
  [[nodiscard]] Result<void> reserve_in_journal(std::size_t record_size);
  Result<void> drop_record();
  Result<void> cut_journal(std::size_t size);
  Result<void> update_files();

  Result<void> begin();
  Result<bool> resume_journal();
  Result<void> mark_journal();
  Result<void> recover();
  Result<void> finish_journal();
  void forget_journal();
  void publish();
  void publish(std::string_view record);

  std::unique_ptr<Fs> fs_;
  std::unique_ptr<WriteLock> lock_;
  std::unique_ptr<SnapshotWriter> snapshot_;  ///< null for a file system of the caller's
  std::size_t journal_limit_ = kJournalLimit;
  std::unique_ptr<File> journal_;  ///< null if there is none
  std::size_t journal_size_ = 0;   ///< of the committed records
  std::uint64_t journal_sum_ = 0;  ///< their content_sum()
  std::size_t journal_records_ = 0;
  bool leaves_journal_ = false;  ///< see leave_journal()
  /// The size of the journal before a record that could not be dropped.
  std::optional<std::size_t> undecided_;
  std::size_t journal_room_ = 0;           ///< where the reserved zeros end
  std::set<std::string_view> in_journal_;  ///< the state files whose contents are in the journal
  std::set<std::string_view> behind_;      ///< those of them that are older than the journal
  FileTexts current_;
  bool is_read_only_ = false;
  bool needs_recovery_ = true;  ///< the disk may differ from `current_` and the members above
};

}  // namespace pinfold::checkpoint
