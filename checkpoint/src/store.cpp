#include "pinfold/checkpoint/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "write_lock.hpp"

namespace pinfold::checkpoint {
namespace {

struct Stored {
  std::string_view name;
  std::optional<std::string> Files::*bytes;
};
constexpr std::array<Stored, 3> kStored = {{{kCpuFileName, &Files::cpu},
                                            {kMemoryFileName, &Files::memory},
                                            {kPodsFileName, &Files::pods}}};

using Contents = std::map<std::string, std::string_view>;

std::string temp_name(const std::string& name) { return std::string(kTempPrefix) + name; }

/// Writes whole files and makes their contents, not their names, durable.
Result<void> write_synced(Fs& fs, const Contents& contents) {
  std::vector<std::unique_ptr<File>> files;
  for (const auto& [name, bytes] : contents) {
    auto file = fs.create(name);
    if (!file) return fail(std::move(file).error());
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto count = (*file)->write(rest);
      if (!count) return fail(count.error());
      rest.remove_prefix(*count);
    }
    (*file)->start_sync();
    files.push_back(*std::move(file));
  }
  for (const auto& file : files) {
    if (auto done = file->sync(); !done) return done;
  }
  return {};
}

/// Puts the new contents, which are written, under their names. Durable when it returns.
Result<void> rename_all(Fs& fs, const Changes& changes) {
  for (const auto& [name, change] : changes) {
    if (auto done = fs.rename(temp_name(name), name); !done) return done;
  }
  return fs.sync_directory();
}

std::optional<std::uint64_t> hash_of(const std::optional<std::string>& bytes) {
  return bytes ? std::optional(fnv1a_64(*bytes)) : std::nullopt;
}

bool is_stored(std::string_view name) {
  return std::any_of(kStored.begin(), kStored.end(),
                     [&](const Stored& stored) { return stored.name == name; });
}

/// Leaves those changes whose new contents still wait in a temporary file. Returns false if the
/// journal does not fit: somebody else has written since, or it names files that are none of ours.
Result<bool> drop_finished(Fs& fs, Changes& changes) {
  for (auto it = changes.begin(); it != changes.end();) {
    const auto& [name, change] = *it;
    if (!is_stored(name)) return false;
    const auto bytes = fs.read(name);
    if (!bytes) return fail(bytes.error());
    if (hash_of(*bytes) == change.after) {
      it = changes.erase(it);
      continue;
    }
    const auto waiting = fs.read(temp_name(name));
    if (!waiting) return fail(waiting.error());
    if (hash_of(*bytes) != change.before || hash_of(*waiting) != change.after) return false;
    ++it;
  }
  return true;
}

}  // namespace

Result<Files> read_files(Fs& fs) {
  Files files;
  for (const Stored& stored : kStored) {
    auto bytes = fs.read(std::string(stored.name));
    if (!bytes) return fail(std::move(bytes).error());
    files.*stored.bytes = *std::move(bytes);
  }
  return files;
}

Store::Store(std::unique_ptr<Fs> fs, std::unique_ptr<WriteLock> lock)
    : fs_(std::move(fs)), lock_(std::move(lock)) {}

Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& directory, std::chrono::milliseconds timeout) {
  const auto intent = fmt::format("open state directory '{}'", directory);
  auto fs = open_directory(directory);
  if (!fs) return fail(std::move(fs).error().wrap(intent));
  const auto lock_file = (*fs)->create(std::string(kLockFileName)).map([](const auto&) {});
  if (!lock_file) return fail(Error(lock_file.error()).wrap(intent));
  auto lock = WriteLock::acquire(fmt::format("{}/{}", directory, kLockFileName), timeout);
  if (!lock) return fail(std::move(lock).error().wrap(intent));
  Store store(*std::move(fs), *std::move(lock));
  store.snapshot_ = std::make_unique<SnapshotWriter>(directory);
  if (auto done = store.recover(); !done) return fail(std::move(done).error().wrap(intent));
  return store;
}

