// Eight readers, and four writers that are killed at random: every read returns one complete state.

#include "pinfold/checkpoint/snapshot.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include "pinfold/checkpoint/store.hpp"
#include "temp_dir.hpp"

namespace pinfold::checkpoint::testing {
namespace {

constexpr std::size_t kReaders = 8;
constexpr std::size_t kWriters = 4;
constexpr int kKills = 60;

/// All four files contain the number; their lengths depend on it and exceed the initial capacity.
Files numbered(std::uint64_t number) {
  const std::string text = std::to_string(number) + " ";
  const std::size_t size = 2000 + number % 97 * 1000;
  std::string cpu;
  while (cpu.size() < size) cpu += text;
  return {cpu, text, number % 3 == 0 ? std::nullopt : std::optional(text + text), text};
}

std::optional<std::uint64_t> number_of(const Files& files) {
  if (!files.memory) return std::nullopt;
  const std::uint64_t number = std::stoull(*files.memory);
  Files expected = numbered(number);
  if (!expected.pods) expected.pods = files.pods;  // a commit keeps files without a value
  return files == expected ? std::optional(number) : std::nullopt;
}

struct Shared {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> acknowledged{0};
  std::array<std::atomic<std::uint64_t>, kReaders> reads{};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> backwards{0};
};

[[noreturn]] void write_forever(const std::string& folder, Shared& shared) {
  while (true) {
    auto store = Store::open(folder, {std::chrono::seconds(20)});
    if (!store) ::_exit(2);
    std::uint64_t number = std::stoull(*store->load()->memory);
    for (int i = 0; i < 20; ++i) {
      if (!store->commit(numbered(++number))) ::_exit(3);
      shared.acknowledged = number;
    }
  }
}

Result<Files> read_without_lock(const std::string& folder) {
  PINFOLD_LET(Store store, Store::open_read_only(folder));
  return store.load();
}

[[noreturn]] void read_forever(const std::string& folder, Shared& shared, std::size_t self) {
  std::uint64_t last = 0;
  while (!shared.stop) {
    const std::uint64_t before = shared.acknowledged;
    const auto files = self % 2 == 0 ? read_snapshot(folder) : read_without_lock(folder);
    if (!files) {
      ++shared.wrong;
      continue;
    }
    const auto number = number_of(*files);
    if (!number) ++shared.wrong;
    if (number && (*number < last || *number < before)) ++shared.backwards;
    last = number.value_or(last);
    ++shared.reads[self];
  }
  ::_exit(0);
}

pid_t start(const std::function<void()>& run) {
  const pid_t child = ::fork();
  if (child == 0) run();
  return child;
}

TEST(Snapshot, IsConsistentForReadersWhenWritersAreKilled) {
  const test::TempDir folder;
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const shared = new (memory) Shared;
  ASSERT_TRUE(Store::open(folder.path())->commit(numbered(1)));
  std::array<pid_t, kReaders> readers{};
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers[i] = start([&] { read_forever(folder.path(), *shared, i); });
  }
  const auto writer = [&] { return start([&] { write_forever(folder.path(), *shared); }); };
  std::array<pid_t, kWriters> writers{};
  for (pid_t& pid : writers) pid = writer();
  std::minstd_rand random(3);
  const auto kill_writer = [](pid_t pid) {
    ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a writer ended by itself: " << status;
  };
  const auto done = [&] {
    return shared->acknowledged > 200 && std::all_of(shared->reads.begin(), shared->reads.end(),
                                                     [](const auto& count) { return count > 100; });
  };
  for (int kills = 0; kills < kKills || !done(); ++kills) {
    ::usleep(static_cast<useconds_t>(random() % 30000));
    pid_t& pid = writers[random() % kWriters];
    kill_writer(pid);
    pid = writer();
  }
  for (const pid_t pid : writers) kill_writer(pid);
  shared->stop = true;
  for (const pid_t pid : readers) ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(shared->wrong, 0U) << "torn or unreadable";
  EXPECT_EQ(shared->backwards, 0U) << "older than what was acknowledged before the read";
  auto store = Store::open(folder.path());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(read_snapshot(folder.path()), store->load());
  std::uint64_t reads = 0;
  for (const auto& count : shared->reads) reads += count;
  std::printf("%llu reads and %llu commits\n", static_cast<unsigned long long>(reads),
              static_cast<unsigned long long>(shared->acknowledged.load()));
  ::munmap(memory, sizeof(Shared));
}

class SnapshotFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file() const {
    return folder_.path() + "/" + std::string(kSnapshotFileName);
  }
  [[nodiscard]] ino_t inode() const {
    struct stat status = {};
    EXPECT_EQ(::stat(file().c_str(), &status), 0);
    return status.st_ino;
  }
  void patch(std::streamoff at, char byte) const {
    std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(at).put(byte);
  }
  void commit(const Files& files) const {
    auto store = Store::open(folder_.path()).value();
    ASSERT_TRUE(store.commit(files));
    EXPECT_EQ(read_snapshot(folder_.path()), files);
  }
  test::TempDir folder_;
};

