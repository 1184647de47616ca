#include "pinfold/checkpoint/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "pinfold/checkpoint/go_json.hpp"
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

using Contents = std::map<std::string, std::string>;

std::string temp_name(const std::string& name) { return std::string(kTempPrefix) + name; }

Result<void> write_all(File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    PINFOLD_LET(const auto count, file.write(bytes));
    bytes.remove_prefix(count);
  }
  return {};
}

/// A temporary file with the new contents of `name`.
Result<std::unique_ptr<File>> write_temp(Fs& fs, const std::string& name, std::string_view bytes) {
  PINFOLD_LET(auto file, fs.create(temp_name(name)));
  PINFOLD_TRY(write_all(*file, bytes));
  return file;
}

/// Durable when it returns.
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

std::optional<std::uint64_t> sum_of(const std::optional<std::string>& bytes) {
  return bytes ? std::optional(sum64(*bytes)) : std::nullopt;
}

bool is_stored(std::string_view name) {
  return std::any_of(kStored.begin(), kStored.end(),
                     [&](const Stored& stored) { return stored.name == name; });
}

/// Nobody but the store writes that of the pods, and only to settle it.
bool is_kubelets(std::string_view name) { return name != kPodsFileName; }

/// What stands under a name that a journal has changes for.
enum class Found { kNewest, kOlder, kTorn, kForeign };

/// `versions`: the sums of all that the journal knows to have stood there, the newest last.
Found find(const std::optional<std::string>& bytes,
           const std::vector<std::optional<std::uint64_t>>& versions) {
  const auto sum = sum_of(bytes);
  if (sum == versions.back()) return Found::kNewest;
  if (std::find(versions.begin(), versions.end(), sum) != versions.end()) return Found::kOlder;
  return bytes && json_syntax_error(*bytes) ? Found::kTorn : Found::kForeign;
}

/// What a journal asks for, after a look at the files.
struct Remaining {
  Contents contents;  ///< to be put in place
  bool fits = true;  ///< false: somebody else has written since, or it names files that are none of
                     ///< ours
};

Result<Remaining> remaining(Fs& fs, const std::vector<Changes>& journal) {
  std::map<std::string, std::vector<std::optional<std::uint64_t>>> versions;
  Remaining out;
  for (const Changes& changes : journal) {
    for (const auto& [name, change] : changes) {
      versions[name].push_back(change.before);
      versions[name].emplace_back(sum64(change.after));
      out.contents[name] = change.after;
    }
  }
  std::map<std::string, Found> found;
  for (const auto& [name, sums] : versions) {
    found[name] = is_stored(name) ? Found::kNewest : Found::kForeign;
    if (is_stored(name) && is_kubelets(name)) {
      PINFOLD_LET(const auto bytes, fs.read(name));
      found[name] = find(bytes, sums);
    }
    out.fits = out.fits && found[name] != Found::kForeign;
  }
  // Beside a file of somebody else the kubelet's other one stays as it is, if it can be read.
  if (!out.fits) {
    std::erase_if(out.contents, [&](const auto& file) {
      return found[file.first] == Found::kForeign || found[file.first] == Found::kOlder;
    });
  }
  return out;
}

}  // namespace

Result<Files> read_files(Fs& fs) {
  Files files;
  for (const Stored& stored : kStored) {
    PINFOLD_LET(auto bytes, fs.read(std::string(stored.name)));
    files.*stored.bytes = std::move(bytes);
  }
  PINFOLD_LET(const auto journal, fs.read(std::string(kJournalFileName)));
  PINFOLD_LET(const auto transactions, decode_journal(journal.value_or("")));
  for (const Changes& changes : transactions) {
    const auto pods = changes.find(std::string(kPodsFileName));
    if (pods != changes.end()) files.pods = pods->second.after;
  }
  return files;
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
  if (fs_ != nullptr && known_) (void)settle();
}

Result<Store> Store::open(const std::string& directory, std::chrono::milliseconds timeout) {
  const auto intent = fmt::format("open state directory '{}'", directory);
  PINFOLD_LET_WRAP(auto fs, open_directory(directory), intent);
  for (const std::string_view name : {kLockFileName, kQueueFileName}) {
    PINFOLD_TRY_WRAP(fs->create(std::string(name)), intent);
  }
  PINFOLD_LET_WRAP(auto lock,
                   WriteLock::acquire(fmt::format("{}/{}", directory, kLockFileName),
                                      fmt::format("{}/{}", directory, kQueueFileName), timeout),
                   intent);
  Store store(std::move(fs), std::move(lock));
  store.snapshot_ = std::make_unique<SnapshotWriter>(directory);
  PINFOLD_TRY_WRAP(store.recover(), intent);
  return store;
}

