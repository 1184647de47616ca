// Who can change a state directory, and what may exist in place of its files.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "temp_dir.hpp"

namespace pinfold::checkpoint::testing {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOtherUser = 54321;

/// Every name that a store reads or writes.
const std::string kNames[] = {std::string(kCpuFileName),
                              std::string(kMemoryFileName),
                              std::string(kPodsFileName),
                              std::string(kNodeFileName),
                              "config.yaml",
                              "config.yaml.before",
                              std::string(kJournalFileName),
                              std::string(kLockFileName),
                              std::string(kQueueFileName),
                              std::string(kSnapshotFileName),
                              std::string(kStaleJournalFileName),
                              std::string(kTempPrefix) + "cpu_manager_state",
                              ".pinfold_processes",
                              ".pinfold_metrics"};

void make_socket(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::strcpy(&address.sun_path[0], path.c_str());  // NOLINT(clang-analyzer-security.insecureAPI.*)
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
}

/// The message of both openings, which must agree; "" if both succeed.
std::string refusal(const std::string& directory, OwnerCheck owners = OwnerCheck::kOn) {
  const auto read = Store::open_read_only(directory, owners);
  const auto opened = Store::open(directory, {std::chrono::milliseconds(100)}, owners);
  EXPECT_EQ(read.has_value(), opened.has_value());
  if (opened || read) return "";
  EXPECT_EQ(opened.error(), read.error());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument) << opened.error().message;
  return opened.error().message;
}

TEST(StateDirectory, RefusesWhatIsNoRegularFileAndNeverBlocks) {
  struct Kind {
    const char* what;
    void (*make)(const std::string& path);
  };
  const Kind kinds[] = {
      {"a FIFO", [](const std::string& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }},
      {"a directory", [](const std::string& path) { fs::create_directory(path); }},
      {"a symbolic link", [](const std::string& path) { fs::create_symlink("nowhere", path); }},
      {"a symbolic link", [](const std::string& path) { fs::create_symlink("/dev/zero", path); }},
      {"a socket", make_socket},
  };
  for (const std::string& name : kNames) {
    for (const auto& [what, make] : kinds) {
      const test::TempDir folder;
      make(folder / name);
      const std::string expected =
          "'" + (folder / name) + "' is " + what + ", expected a regular file";
      EXPECT_EQ(refusal(folder.path()), expected);
      EXPECT_EQ(refusal(folder.path(), OwnerCheck::kOff), expected);
      EXPECT_TRUE(fs::exists(fs::symlink_status(folder / name))) << "it stays";
    }
  }
}

TEST(StateDirectory, RefusesADeviceInPlaceOfAFile) {
  const test::TempDir folder;
  if (::mknod((folder / ".pinfold_pods").c_str(), S_IFCHR | 0600U, 0x0103) != 0) {
    GTEST_SKIP() << "making a device needs root";
  }
  EXPECT_EQ(refusal(folder.path()),
            "'" + (folder / ".pinfold_pods") + "' is a device, expected a regular file");
}

TEST(StateDirectory, ReadsNoSnapshotFromAFifo) {
  const test::TempDir folder;
  ASSERT_EQ(::mkfifo((folder / std::string(kSnapshotFileName)).c_str(), 0600), 0);
  const auto snapshot = read_snapshot(folder.path());
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ErrorCode::kInvalidArgument) << snapshot.error().message;
}

TEST(StateDirectory, RefusesOneThatOthersCanWrite) {
  for (const mode_t mode : {0770U, 0702U, 01777U}) {
    const test::TempDir folder;
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    const std::string message = refusal(folder.path());
    EXPECT_NE(message.find("state directory: '" + folder.path() + "' belongs to user "),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("run 'chmod go-w " + folder.path() + "'"), std::string::npos) << message;
    EXPECT_EQ(refusal(folder.path(), OwnerCheck::kOff), "");
    EXPECT_TRUE(Store::open(folder.path(), {}, OwnerCheck::kOff));
    ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);  // as the message advises
    EXPECT_EQ(refusal(folder.path()), "");
  }
}

TEST(StateDirectory, RefusesFilesThatOthersCanWrite) {
  for (const std::string& name : kNames) {
    const test::TempDir folder;
    folder.write(name, "");
    ASSERT_EQ(::chmod((folder / name).c_str(), 0620), 0);
    const std::string message = refusal(folder.path());
    EXPECT_NE(message.find("'" + (folder / name) + "' belongs to user "), std::string::npos)
        << message;
    EXPECT_NE(message.find("has mode 0620"), std::string::npos) << message;
    EXPECT_NE(message.find("run 'chmod go-w " + (folder / name) + "'"), std::string::npos)
        << message;
  }
  const test::TempDir folder;
  folder.write("notes.txt", "");  // not a file of the store
  ASSERT_EQ(::chmod((folder / "notes.txt").c_str(), 0666), 0);
  EXPECT_EQ(refusal(folder.path()), "");
}

