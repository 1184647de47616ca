#include "pinfold/harness/snapshot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <thread>

#include "pinfold/harness/fingerprint.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/process.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kSaveLimit(120000);
constexpr std::uintmax_t kMaxSnapshots = std::uintmax_t{8} << 30U;  // some hundred MiB each

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Every step is a bijection of the state, so any single changed word changes the sum.
std::uint64_t sum_of(const unsigned char* bytes, std::size_t size) {
  std::uint64_t sum = size;
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    sum = std::rotl((sum ^ word) * 0x9e3779b97f4a7c15U, 29);
  }
  for (; at < size; ++at) sum = std::rotl((sum ^ bytes[at]) * 0x9e3779b97f4a7c15U, 29);
  return sum;
}

}  // namespace

Result<std::string> sum_of_file(const fs::path& file) {
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!fd || fstat(fd.get(), &facts) != 0)
    return fail_errno(errno, fmt::format("read '{}'", file.string()));
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) return std::string("empty");
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd.get(), 0);
  if (bytes == MAP_FAILED) return fail_errno(errno, fmt::format("read '{}'", file.string()));
  const std::uint64_t sum = sum_of(static_cast<const unsigned char*>(bytes), size);
  (void)munmap(bytes, size);
  return fmt::format("{} {:016x}", size, sum);
}

std::string SnapshotStore::key(const std::string& qemu_version,
                               const std::vector<std::string>& command,
                               const std::string& kernel_version) {
  Fingerprint fingerprint;
  fingerprint.add(qemu_version).add(kernel_version);
  for (const std::string& argument : command) fingerprint.add(argument);
  return fingerprint.to_string();
}

fs::path SnapshotStore::state_file(const std::string& key) const { return folder_ / (key + ".vm"); }
fs::path SnapshotStore::sum_file(const std::string& key) const { return folder_ / (key + ".sum"); }

UniqueFd SnapshotStore::lock(const std::string& key, int interrupt_fd) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const fs::path file = folder_ / (key + ".lock");
  UniqueFd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  while (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    pollfd watched = {interrupt_fd, POLLIN, 0};
    if (poll(&watched, 1, 100) > 0) return {};
  }
  return fd;
}

std::optional<fs::path> SnapshotStore::find(const std::string& key) const {
  std::error_code failed;
  if (!fs::exists(sum_file(key), failed) || !fs::exists(state_file(key), failed))
    return std::nullopt;
  const auto expected_value = read_file(sum_file(key));
  const auto sum = sum_of_file(state_file(key));
  if (!expected_value || !sum || *expected_value != *sum) {
    remove(key);
    return std::nullopt;
  }
  for (const fs::path& file : {state_file(key), sum_file(key)}) {  // mark as recently used
    fs::last_write_time(file, fs::file_time_type::clock::now(), failed);
  }
  return state_file(key);
}

VmResult<void> SnapshotStore::save(const std::string& key, Vm& vm) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const fs::path draft = fmt::format("{}.{}.tmp", state_file(key).string(), vm.pid());
  const auto give_up = [&](VmFailure failure) -> VmResult<void> {
    fs::remove(draft, failed);
    return tl::unexpected(std::move(failure));
  };
  if (auto stopped = vm.monitor("stop", Json::object(), kMonitorLimit); !stopped) {
    return give_up(stopped.error());
  }
  // dd must not create the file: it may still run briefly after an interrupt removed the draft.
  if (auto made = write_file(draft, ""); !made) {
    return give_up({Trouble::kHost, made.error().message});
  }
  const std::string uri =
      "exec:dd conv=nocreat,notrunc bs=1M status=none of=" + shell_quoted(draft.string());
  if (auto begun = vm.monitor("migrate", {{"uri", uri}}, kMonitorLimit); !begun) {
    return give_up(begun.error());
  }
  const Clock::time_point deadline = Clock::now() + kSaveLimit;
  while (true) {
    auto state = vm.monitor("query-migrate", Json::object(), kMonitorLimit);
    if (!state) return give_up(state.error());
    const std::string status = state->value("status", "");
    if (status == "completed") break;
    if (status == "failed" || Clock::now() > deadline) {
      return give_up({Trouble::kHost, "QEMU cannot save the machine: " + state->dump()});
    }
    std::this_thread::sleep_for(Milliseconds(20));
  }
  if (auto running = vm.monitor("cont", Json::object(), kMonitorLimit); !running) {
    return give_up(running.error());
  }
  const auto sum = sum_of_file(draft);
  if (!sum) return give_up({Trouble::kHost, sum.error().message});
  fs::rename(draft, state_file(key), failed);
  if (failed) return give_up({Trouble::kHost, failed.message()});
  if (auto written = write_file(sum_file(key), *sum); !written) {
    return give_up({Trouble::kHost, written.error().message});
  }
  prune_cache(folder_, kMaxSnapshots);
  return {};
}

void SnapshotStore::remove(const std::string& key) const {
  std::error_code failed;
  fs::remove(sum_file(key), failed);
  fs::remove(state_file(key), failed);
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
