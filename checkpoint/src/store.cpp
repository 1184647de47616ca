// How it works. A commit appends one record to the journal and syncs it; that makes the new state
// durable. The files themselves are brought up to date later, by checkpoint_journal() or when the
// store is closed: temporary files are written and synced, renamed, and the directory is synced.
// Only then may the journal be removed. A record has the complete contents of a file when the
// journal names the file for the first time, afterwards only what changes.
//
// A store can also leave its journal to the next one (leave_journal()), so that a process that
// commits once syncs once. It writes the size and the sum of the journal into a side file, the
// mark. A journal with this size and sum has been synced as a whole, or was read after a power cut,
// so the next store appends to it (resume_journal()). Everything else is recovered.
//
// Recovery runs at each opening and after every failure: decode the journal up to the first
// incomplete record, compare it with the files (roll_forward.cpp), make the journal itself durable
// again, replace the files, remove the journal. If another program has written a file of the
// kubelet meanwhile, the journal is set aside instead.
//
// Invariants: `current_` is what a recovery would find unless `needs_recovery_` is set, which is
// the case during every change on disk and until it has succeeded; a failed sync is never repeated
// on the same file; a record that was not acknowledged is dropped (`undecided_`) before anything
// else is written; no existing file is written in place except the journal.
//
// Cost: a commit is one write and one sync of what changed; finding the changes is linear in the
// size of the changed files. Opening replays the journal, with one pass over a file for each record
// that changes it; kJournalLimit bounds their number.

#include "pinfold/checkpoint/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <set>
#include <vector>

#include "crc64.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "roll_forward.hpp"
#include "write_lock.hpp"

namespace pinfold::checkpoint {

namespace {

struct StateFileEntry {
  std::string_view name;
  std::optional<std::string> Files::*bytes;
  std::optional<FileText> FileTexts::*text;
};

constexpr std::array<StateFileEntry, 4> kStateFiles = {
    {{kCpuFileName, &Files::cpu, &FileTexts::cpu},
     {kMemoryFileName, &Files::memory, &FileTexts::memory},
     {kPodsFileName, &Files::pods, &FileTexts::pods},
     {kNodeFileName, &Files::node, &FileTexts::node}}};

std::string temp_name(const std::string& name) { return std::string(kTempPrefix) + name; }

/// Writes the new contents of `name` to a temporary file; removes that file on failure.
Result<std::unique_ptr<File>> write_temp(Fs& fs, const std::string& name, std::string_view bytes) {
  PINFOLD_LET(auto file, fs.create(temp_name(name)));
  if (auto written = write_all(*file, bytes); !written) {
    (void)fs.remove(temp_name(name));
    return fail(std::move(written).error());
  }
  return file;
}

}  // namespace

Result<void> write_all(File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    PINFOLD_LET(const auto count, file.write(bytes));
    bytes.remove_prefix(count);
  }
  return {};
}

Result<void> replace_all(Fs& fs, const Contents& contents) {
  std::vector<std::unique_ptr<File>> files;
  for (const auto& [name, bytes] : contents) {
    PINFOLD_LET(auto file, write_temp(fs, name, bytes));
    files.push_back(std::move(file));
  }
  for (const auto& file : files) {
    PINFOLD_TRY(file->sync());
  }
  for (const auto& [name, bytes] : contents) {
    PINFOLD_TRY(fs.rename(temp_name(name), name));
  }
  return fs.sync_directory();
}

Result<void> replace_side_file(Fs& fs, const std::string& name, std::string_view bytes) {
  PINFOLD_TRY(write_temp(fs, name, bytes));
  auto renamed = fs.rename(temp_name(name), name);
  if (!renamed) (void)fs.remove(temp_name(name));
  return renamed;
}

namespace {

Result<void> remove_temporary_files(Fs& fs) {
  PINFOLD_LET(const auto names, fs.list());
  for (const std::string& name : names) {
    if (!name.starts_with(kTempPrefix)) continue;
    PINFOLD_TRY(fs.remove(name));
  }
  return {};
}

/// Checks that the whole contents fit into one record that can be read back.
Result<void> check_size(const std::vector<StateFileEntry>& changed, const FileTexts& next) {
  constexpr std::size_t kMost = kMaxStateFileBytes - kJournalBlock;
  std::size_t size = 0;
  for (const StateFileEntry& file : changed) size += (next.*file.text)->size();
  if (size <= kMost) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("a transaction of {} bytes, expected at most {}", size, kMost));
}

