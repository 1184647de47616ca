// A program started by another thread inherits no file of a state directory.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "pinfold/checkpoint/snapshot.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "temp_dir.hpp"

namespace pinfold::checkpoint::testing {
namespace {

namespace fs = std::filesystem;

Files files_of_commit(int number) {
  const std::string text = std::to_string(number);
  return {text, text, text, std::string(static_cast<std::size_t>(100'000 * (number % 2)), 'x')};
}

/// Descriptors of files below `directory` that a program would inherit; "": none.
std::string inheritable(const std::string& directory) {
  std::string found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    std::error_code gone;
    const std::string file = fs::read_symlink(entry.path(), gone);
    if (gone || !file.starts_with(directory)) continue;
    if ((::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) found += file + " ";
  }
  return found;
}

TEST(Descriptors, AreClosedWhenAnotherProgramStarts) {
  const test::TempDir dir;
  auto store = Store::open(dir.path(), {std::chrono::seconds(5)});
  ASSERT_TRUE(store) << store.error().message;
  for (int number = 0; number < 4; ++number) {
    ASSERT_TRUE(store->commit(files_of_commit(number)));
    EXPECT_EQ(inheritable(dir.path()), "") << "commit " << number;
  }
  const auto reader = Store::open_read_only(dir.path(), OwnerCheck::kOff);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(inheritable(dir.path()), "");
  ASSERT_TRUE(read_snapshot(dir.path()));
}

/// Starts `ls -l /proc/self/fd`, and returns what it prints.
std::string descriptors_of_a_program() {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "no pipe";
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::array<std::string, 3> words = {"ls", "-l", "/proc/self/fd"};
  std::array<char*, 4> argv = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, "/bin/ls", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) {
    ::close(ends[0]);
    return "no program";
  }
  std::string out;
  std::array<char, 4096> chunk = {};
  for (ssize_t size = 0; (size = ::read(ends[0], chunk.data(), chunk.size())) > 0;) {
    out.append(chunk.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  (void)::waitpid(child, nullptr, 0);
  return out;
}

/// There is no moment between opening a file and marking it as close-on-exec.
TEST(Descriptors, AreNeverInheritedWhileAnotherThreadOpensAndCommits) {
  const test::TempDir dir;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int number = 0; !stop; ++number) {
      auto store = Store::open(dir.path(), {std::chrono::seconds(5)});
      ASSERT_TRUE(store) << store.error().message;
      ASSERT_TRUE(store->commit(files_of_commit(number)));
      (void)read_snapshot(dir.path());
    }
  });
  constexpr int kPrograms = 60;
  for (int i = 0; i < kPrograms; ++i) {
    const std::string has = descriptors_of_a_program();
    EXPECT_NE(has.find("->"), std::string::npos) << has;
    EXPECT_EQ(has.find(dir.path()), std::string::npos) << has;
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