TEST(StateDirectory, RefusesAnotherOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "changing owners needs root";
  const test::TempDir folder;
  folder.write("cpu_manager_state", "{}");
  const std::string file = folder / "cpu_manager_state";
  ASSERT_EQ(::chown(file.c_str(), kOtherUser, 0), 0);
  EXPECT_EQ(
      refusal(folder.path()),
      "'" + file +
          "' belongs to user 54321 and has mode 0644, so others can change the state: expected "
          "owner root and no write permission for group and others; run 'chown 0 " +
          file + "'");
  ASSERT_EQ(::chown(file.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder.path().c_str(), kOtherUser, 0), 0);
  EXPECT_NE(refusal(folder.path()).find("run 'chown 0 " + folder.path() + "'"), std::string::npos);
}

/// A user who can write to a parent directory can replace the state directory.
TEST(StateDirectory, RefusesOneThatOthersCanReplace) {
  const test::TempDir folder;
  const std::string state = folder / "a/b/state";
  ASSERT_TRUE(make_state_directory(state));
  EXPECT_EQ(refusal(state), "");
  ASSERT_EQ(::chmod((folder / "a").c_str(), 0777), 0);
  const std::string message = refusal(state);
  EXPECT_EQ(message.find("state directory '" + state + "': '" + (folder / "a") + "' belongs to"),
            0U)
      << message;
  fs::create_directory_symlink(state, folder / "link");
  EXPECT_NE(refusal(folder / "link"), "") << "through a link";
  EXPECT_EQ(refusal(state, OwnerCheck::kOff), "");
  ASSERT_EQ(::chmod((folder / "a").c_str(), 01777), 0);
  EXPECT_EQ(refusal(state), "") << "as in /tmp, others cannot rename b";
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown((folder / "a/b").c_str(), kOtherUser, 0), 0);
  EXPECT_NE(refusal(state), "") << "the owner of b can rename it";
}

TEST(StateDirectory, SaysWhichPartCannotBeMade) {
  const test::TempDir folder;
  folder.write("file", "");
  const auto made = make_state_directory(folder / "file/a/state");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "state directory '" + (folder / "file/a") + "': Not a directory");
}

TEST(StateDirectory, IsMadeForItsOwnerAlone) {
  const test::TempDir folder;
  const mode_t before = ::umask(0);
  EXPECT_TRUE(make_state_directory(folder / "a/b//"));
  EXPECT_TRUE(make_state_directory(folder / "a/b"));
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);
  ASSERT_EQ(::stat((folder / "a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  EXPECT_EQ(refusal(folder / "a/b"), "");
}

/// Each file also has a name outside the directory. Those contents never change.
TEST(StateDirectory, WritesThroughNoHardLink) {
  const test::TempDir outside;
  const test::TempDir folder;
  const auto content_of = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  for (const std::string& name : kNames) {
    // Sound as a state file, damaged as a journal or side file.
    outside.write(name, "{\"of\":\"" + name + "\"}");
    ASSERT_EQ(::link((outside / name).c_str(), (folder / name).c_str()), 0);
  }
  {
    auto store = Store::open(folder.path()).value();
    for (const char* const round : {"1", "2"}) {
      ASSERT_TRUE(store.commit({std::string("c") + round, "m", std::string("p") + round}));
      ASSERT_TRUE(store.write_side_file(".pinfold_processes", round));
      ASSERT_TRUE(store.write_side_file(".pinfold_metrics", round));
    }
  }
  EXPECT_EQ(content_of(folder / "cpu_manager_state"), "c2");
  EXPECT_EQ(content_of(folder / ".pinfold_pods"), "p2");
  for (const std::string& name : kNames) {
    EXPECT_EQ(content_of(outside / name), "{\"of\":\"" + name + "\"}");
  }
}

/// A killed process left part of a file that is written again.
TEST(StateDirectory, TemporaryFilesThatRemainDoNotBlock) {
  const test::TempDir folder;
  auto store = Store::open(folder.path()).value();
  for (const char* const name : {"cpu_manager_state", "memory_manager_state", ".pinfold_pods",
                                 ".pinfold_processes", "snapshot"}) {
    folder.write(std::string(kTempPrefix) + name, "half");
  }
  ASSERT_TRUE(store.commit({"c", "m", "p"}));
  ASSERT_TRUE(store.write_side_file(".pinfold_processes", "x"));
  ASSERT_TRUE(store.checkpoint_and_remove_journal());
  ASSERT_TRUE(store.commit({std::string(200'000, 'c'), "m", "p"}));  // a new snapshot
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(kTempPrefix)) << entry.path();
  }
}

}  // namespace
}  // namespace pinfold::checkpoint::testing