/// Returns the files that a commit of `next` replaces.
std::vector<StateFileEntry> changed_files(const FileTexts& before, const FileTexts& next) {
  std::vector<StateFileEntry> changed;
  for (const StateFileEntry& file : kStateFiles) {
    const auto& text = next.*file.text;
    if (text && text != before.*file.text) changed.push_back(file);
  }
  return changed;
}

/// Builds the record of a commit. Files in `edited`, whose contents the journal already has, are
/// stored as changes, the others completely.
std::string record_of(const std::vector<StateFileEntry>& changed, const FileTexts& before,
                      const FileTexts& next, const std::set<std::string_view>& edited) {
  Changes changes;
  for (const auto& [name, bytes, text] : changed) {
    const auto& old = before.*text;
    FileChange& change = changes[std::string(name)];
    if (old) change.before = old->sum();
    if (old && edited.contains(name)) {
      change.after = difference(*old, *(next.*text));
    } else {
      change.after = (next.*text)->text();
    }
  }
  return encode_record(changes);
}

/// What a mark says of a journal: the size and the content_sum() of its synced part.
struct JournalMark {
  std::size_t size = 0;
  std::uint64_t sum = 0;

  [[nodiscard]] std::string to_string() const { return fmt::format("{} {:016x}\n", size, sum); }
};

bool is_zero(std::string_view bytes) {
  if (bytes.empty()) return true;
  // Each byte equals the one before it.
  return bytes.front() == '\0' &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// Returns the mark; nullopt if it is another journal's, or if something follows the marked part.
std::optional<JournalMark> mark_of(std::string_view journal, const std::string& text) {
  JournalMark mark;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), mark.size);
  if (number.ec != std::errc() || mark.size == 0 || mark.size > journal.size()) return std::nullopt;
  mark.sum = journal_sum(journal.substr(0, mark.size));
  const bool is_last = is_zero(journal.substr(mark.size));
  return is_last && mark.to_string() == text ? std::optional(mark) : std::nullopt;
}

bool has_current_version(const std::vector<Record>& records) {
  return std::all_of(records.begin(), records.end(),
                     [](const Record& record) { return record.version == kJournalVersion; });
}

Error opened_to_read() {
  return {ErrorCode::kUnsupported, 0, "the state directory was opened read-only"};
}

/// Reads the state files without the journal.
Result<Files> read_plain(Fs& fs) {
  Files files;
  for (const auto& [name, bytes, text] : kStateFiles) {
    PINFOLD_LET(files.*bytes, fs.read(std::string(name)));
  }
  return files;
}

/// Returns `files` with the contents that a journal has for them.
Files with_newer(Files files, Contents newer) {
  for (const auto& [name, bytes, text] : kStateFiles) {
    const auto found = newer.find(std::string(name));
    if (found != newer.end()) files.*bytes = std::move(found->second);
  }
  return files;
}

/// Reads until two readings in a row agree, so no commit came between them. If a writer never
/// pauses, reads the snapshot that it publishes.
Result<Files> read_unchanging(Fs& fs, const std::string& directory) {
  constexpr int kReadings = 8;
  PINFOLD_LET(Files before, read_files(fs));
  for (int attempt = 0; attempt < kReadings; ++attempt) {
    PINFOLD_LET(Files now, read_files(fs));
    if (now == before) return now;
    before = std::move(now);
  }
  return read_snapshot(directory);
}

}  // namespace

Result<Files> read_files(Fs& fs) {
  PINFOLD_LET(auto files, read_plain(fs));
  PINFOLD_LET(const auto journal, fs.read(std::string(kJournalFileName)));
  if (!journal) return files;
  PINFOLD_LET(const auto records, decode_journal(*journal));
  PINFOLD_LET(auto left, roll_forward(fs, records));
  return with_newer(std::move(files), std::move(left.contents));
}

