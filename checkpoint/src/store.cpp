#include "pinfold/checkpoint/store.hpp"

#include <fmt/format.h>

#include <array>

#include "pinfold/checkpoint/kubelet_files.hpp"
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

/// Writes a whole file and makes its contents, not its name, durable.
Result<void> write_synced(Fs& fs, const std::string& name, std::string_view bytes) {
  auto file = fs.create(name);
  if (!file) return fail(std::move(file).error());
  while (!bytes.empty()) {
    const auto count = (*file)->write(bytes);
    if (!count) return fail(count.error());
    bytes.remove_prefix(*count);
  }
  return (*file)->sync();
}

/// Puts new contents under a name in one step; durable after the next sync_directory.
Result<void> replace(Fs& fs, const std::string& name, std::string_view bytes) {
  const std::string temp = std::string(kTempPrefix) + name;
  auto done = write_synced(fs, temp, bytes);
  if (done) done = fs.rename(temp, name);
  if (!done) (void)fs.remove(temp);  // what remains is swept by the next open
  return done;
}

Result<void> replace_all(Fs& fs, const Changes& changes) {
  for (const auto& [name, change] : changes) {
    auto done = replace(fs, name, change.bytes);
    if (!done) return done;
  }
  return fs.sync_directory();
}

std::optional<std::uint64_t> hash_of(const std::optional<std::string>& bytes) {
  return bytes ? std::optional(fnv1a_64(*bytes)) : std::nullopt;
}

/// Whether a transaction was begun on the files as they are, but for those it has replaced already.
/// If not, somebody else has written since, or the journal names files that are none of ours.
bool fits(const Changes& changes, const Files& files) {
  std::size_t known = 0;
  for (const Stored& stored : kStored) {
    const auto change = changes.find(std::string(stored.name));
    if (change == changes.end()) continue;
    ++known;
    const auto& bytes = files.*stored.bytes;
    if (bytes != change->second.bytes && hash_of(bytes) != change->second.before) return false;
  }
  return known == changes.size();
}

Result<Files> read_files(Fs& fs) {
  Files files;
  for (const Stored& stored : kStored) {
    auto bytes = fs.read(std::string(stored.name));
    if (!bytes) return fail(std::move(bytes).error());
    files.*stored.bytes = *std::move(bytes);
  }
  return files;
}

}  // namespace

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

Result<void> Store::commit(const Files& next) {
  if (!known_) {
    if (auto done = recover(); !done) return fail(std::move(done).error().wrap("commit"));
  }
  Changes changes;
  for (const Stored& stored : kStored) {
    const auto& bytes = next.*stored.bytes;
    const auto& before = current_.*stored.bytes;
    if (bytes && bytes != before) changes[std::string(stored.name)] = {hash_of(before), *bytes};
  }
  if (changes.empty()) return {};
  known_ = false;
  // One file is replaced in one step as it is; several need the journal to be one step.
  const bool journaled = changes.size() > 1;
  auto done = journaled ? write_journal(changes) : Result<void>();
  if (done) done = replace_all(*fs_, changes);
  if (done && journaled) done = fs_->remove(std::string(kJournalFileName));
  if (!done) return fail(std::move(done).error().wrap("commit"));
  for (const Stored& stored : kStored) {
    if (next.*stored.bytes) current_.*stored.bytes = next.*stored.bytes;
  }
  known_ = true;
  return {};
}

/// The transaction is committed when this has succeeded.
Result<void> Store::write_journal(const Changes& changes) {
  const std::string name(kJournalFileName);
  auto done = write_synced(*fs_, name, encode_journal(changes));
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
  const auto changes = decode_journal(**journal);
  if (!changes) {
    if (changes.error().code != ErrorCode::kCorrupt) return fail(changes.error());
    return fs_->remove(name);
  }
  const auto files = read_files(*fs_);
  if (!files) return fail(files.error());
  if (!fits(*changes, *files)) return fs_->rename(name, std::string(kStaleJournalFileName));
  auto done = replace_all(*fs_, *changes);
  if (done) done = fs_->remove(name);
  return done;
}

Result<void> Store::recover() {
  known_ = false;
  const auto names = fs_->list();
  if (!names) return fail(names.error());
  for (const std::string& name : *names) {
    if (!name.starts_with(kTempPrefix)) continue;
    if (auto done = fs_->remove(name); !done) return done;
  }
  if (auto done = finish_journal(); !done) return done;
  auto files = read_files(*fs_);
  if (!files) return fail(std::move(files).error());
  current_ = *std::move(files);
  known_ = true;
  return {};
}

}  // namespace pinfold::checkpoint
