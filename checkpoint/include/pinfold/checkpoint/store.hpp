#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"

namespace pinfold::checkpoint {

/// Names of our own in the state directory; the kubelet ignores names that begin with a dot.
inline constexpr std::string_view kPodsFileName = ".pinfold_pods";
inline constexpr std::string_view kJournalFileName = ".pinfold_journal";
/// A journal that no longer fits, for somebody else has written the state files since.
inline constexpr std::string_view kStaleJournalFileName = ".pinfold_journal.stale";
inline constexpr std::string_view kLockFileName = ".pinfold_lock";
inline constexpr std::string_view kQueueFileName = ".pinfold_queue";
inline constexpr std::string_view kTempPrefix = ".pinfold_tmp.";

/// The bytes of the state files. To the store they are opaque, but for one thing: what is not whole
/// JSON was torn by a power cut, and written by nobody.
struct Files {
  std::optional<std::string> cpu;     ///< cpu_manager_state
  std::optional<std::string> memory;  ///< memory_manager_state
  std::optional<std::string> pods;    ///< what the agent itself must remember

  friend bool operator==(const Files&, const Files&) = default;
};

/// The state of a directory without a lock: the kubelet's files as they are, so that a reader
/// beside a writer may see those of two transactions. Errors: kIo; kUnsupported for a journal of
/// another version.
[[nodiscard]] Result<Files> read_files(Fs& fs);

class SnapshotWriter;
class WriteLock;

/// The state directory. A commit changes all its files or none, whatever happens when: crash model
/// and promises are in docs/checkpoint-format.md. One writer at a time across processes: the lock
/// is held from open to destruction and dies with its process. Not thread-safe, and at most one
/// Store for a directory within a process.
class Store {
 public:
  static constexpr std::chrono::milliseconds kLockTimeout{5000};
  /// Bytes of journal after which a commit settles first.
  static constexpr std::size_t kJournalLimit = std::size_t{4} << 20U;

  /// Takes the lock and completes or drops what an interrupted commit left behind.
  /// Errors: kNotFound for a directory that does not exist; kBusy if another process holds the lock
  /// for longer than `timeout`; kUnsupported for a journal of a later version; kIo.
  [[nodiscard]] static Result<Store> open(const std::string& directory,
                                          std::chrono::milliseconds timeout = kLockTimeout);
  /// The same over any file system, without a lock.
  [[nodiscard]] static Result<Store> open(std::unique_ptr<Fs> fs,
                                          std::size_t journal_limit = kJournalLimit);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  /// Settles; what is wrong then is found by the next opening.
  ~Store();

  /// What is stored now; nullopt for a file that does not exist. Cheap after open and commit;
  /// after a failed commit it recovers first, and tells whether the old or the new state stands.
  [[nodiscard]] Result<Files> load();

  /// Stores all files that have a value, as one step that is durable when this returns. A nullopt
  /// leaves its file alone; a file whose bytes do not change is not written.
  /// Errors: kIo. The state is then the old or the new one, never a mixture: load() tells which.
  [[nodiscard]] Result<void> commit(const Files& next);

  /// Makes what was committed durable under the names of the files, not in the journal alone, and
  /// removes the journal. Until then a power cut may leave older files, which opening the store
  /// puts right. Errors: kIo.
  [[nodiscard]] Result<void> settle();

  /// A file beside the state, under a name of our own: replaced as a whole, but not synced and no
  /// part of any commit. A crash may bring the last one back.
  /// Errors: kIo.
  [[nodiscard]] Result<void> put_beside(std::string_view name, std::string_view bytes);
  /// nullopt if there is none.
  [[nodiscard]] Result<std::optional<std::string>> read_beside(std::string_view name);

 private:
  Store(std::unique_ptr<Fs> fs, std::unique_ptr<WriteLock> lock);

  void publish();
  Result<void> recover();
  Result<void> finish_journal();
  void forget_journal();
  Result<void> append_to_journal(const std::string& record);
  Result<void> carry_out(const Changes& changes);

  std::unique_ptr<Fs> fs_;
  std::unique_ptr<WriteLock> lock_;
  std::unique_ptr<SnapshotWriter> snapshot_;  ///< null over a file system of the caller's
  std::unique_ptr<File> journal_;             ///< null if everything is settled
  std::size_t journal_size_ = 0;
  std::size_t journal_limit_ = kJournalLimit;
  std::map<std::string, std::unique_ptr<File>> unsettled_;  ///< in place, but not synced
  bool pods_unsettled_ = false;                             ///< in the journal alone
  Files current_;
  bool known_ = false;  ///< false: current_ may not be what is stored
};

}  // namespace pinfold::checkpoint