Store::Store(std::unique_ptr<Fs> fs, std::unique_ptr<WriteLock> lock)
    : fs_(std::move(fs)), lock_(std::move(lock)) {}

Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&& other) noexcept {
  if (this != &other) {
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
  }
  return *this;
}

Store::~Store() {
  if (fs_ == nullptr || needs_recovery_) return;
  try {
    if (leaves_journal_ && mark_journal()) return;
    (void)checkpoint_and_remove_journal();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the journal has everything
  }
}

Result<Store> Store::open(const std::string& directory, LockWait wait, OwnerCheck owners) {
  PINFOLD_LET(auto fs, open_state_directory(directory, owners));  // its error names the directory
  const auto intent = fmt::format("open state directory '{}'", directory);
  PINFOLD_LET_WRAP(auto lock,
                   WriteLock::acquire(fmt::format("{}/{}", directory, kLockFileName),
                                      fmt::format("{}/{}", directory, kQueueFileName), wait),
                   intent);
  Store store(std::move(fs), std::move(lock));
  store.snapshot_ = std::make_unique<SnapshotWriter>(directory);
  PINFOLD_TRY_WRAP(store.begin(), intent);
  return store;
}

Result<Store> Store::open(std::unique_ptr<Fs> fs, std::size_t journal_limit) {
  Store store(std::move(fs), nullptr);
  store.journal_limit_ = journal_limit;
  PINFOLD_TRY(store.begin());
  return store;
}

Result<Store> Store::open_read_only(const std::string& directory, OwnerCheck owners) {
  PINFOLD_LET(auto fs, open_state_directory(directory, owners));
  Store store(std::move(fs), nullptr);
  PINFOLD_LET_WRAP(auto files, read_unchanging(*store.fs_, directory),
                   fmt::format("read state directory '{}'", directory));
  store.current_ = texts_of(std::move(files));
  store.is_read_only_ = true;
  store.needs_recovery_ = false;
  return store;
}

Result<Files> Store::load() {
  if (needs_recovery_) {
    PINFOLD_TRY_WRAP(recover(), "load state");
  }
  return files_of(current_);
}

Result<void> Store::commit(const Files& next) { return commit_texts(texts_of(next)); }

Result<void> Store::commit_texts(const FileTexts& next) {
  PINFOLD_TRY_WRAP(try_commit(next), "commit");
  return {};
}

Result<void> Store::try_commit(const FileTexts& next) {
  if (is_read_only_) return fail(opened_to_read());
  if (needs_recovery_) {
    PINFOLD_TRY(recover());
  }
  const auto changed = changed_files(current_, next);
  if (changed.empty()) return {};
  PINFOLD_TRY(check_size(changed, next));
  std::string record = record_of(changed, current_, next, in_journal_);
  if (journal_size_ + record.size() > journal_limit_ && journal_ != nullptr) {
    PINFOLD_TRY(checkpoint_and_remove_journal());
    record = record_of(changed, current_, next, in_journal_);
  }
  const bool is_new = journal_ == nullptr;
  PINFOLD_TRY(open_journal(record.size()));  // changes nothing if it fails
  // Memory is needed only before the journal has the record: an exception leaves what recover()
  // reads.
  FileTexts newer = next;
  needs_recovery_ = true;
  for (const StateFileEntry& file : changed) {
    in_journal_.insert(file.name);
    behind_.insert(file.name);
  }
  if (auto appended = append_to_journal(record, is_new); !appended) {
    if (const auto dropped = drop_record(); !dropped) {
      appended.error().message += fmt::format(
          "; its record could not be dropped either, and dropping it will be retried: {}",
          dropped.error().message);
    }
    return fail(std::move(appended).error());
  }
  for (const StateFileEntry& file : changed) current_.*file.text = std::move(newer.*file.text);
  needs_recovery_ = false;
  publish(record);
  return {};
}

/// Opens the journal; unless it is new, reserves space for the record.
Result<void> Store::open_journal(std::size_t record_size) {
  if (journal_ != nullptr) return reserve_in_journal(record_size);
  PINFOLD_LET(journal_, fs_->create(std::string(kJournalFileName)));
  return {};
}