Result<Store> Store::open(std::unique_ptr<Fs> fs, std::size_t journal_limit) {
  Store store(std::move(fs), nullptr);
  store.journal_limit_ = journal_limit;
  PINFOLD_TRY(store.recover());
  return store;
}

Result<Files> Store::load() {
  if (!known_) {
    PINFOLD_TRY_WRAP(recover(), "load state");
  }
  return current_;
}

Result<void> Store::put_beside(std::string_view name, std::string_view bytes) {
  const std::string to(name);
  PINFOLD_TRY(write_temp(*fs_, to, bytes));
  return fs_->rename(temp_name(to), to);
}

Result<std::optional<std::string>> Store::read_beside(std::string_view name) {
  return fs_->read(std::string(name));
}

Result<void> Store::commit(const Files& next) {
  if (!known_) {
    PINFOLD_TRY_WRAP(recover(), "commit");
  }
  Changes changes;
  for (const Stored& stored : kStored) {
    const auto& bytes = next.*stored.bytes;
    const auto& before = current_.*stored.bytes;
    if (bytes && bytes != before) changes[std::string(stored.name)] = {sum_of(before), *bytes};
  }
  if (changes.empty()) return {};
  PINFOLD_TRY_WRAP(carry_out(changes), "commit");
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

Result<void> Store::carry_out(const Changes& changes) {
  const std::string record = encode_record(changes);
  if (journal_size_ + record.size() > journal_limit_) {
    PINFOLD_TRY(settle());
  }
  known_ = false;
  std::map<std::string, std::unique_ptr<File>> temps;
  for (const auto& [name, change] : changes) {
    if (!is_kubelets(name)) continue;
    PINFOLD_LET(temps[name], write_temp(*fs_, name, change.after));
  }
  PINFOLD_TRY(append_to_journal(record));
  for (auto& [name, file] : temps) {
    PINFOLD_TRY(fs_->rename(temp_name(name), name));
    unsettled_[name] = std::move(file);
  }
  pods_unsettled_ = pods_unsettled_ || temps.size() < changes.size();
  return {};
}

/// The transaction is committed when this has succeeded.
Result<void> Store::append_to_journal(const std::string& record) {
  const bool fresh = journal_ == nullptr;
  if (fresh) {
    PINFOLD_LET(journal_, fs_->create(std::string(kJournalFileName)));
  }
  auto done = write_all(*journal_, record);
  if (done) done = journal_->sync();
  if (done && fresh) done = fs_->sync_directory();
  journal_size_ += record.size();
  return done;
}

Result<void> Store::settle() {
  if (!known_) return recover();
  if (journal_ == nullptr) return {};
  known_ = false;
  for (const auto& [name, file] : unsettled_) {
    PINFOLD_TRY(file->sync());
  }
  Contents pods;
  if (pods_unsettled_) pods[std::string(kPodsFileName)] = *current_.pods;
  PINFOLD_TRY(replace_all(*fs_, pods));
  PINFOLD_TRY(fs_->remove(std::string(kJournalFileName)));
  forget_journal();
  known_ = true;
  return {};
}

void Store::forget_journal() {
  unsettled_.clear();
  pods_unsettled_ = false;
  journal_.reset();
  journal_size_ = 0;
}

Result<void> Store::finish_journal() {
  const std::string name(kJournalFileName);
  PINFOLD_LET(const auto bytes, fs_->read(name));
  if (!bytes) return {};
  PINFOLD_LET(const auto journal, decode_journal(*bytes));
  PINFOLD_LET(const auto left, remaining(*fs_, journal));
  // Also what is in place already: it may not have been synced.
  PINFOLD_TRY(replace_all(*fs_, left.contents));
  return left.fits ? fs_->remove(name) : fs_->rename(name, std::string(kStaleJournalFileName));
}

Result<void> Store::recover() {
  known_ = false;
  forget_journal();
  PINFOLD_TRY(finish_journal());
  PINFOLD_LET(const auto names, fs_->list());
  for (const std::string& name : names) {
    if (!name.starts_with(kTempPrefix)) continue;
    PINFOLD_TRY(fs_->remove(name));
  }
  PINFOLD_LET(current_, read_files(*fs_));
  known_ = true;
  publish();
  return {};
}

}  // namespace pinfold::checkpoint
