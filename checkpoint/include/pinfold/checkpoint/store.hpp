#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"

namespace pinfold::checkpoint {

/// Our names in the state directory. The kubelet ignores names that begin with a dot.
inline constexpr std::string_view kPodsFileName = ".pinfold_pods";
inline constexpr std::string_view kNodeFileName = ".pinfold_node";
inline constexpr std::string_view kJournalFileName = ".pinfold_journal";
/// A journal that was set aside because another program has written the state files since.
inline constexpr std::string_view kStaleJournalFileName = ".pinfold_journal.stale";
inline constexpr std::string_view kLockFileName = ".pinfold_lock";
inline constexpr std::string_view kQueueFileName = ".pinfold_queue";
inline constexpr std::string_view kTempPrefix = ".pinfold_tmp.";

/// The bytes of the state files. The store does not interpret them, with one exception: after a
/// power cut a file that is not one JSON value is torn.
struct Files {
  std::optional<std::string> cpu;        ///< cpu_manager_state
  std::optional<std::string> memory;     ///< memory_manager_state
  std::optional<std::string> pods;       ///< the agent's own state
  std::optional<std::string> node = {};  ///< the node that the state is for

  friend bool operator==(const Files&, const Files&) = default;
};

/// What a checkpoint of the journal that fails means for a reader of the state directory.
inline constexpr std::string_view kNotSettled =
    "stored in the journal, but the kubelet's files are older";

/// Reads the state of a directory without a lock, as the next opening would have it: what the
/// journal holds counts. While a writer commits, the files may be those of two transactions.
/// Errors: kIo; kUnsupported for a journal of another version.
[[nodiscard]] Result<Files> read_files(Fs& fs);

class SnapshotWriter;
class WriteLock;

/// The state directory. A commit changes all its files or none, whenever the process or the machine
/// stops: docs/checkpoint-format.md has the crash model and the promises. One writer at a time
/// across processes: the lock is held from open to destruction and dies with its process. Not
/// thread-safe. At most one Store for a directory within a process.
class Store {
 public:
  static constexpr std::chrono::milliseconds kLockTimeout{5000};
  /// A commit that would make the journal larger checkpoints it first, in bytes.
  static constexpr std::size_t kJournalLimit = std::size_t{4} << 20U;
  /// settle() removes a larger journal, in bytes: whoever opens or reads the directory replays it.
  static constexpr std::size_t kKeptJournal = std::size_t{128} << 10U;

  /// Takes the lock and completes or drops what an interrupted commit left behind.
  /// Errors: kNotFound for a directory that does not exist; kInvalidArgument for one that others
  /// can change, and for a file that is no regular file (see open_state_directory); kBusy if
  /// another process holds the lock for longer than `timeout`; kUnsupported for a journal of
  /// another version, which stays as it is; kIo.
  [[nodiscard]] static Result<Store> open(const std::string& directory,
                                          std::chrono::milliseconds timeout = kLockTimeout,
                                          OwnerCheck owners = OwnerCheck::kOn);
  /// The same over any file system, without a lock and without a snapshot.
  [[nodiscard]] static Result<Store> open(std::unique_ptr<Fs> fs,
                                          std::size_t journal_limit = kJournalLimit);
  /// For a caller that only reads: takes no lock and writes nothing, so it works while a writer
  /// runs, and on a disk that is full or read-only. load() gives the state that was committed when
  /// the store was opened; nothing can be stored. Errors: kNotFound for a directory that does not
  /// exist; kInvalidArgument as open(); kUnsupported for a journal of another version; kBusy if the
  /// state changed during every one of many attempts to read it; kIo.
  [[nodiscard]] static Result<Store> open_read_only(const std::string& directory,
                                                    OwnerCheck owners = OwnerCheck::kOn);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  /// Checkpoints the journal, and cannot report a failure: call settle() before. The
  /// next opening repeats what fails here.
  ~Store();

  /// The stored state; nullopt for a file that does not exist. After a disk failure it recovers
  /// first, otherwise it reads nothing. Errors: kIo if the recovery fails.
  [[nodiscard]] Result<Files> load();

  /// Stores all files that have a value, in one step, with one write and one sync of what changes.
  /// A nullopt leaves its file alone. Success means that the new state is durable in the journal;
  /// the files themselves are older until settle(). Errors: kInvalidArgument for more
  /// than kMaxStateFileBytes; kIo: the old state remains. If the disk does not even allow to
  /// determine that, the message says so, and the next load(), commit() or opening decides: the old
  /// or the new state, never a mixture.
  [[nodiscard]] Result<void> commit(const Files& next);

  /// Brings the state files up to date and makes them durable. Before that they are older than the
  /// state, and opening the store replaces them. A journal that is not large stays, so that the
  /// next commit needs no new one. Errors: kIo: the committed state stays durable in the journal,
  /// and the next call or opening tries again.
  [[nodiscard]] Result<void> settle();
  /// The same; the journal is always removed.
  [[nodiscard]] Result<void> checkpoint_journal();

  /// Replaces a side file: a file with a name of ours that is no part of any commit. It is replaced
  /// as a whole but not synced: a crash can restore the previous one.
  /// Errors: kIo; the previous file remains.
  [[nodiscard]] Result<void> write_side_file(std::string_view name, std::string_view bytes);
  /// nullopt if the file does not exist. Errors: kIo; kInvalidArgument for what is no regular file.
  [[nodiscard]] Result<std::optional<std::string>> read_side_file(std::string_view name);

 private:
  Store(std::unique_ptr<Fs> fs, std::unique_ptr<WriteLock> lock);

  Result<void> try_commit(const Files& next);
  Result<void> open_journal(std::size_t record_size);
  Result<void> append_to_journal(const std::string& record, bool is_first);
  [[nodiscard]] Result<void> reserve_in_journal(std::size_t record_size);
  Result<void> drop_record();
  Result<void> cut_journal(std::size_t size);
  Result<void> update_files();

  Result<void> recover();
  Result<void> finish_journal();
  void forget_journal();
  void publish();

  std::unique_ptr<Fs> fs_;
  std::unique_ptr<WriteLock> lock_;
  std::unique_ptr<SnapshotWriter> snapshot_;  ///< null over a file system of the caller's
  std::size_t journal_limit_ = kJournalLimit;
  std::unique_ptr<File> journal_;  ///< null if there is none
  std::size_t journal_size_ = 0;   ///< of the committed records
  /// The size of a journal from which the record behind could not be dropped.
  std::optional<std::size_t> undecided_;
  std::size_t journal_room_ = 0;           ///< where the zeros that were reserved end
  std::set<std::string_view> in_journal_;  ///< the state files whose contents the journal has
  std::set<std::string_view> behind_;      ///< of these, the files that are older
  Files current_;
  bool is_read_only_ = false;
  bool needs_recovery_ = true;  ///< the disk may differ from `current_` and the members above
};

}  // namespace pinfold::checkpoint