/// Appends a record; on success it is durable.
Result<void> Store::append_to_journal(const std::string& record, bool is_first) {
  PINFOLD_TRY(write_all(*journal_, record));
  PINFOLD_TRY(journal_->sync());
  if (is_first) {
    PINFOLD_TRY(fs_->sync_directory());
  }
  journal_size_ += record.size();
  journal_sum_ = crc64_of_both(journal_sum_, journal_sum(record), crc64_factor(record.size()));
  ++journal_records_;
  return {};
}

/// Reserves space for this record and, if the disk has it, for some more, so that most syncs write
/// only data. A process that commits once needs none; after that the space doubles with the
/// journal. A record without space is not started, because on a full disk it could not be dropped.
Result<void> Store::reserve_in_journal(std::size_t record_size) {
  constexpr std::size_t kMost = std::size_t{256} << 10U;
  if (journal_size_ + record_size <= journal_room_) return {};
  const std::size_t target = record_size + std::min(journal_size_, kMost);
  std::size_t size = std::min(target, journal_limit_ - journal_size_);
  if (!journal_->reserve(size)) {
    size = record_size;
    PINFOLD_TRY(journal_->reserve(size));
  }
  journal_room_ = journal_size_ + size;
  return {};
}

/// Drops the record of a failed append. It may or may not be in the journal, and reading it back
/// proves nothing: after a failed sync it can be in memory only, and the next sync of the same file
/// succeeds. So the journal is replaced by a new file with the records before it.
Result<void> Store::drop_record() {
  undecided_ = journal_size_;
  return recover();
}

/// Removes everything after `size` from the journal, even if an earlier attempt stopped half way.
Result<void> Store::cut_journal(std::size_t size) {
  const std::string name(kJournalFileName);
  PINFOLD_LET(auto bytes, fs_->read(name));
  if (size == 0) {
    if (bytes) {
      PINFOLD_TRY(fs_->remove(name));
    }
    return fs_->sync_directory();
  }
  if (!bytes || bytes->size() < size) {
    undecided_.reset();  // nothing can be dropped; the rest is valid
    return fail(ErrorCode::kIo, fmt::format("'{}' has lost committed records", name));
  }
  bytes->resize(size);
  PINFOLD_TRY(remove_temporary_files(*fs_));  // a full disk needs their space
  return replace_all(*fs_, {{name, *std::move(bytes)}});
}

Result<void> Store::checkpoint_journal() {
  if (journal_size_ > kKeptJournal) return checkpoint_and_remove_journal();
  return update_files();
}

Result<void> Store::update_files() {
  if (needs_recovery_) return recover();
  if (behind_.empty()) return {};
  needs_recovery_ = true;
  Contents newest;
  for (const auto& [name, bytes, text] : kStateFiles) {
    if (behind_.contains(name)) newest[std::string(name)] = (current_.*text)->text();
  }
  PINFOLD_TRY(replace_all(*fs_, newest));
  behind_.clear();
  needs_recovery_ = false;
  return {};
}

Result<void> Store::checkpoint_and_remove_journal() {
  PINFOLD_TRY(update_files());
  if (journal_ == nullptr) return {};
  needs_recovery_ = true;
  PINFOLD_TRY(fs_->remove(std::string(kJournalFileName)));
  forget_journal();
  needs_recovery_ = false;
  return {};
}

void Store::forget_journal() {
  in_journal_.clear();
  behind_.clear();
  journal_.reset();
  journal_size_ = 0;
  journal_sum_ = 0;
  journal_room_ = 0;
  journal_records_ = 0;
}

bool Store::leave_journal() {
  leaves_journal_ = journal_records_ <= kMostLeft;
  return leaves_journal_;
}

/// Writes the mark of the journal. The old mark is removed before: it marks nothing any more, and a
/// rename that replaces a file makes some file systems write the new one at once.
Result<void> Store::mark_journal() {
  if (journal_ == nullptr) return {};
  PINFOLD_TRY(fs_->remove(std::string(kSyncedJournalFileName)));
  return write_side_file(kSyncedJournalFileName,
                         JournalMark{journal_size_, journal_sum_}.to_string());
}

Result<void> Store::begin() {
  PINFOLD_LET(const bool is_resumed, resume_journal());
  if (!is_resumed) return recover();
  needs_recovery_ = false;
  publish();
  return {};
}

