#include "pinfold/harness/snapshot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/fingerprint.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/saved_state.hpp"
#include "pinfold/text/words.hpp"
#include "vm/sum_of_file.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kSaveLimit(120000);
/// The files of a snapshot: what QEMU reads, and the sums of all; the others hold memory.
constexpr const char* kStream = "vm";
constexpr const char* kSums = "sum";
/// If the machines of a run do not all fit, each of them is booted every time: the one used longest
/// ago is needed next. A machine takes 60 MiB, one with a runtime several hundred.
constexpr std::uintmax_t kMaxSnapshots = std::uintmax_t{16} << 30U;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Returns a text that changes whenever the file is changed in any way.
std::string identity_of(const fs::path& file) {
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0) return "";
  return fmt::format("{} {} {} {}.{}", facts.st_dev, facts.st_ino, facts.st_size,
                     facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
}

/// Checks a file's sum; a file that was verified is not read again in this process.
bool has_sum(const fs::path& file, const std::string& expected) {
  static std::mutex mutex;  // scenarios may run in parallel
  static std::set<std::string> verified;
  const std::string known = identity_of(file) + " " + expected;
  {
    const std::lock_guard lock(mutex);
    if (verified.contains(known)) return true;
  }
  const auto sum = sum_of_file(file);
  if (!sum || *sum != expected) return false;
  const std::lock_guard lock(mutex);
  verified.insert(known);
  return true;
}

/// Repeats a QEMU command until `is_end` accepts the status that it returns.
template <typename IsEnd>
VmResult<void> wait_for_status(Vm& vm, const char* command, IsEnd is_end) {
  const Clock::time_point deadline = Clock::now() + kSaveLimit;
  while (true) {
    PINFOLD_LET(const auto state, vm.monitor(command, Json::object(), kMonitorLimit));
    const std::string status = state.value("status", "");
    if (is_end(status)) return {};
    if (status == "failed" || Clock::now() > deadline) {
      return tl::unexpected(
          VmFailure{Trouble::kHost, "QEMU cannot save the machine: " + state.dump()});
    }
    std::this_thread::sleep_for(Milliseconds(20));
  }
}

/// Makes QEMU save the machine into a file; the machine keeps running.
VmResult<void> write_stream(const fs::path& draft, Vm& vm) {
  PINFOLD_TRY(vm.monitor("stop", Json::object(), kMonitorLimit));
  // dd must not create the file: it may still run briefly after an interrupt removed the draft.
  if (auto made = write_file(draft, ""); !made) {
    return tl::unexpected(VmFailure{Trouble::kHost, made.error().message});
  }
  const std::string uri =
      "exec:dd conv=nocreat,notrunc bs=1M status=none of=" + shell_word(draft.string());
  PINFOLD_TRY(vm.monitor("migrate", {{"uri", uri}}, kMonitorLimit));
  PINFOLD_TRY(wait_for_status(vm, "query-migrate",
                              [](const std::string& status) { return status == "completed"; }));
  // QEMU reports the end of the migration shortly before it lets the machine run again.
  PINFOLD_TRY(wait_for_status(
      vm, "query-status", [](const std::string& status) { return status != "finish-migrate"; }));
  PINFOLD_TRY(vm.monitor("cont", Json::object(), kMonitorLimit));
  return {};
}

/// Files with the contents of memory, most of which is zero.
class MemoryFiles {
 public:
  using PathOf = std::function<fs::path(const std::string& name)>;
  explicit MemoryFiles(PathOf path_of) : path_of_(std::move(path_of)) {}

  Result<void> make(const std::vector<SavedMemory>& memory) {
    for (const SavedMemory& each : memory) {
      PINFOLD_TRY(open_file(each.name));
      if (ftruncate(files_[each.name].fd.get(), static_cast<off_t>(each.bytes)) != 0) {
        return fail_errno(errno, fmt::format("write '{}'", path_of_(each.name).string()));
      }
    }
    return {};
  }

  Result<void> write(const SavedPage& page) {
    static constexpr char kZeros[kPageBytes] = {};
    const std::string name(page.memory);
    PINFOLD_TRY(open_file(name));
    File& file = files_[name];
    const std::size_t index = page.offset / kPageBytes;
    if (index >= file.written.size()) file.written.resize(index + 1);
    if (page.bytes.empty() && !file.written[index]) return {};
    const char* const bytes = page.bytes.empty() ? kZeros : page.bytes.data();
    const ssize_t count = pwrite(file.fd.get(), bytes, kPageBytes, static_cast<off_t>(page.offset));
    if (count != static_cast<ssize_t>(kPageBytes)) {
      return fail_errno(errno, fmt::format("write '{}'", path_of_(name).string()));
    }
    file.written[index] = true;
    return {};
  }

 private:
  struct File {
    UniqueFd fd;
    std::vector<bool> written;
  };

  Result<void> open_file(const std::string& name) {
    UniqueFd& fd = files_[name].fd;
    if (fd) return {};
    const fs::path path = path_of_(name);
    fd = UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    return fd ? Result<void>() : fail_errno(errno, fmt::format("write '{}'", path.string()));
  }

  PathOf path_of_;
  std::map<std::string, File> files_;
};