Result<Store> Store::open(std::unique_ptr<Fs> fs) {
  Store store(std::move(fs), nullptr);
  if (auto done = store.recover(); !done) return fail(std::move(done).error());
  return store;
}

Result<Files> Store::load() {
  if (!known_) {
    if (auto done = recover(); !done) return fail(std::move(done).error().wrap("load state"));
  }
  return current_;
}

Result<void> Store::put_beside(std::string_view name, std::string_view bytes) {
  const std::string to(name);
  auto file = fs_->create(temp_name(to));
  if (!file) return fail(std::move(file).error());
  while (!bytes.empty()) {
    const auto written = (*file)->write(bytes);
    if (!written) return fail(written.error());
    bytes.remove_prefix(*written);
  }
  return fs_->rename(temp_name(to), to);
}

Result<std::optional<std::string>> Store::read_beside(std::string_view name) {
  return fs_->read(std::string(name));
}

Result<void> Store::commit(const Files& next) {
  if (!known_) {
    if (auto done = recover(); !done) return fail(std::move(done).error().wrap("commit"));
  }
  Changes changes;
  Contents contents;
  for (const Stored& stored : kStored) {
    const auto& bytes = next.*stored.bytes;
    const auto& before = current_.*stored.bytes;
    if (!bytes || bytes == before) continue;
    const std::string name(stored.name);
    changes[name] = {hash_of(before), fnv1a_64(*bytes)};
    contents[temp_name(name)] = *bytes;
  }
  if (changes.empty()) return {};
  known_ = false;
  // One file is replaced in one step as it is; several need the journal to be one step.
  const bool journaled = changes.size() > 1;
  auto done =
      journaled ? write_with_journal(std::move(contents), changes) : write_synced(*fs_, contents);
  if (done) done = rename_all(*fs_, changes);
  if (done && journaled) done = fs_->remove(std::string(kJournalFileName));
  if (!done) return fail(std::move(done).error().wrap("commit"));
  for (const Stored& stored : kStored) {
    if (next.*stored.bytes) current_.*stored.bytes = next.*stored.bytes;
  }
  known_ = true;
  publish();
  return {};
}

void Store::publish() {
  if (snapshot_ != nullptr) snapshot_->publish(current_);
}

/// The transaction is committed when this has succeeded.
Result<void> Store::write_with_journal(Contents contents, const Changes& changes) {
  const std::string name(kJournalFileName);
  const std::string journal = encode_journal(changes);
  contents[name] = journal;
  auto done = write_synced(*fs_, contents);
  if (done) done = fs_->sync_directory();
  if (!done) {
    // Best effort to stay with the old state; if it fails, the new one may stand.
    (void)fs_->remove(name);
    (void)fs_->sync_directory();
  }
  return done;
}

Result<void> Store::finish_journal() {
  const std::string name(kJournalFileName);
  const auto journal = fs_->read(name);
  if (!journal) return fail(journal.error());
  if (!*journal) return {};
  auto changes = decode_journal(**journal);
  if (!changes) {
    if (changes.error().code != ErrorCode::kCorrupt) return fail(changes.error());
    return fs_->remove(name);  // was not committed
  }
  const auto fits = drop_finished(*fs_, *changes);
  if (!fits) return fail(fits.error());
  if (!*fits) return fs_->rename(name, std::string(kStaleJournalFileName));
  auto done = rename_all(*fs_, *changes);
  if (done) done = fs_->remove(name);
  return done;
}

Result<void> Store::recover() {
  known_ = false;
  if (auto done = finish_journal(); !done) return done;
  const auto names = fs_->list();
  if (!names) return fail(names.error());
  for (const std::string& name : *names) {
    if (!name.starts_with(kTempPrefix)) continue;
    if (auto done = fs_->remove(name); !done) return done;
  }
  auto files = read_files(*fs_);
  if (!files) return fail(std::move(files).error());
  current_ = *std::move(files);
  known_ = true;
  publish();
  return {};
}

}  // namespace pinfold::checkpoint