TEST_F(SnapshotFile, ExistsWhileTheStoreIsOpenAndFollowsItsCommits) {
  EXPECT_EQ(read_snapshot(folder_.path()).error().code, ErrorCode::kNotFound);
  auto store = Store::open(folder_.path()).value();
  EXPECT_EQ(read_snapshot(folder_.path()), Files());
  const Files files{"c", std::string(), std::string(500000, 'p')};
  ASSERT_TRUE(store.commit(files));
  EXPECT_EQ(read_snapshot(folder_.path()), files);
  struct stat status = {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(SnapshotFile, RejectsAnotherBootOrVersion) {
  { (void)Store::open(folder_.path()).value(); }
  patch(16, 'X');  // the boot id
  EXPECT_EQ(read_snapshot(folder_.path()).error().code, ErrorCode::kNotFound);
  patch(8, 3);  // the previous version: the reader uses read_files(), as after a boot
  EXPECT_EQ(read_snapshot(folder_.path()).error().code, ErrorCode::kNotFound);
  patch(8, 5);  // a later version
  EXPECT_EQ(read_snapshot(folder_.path()).error().code, ErrorCode::kUnsupported);
  patch(0, 'X');
  EXPECT_EQ(read_snapshot(folder_.path()).error().code, ErrorCode::kCorrupt);
}

TEST_F(SnapshotFile, IsContinuedByLaterWriters) {
  commit({"c", "m", "p", "n"});
  const ino_t first = inode();
  for (std::size_t i = 0; i < 5; ++i) {
    commit({fmt::format("c{}", i), "m", std::string(1000 * i, 'p'), "n"});
    EXPECT_EQ(inode(), first) << i;
  }
  const Files larger{"c", "m", std::string(500000, 'p'), "n"};
  commit(larger);
  EXPECT_NE(inode(), first);
  { (void)Store::open(folder_.path()).value(); }
  EXPECT_EQ(read_snapshot(folder_.path()), larger);
}

TEST_F(SnapshotFile, IsReplacedIfNoWriterCanContinueIt) {
  namespace fs = std::filesystem;
  const std::string other_name = folder_.path() + "/linked";
  const std::map<std::string, std::function<void()>> spoil = {
      {"another boot", [&] { patch(16, 'X'); }},
      {"another version", [&] { patch(8, 3); }},
      {"a capacity beyond its end", [&] { patch(63, 0x7f); }},
      {"a capacity of another size", [&] { patch(56, 8); }},
      {"truncated", [&] { fs::resize_file(file(), fs::file_size(file()) - 16); }},
      {"shorter than its header", [&] { fs::resize_file(file(), 20); }},
      {"without blocks",
       [&] {
         const auto size = fs::file_size(file());
         fs::resize_file(file(), 4096);
         fs::resize_file(file(), size);
       }},
      {"with another name", [&] { fs::create_hard_link(file(), other_name); }},
      {"a link", [&] {
         fs::rename(file(), other_name + "s");
         fs::create_symlink(other_name + "s", file());
       }}};
  for (const auto& [name, spoil_it] : spoil) {
    SCOPED_TRACE(name);
    commit({"c", "m", "p", "n"});
    const ino_t before = inode();
    spoil_it();
    if (name == "a link") {
      EXPECT_FALSE(Store::open(folder_.path()));
      fs::remove(file());
    }
    commit({"d", "m", "p", name});
    EXPECT_NE(inode(), before);
  }
  std::ifstream linked(other_name, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(linked)), {});
  EXPECT_EQ(bytes.find("with another name"), std::string::npos) << "written through another name";
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