/// A file mapped into memory.
class MappedSnapshot {
 public:
  static Result<MappedSnapshot> open_at(const fs::path& path) {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    if (fd && fstat(fd.get(), &facts) == 0) {
      MappedSnapshot file;
      file.size_ = static_cast<std::size_t>(facts.st_size);
      file.bytes_ = mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
      if (file.bytes_ != MAP_FAILED) return file;
    }
    return fail_errno(errno, fmt::format("read '{}'", path.string()));
  }
  MappedSnapshot(MappedSnapshot&& other) noexcept
      : bytes_(std::exchange(other.bytes_, MAP_FAILED)), size_(other.size_) {}
  MappedSnapshot& operator=(MappedSnapshot&&) = delete;
  ~MappedSnapshot() {
    if (bytes_ != MAP_FAILED) (void)munmap(bytes_, size_);
  }
  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  MappedSnapshot() = default;

  void* bytes_ = MAP_FAILED;
  std::size_t size_ = 0;
};

}  // namespace

std::string SnapshotStore::key(const std::string& qemu_version,
                               const std::vector<std::string>& command,
                               const std::string& kernel_version) {
  Fingerprint fingerprint;
  fingerprint.add(qemu_version).add(kernel_version);
  for (const std::string& argument : command) fingerprint.add(argument);
  return fingerprint.to_string();
}

fs::path SnapshotStore::file(const std::string& key, const std::string& name) const {
  return folder_ / fmt::format("{}.{}", key, name);
}

UniqueFd SnapshotStore::lock(const std::string& key, int interrupt_fd) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const fs::path file = this->file(key, "lock");
  UniqueFd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  while (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    pollfd watched = {interrupt_fd, POLLIN, 0};
    if (poll(&watched, 1, 100) > 0) return {};
  }
  return fd;
}

std::optional<fs::path> SnapshotStore::find(const std::string& key) const {
  const auto listed = read_file(file(key, kSums));
  if (!listed) return std::nullopt;
  const std::vector<std::string> lines = lines_of(*listed);
  const bool intact = std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
    const std::size_t space = line.find(' ');
    return space != std::string::npos &&
           has_sum(file(key, line.substr(0, space)), line.substr(space + 1));
  });
  if (!intact || lines.empty()) {
    remove(key);
    return std::nullopt;
  }
  std::error_code failed;  // mark as recently used
  fs::last_write_time(file(key, kSums), fs::file_time_type::clock::now(), failed);
  return file(key, kStream);
}

VmResult<void> SnapshotStore::save(const std::string& key, Vm& vm) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const std::string drafts = fmt::format(".{}.tmp", vm.pid());
  const fs::path saved = file(key, "all" + drafts);
  auto done = write_stream(saved, vm);
  if (done) {
    if (const auto kept = keep(key, saved, drafts); !kept) {
      done = tl::unexpected(VmFailure{Trouble::kHost, kept.error().message});
    }
  }
  for (const fs::path& left : files_of(key)) {
    if (left.string().ends_with(drafts)) fs::remove(left, failed);
  }
  // Snapshots take at most as much space as remains free.
  const fs::space_info space = fs::space(folder_, failed);
  if (done) prune_cache(folder_, failed ? kMaxSnapshots : std::min(kMaxSnapshots, space.available));
  return done;
}

Result<void> SnapshotStore::keep(const std::string& key, const fs::path& saved,
                                 const std::string& drafts) const {
  const auto draft = [&](const std::string& name) { return file(key, name + drafts); };
  PINFOLD_LET(const auto all, MappedSnapshot::open_at(saved));
  MemoryFiles files(draft);
  PINFOLD_LET(const auto state, split_saved_state(all.bytes(), [&](const SavedPage& page) {
                return files.write(page);
              }));
  PINFOLD_TRY(files.make(state.memory));
  PINFOLD_TRY(write_file(draft(kStream), state.stream));
  std::vector<std::string> names = {kStream};
  for (const SavedMemory& each : state.memory) names.push_back(each.name);
  std::string sums;
  for (const std::string& name : names) {
    PINFOLD_LET(const auto sum, sum_of_file(draft(name)));
    sums += fmt::format("{} {}\n", name, sum);
  }
  PINFOLD_TRY(write_file(draft(kSums), sums));
  names.emplace_back(kSums);  // last: without the sums the other files are ignored
  remove(key);
  for (const std::string& name : names) {
    std::error_code failed;
    fs::rename(draft(name), file(key, name), failed);
    if (failed) return fail_errno(failed.value(), fmt::format("rename '{}'", draft(name).string()));
  }
  return {};
}

std::vector<fs::path> SnapshotStore::files_of(const std::string& key) const {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator it(folder_, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (it->path().filename().string().starts_with(key + ".")) files.push_back(it->path());
  }
  return files;
}

void SnapshotStore::remove(const std::string& key) const {
  std::error_code failed;
  fs::remove(file(key, kSums), failed);  // first: without the sums the other files are ignored
  for (const fs::path& each : files_of(key)) {
    const std::string name = each.extension();
    if (name != ".tmp" && name != ".lock") fs::remove(each, failed);
  }
}

VmResult<void> resume(Vm& vm, Milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  while (true) {
    PINFOLD_LET(auto state, vm.monitor("query-status", Json::object(), limit));
    const std::string status = state.value("status", "");
    if (status == "paused" || status == "postmigrate") break;
    if (status != "inmigrate" || Clock::now() > deadline) {
      return tl::unexpected(VmFailure{Trouble::kHost, "the snapshot is not read in: " + status});
    }
    std::this_thread::sleep_for(Milliseconds(5));
  }
  PINFOLD_TRY(vm.monitor("cont", Json::object(), limit));
  return {};
}

}  // namespace pinfold::harness