/// Continues a journal that is known to be on the disk. Returns false, and changes nothing, if
/// there is none, or if something has to be recovered.
Result<bool> Store::resume_journal() {
  const std::string name(kJournalFileName);
  PINFOLD_LET(const auto bytes, fs_->read(name));
  PINFOLD_LET(const auto mark, fs_->read(std::string(kSyncedJournalFileName)));
  const auto marked = bytes && mark ? mark_of(*bytes, *mark) : std::nullopt;
  if (!marked) return false;
  const std::string_view synced = std::string_view(*bytes).substr(0, marked->size);
  PINFOLD_LET(const auto records, decode_journal(synced, RecordSums::kKnown));
  PINFOLD_LET(auto left, roll_forward(*fs_, records));
  if (!left.fits || !has_current_version(records)) return false;
  auto file = fs_->reopen(name, marked->size);
  if (!file) return false;
  PINFOLD_TRY(remove_temporary_files(*fs_));
  PINFOLD_LET(auto files, read_plain(*fs_));
  journal_ = *std::move(file);
  journal_size_ = marked->size;
  journal_sum_ = marked->sum;
  journal_room_ = bytes->size();
  journal_records_ = records.size();
  for (const StateFileEntry& entry : kStateFiles) {
    if (!left.contents.contains(std::string(entry.name))) continue;
    in_journal_.insert(entry.name);
    behind_.insert(entry.name);
  }
  current_ = texts_of(with_newer(std::move(files), std::move(left.contents)));
  return true;
}

Result<void> Store::recover() {
  needs_recovery_ = true;
  forget_journal();
  if (undecided_) {
    PINFOLD_TRY(cut_journal(*undecided_));
    undecided_.reset();
  }
  PINFOLD_TRY(finish_journal());
  PINFOLD_TRY(remove_temporary_files(*fs_));
  PINFOLD_LET(auto files, read_files(*fs_));
  current_ = texts_of(std::move(files));
  needs_recovery_ = false;
  publish();
  return {};
}

/// Completes the transactions of a leftover journal and removes it.
Result<void> Store::finish_journal() {
  const std::string name(kJournalFileName);
  PINFOLD_LET(const auto bytes, fs_->read(name));
  if (!bytes) return {};
  PINFOLD_LET(const auto journal, decode_journal(*bytes));
  PINFOLD_LET(const auto left, roll_forward(*fs_, journal));
  if (!left.contents.empty()) {
    PINFOLD_TRY(remove_temporary_files(*fs_));  // a full disk needs their space
    // What was read may be in memory only: its writer was killed or could not sync it. It must be
    // durable before the first file is replaced. Syncing the same file again is not enough: after a
    // failed sync the next one succeeds and proves nothing.
    PINFOLD_TRY(replace_all(*fs_, {{name, *bytes}}));
    // All files, even those already up to date: they may not have been synced.
    PINFOLD_TRY(replace_all(*fs_, left.contents));
  }
  return left.fits ? fs_->remove(name) : fs_->rename(name, std::string(kStaleJournalFileName));
}

void Store::publish() {
  if (snapshot_ == nullptr) return;
  try {
    snapshot_->publish(files_of(current_));
  } catch (const std::bad_alloc&) {
    snapshot_->remove();
  }
}

/// Publishes what the last record has changed. The transaction is durable, so a lack of memory must
/// not make it fail.
void Store::publish(std::string_view record) {
  if (snapshot_ == nullptr) return;
  bool is_appended = false;
  try {
    is_appended = snapshot_->append(record);
  } catch (const std::bad_alloc&) {
  }
  if (!is_appended) publish();
}

Result<void> Store::write_side_file(std::string_view name, std::string_view bytes) {
  const auto intent = fmt::format("write side file '{}'", name);
  if (is_read_only_) return fail(opened_to_read().wrap(intent));
  PINFOLD_TRY_WRAP(replace_side_file(*fs_, std::string(name), bytes), intent);
  return {};
}

Result<std::optional<std::string>> Store::read_side_file(std::string_view name) {
  return fs_->read(std::string(name));
}

}  // namespace pinfold::checkpoint
