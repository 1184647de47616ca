#include "pinfold/harness/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "pinfold/harness/accelerator.hpp"
#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/snapshot.hpp"
#include "vm/sum_of_file.hpp"

namespace pinfold::harness {
namespace {

bool is_alive(pid_t pid) {
  const auto status = read_file("/proc/" + std::to_string(pid) + "/stat");
  return status && status->find(") Z ") == std::string::npos;
}

bool dies_soon(pid_t pid) {
  for (int i = 0; i < 500 && is_alive(pid); ++i) std::this_thread::sleep_for(Milliseconds(10));
  return !is_alive(pid);
}

/// The pid that a shell command wrote to a file.
pid_t read_pid(const std::filesystem::path& file) {
  for (int i = 0; i < 500; ++i) {
    const auto text = read_file(file);
    if (text && text->ends_with('\n')) return std::atoi(text->c_str());
    std::this_thread::sleep_for(Milliseconds(10));
  }
  return -1;
}

TEST(RunProgram, ReturnsStatusAndOutput) {
  const auto done =
      run_program({"sh", "-c", "echo out; echo err >&2; exit 3"}, Milliseconds(60000));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->exit_status, 3);
  EXPECT_EQ(done->output, "out\nerr\n");
}

TEST(RunProgram, KillsTheProgramAtItsLimit) {
  const auto file =
      std::filesystem::temp_directory_path() / ("pinfold-" + std::to_string(getpid()));
  const auto done =
      run_program({"sh", "-c", "echo $$ > " + file.string() + "; sleep 1000"}, Milliseconds(500));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kBusy);
  const pid_t pid = read_pid(file);
  EXPECT_GT(pid, 0);
  EXPECT_TRUE(dies_soon(pid));
  std::filesystem::remove(file);
}

TEST(RunProgram, NamesTheMissingProgram) {
  const auto done = run_program({"/nowhere/program"}, Milliseconds(1000));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(done.error().message, "run '/nowhere/program': No such file or directory");
}

TEST(AskProgram, AsksAgainOnlyAfterAFailureOrIfAFileChanges) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const auto script = folder->path() / "script";
  const auto ask = [&](const std::string& text) {
    if (!text.empty()) std::ofstream(script) << text;
    const auto answer = ask_program({"sh", script.string()}, Milliseconds(60000));
    return answer ? answer->output : answer.error().message;
  };
  EXPECT_EQ(ask(R"(echo one; printf x >> "$0.log")"), "one\n");
  EXPECT_EQ(ask(""), "one\n");
  EXPECT_EQ(ask(R"(echo other; printf x >> "$0.log"; exit 1)"), "other\n");
  EXPECT_EQ(ask(""), "other\n");
  EXPECT_EQ(std::filesystem::file_size(script.string() + ".log"), 3U) << "a failure is asked again";
}

TEST(ChildProcess, DiesWithAKilledParent) {
  const auto file =
      std::filesystem::temp_directory_path() / ("pinfold-d" + std::to_string(getpid()));
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    auto child = ChildProcess::start({{"sleep", "1000"}});
    std::ofstream(file) << (child ? child->pid() : -1) << "\n";
    while (true) (void)pause();
  }
  const pid_t child = read_pid(file);
  EXPECT_GT(child, 0);
  EXPECT_TRUE(is_alive(child));
  (void)kill(parent, SIGKILL);
  (void)waitpid(parent, nullptr, 0);
  EXPECT_TRUE(dies_soon(child));
  std::filesystem::remove(file);
}

TEST(KvmProbe, FindsADeviceThatIsNotFastOrGivesAReason) {
  const KvmProbe probe = probe_kvm(kKvmDevice);
  EXPECT_EQ(probe.usable, probe.why.empty()) << probe.why;
  // The probe must detect the emulating module, with which the device opens and runs `hlt`.
  if (std::filesystem::exists("/sys/module/kvm_pvm")) {
    EXPECT_FALSE(probe.usable) << probe.why;
  }
}

TEST(KvmProbe, NamesADeviceThatIsNone) {
  const auto file =
      std::filesystem::temp_directory_path() / ("pinfold-k" + std::to_string(getpid()));
  EXPECT_EQ(probe_kvm(file).why, "'" + file.string() + "': does not exist");
  std::ofstream(file) << "a plain file";
  EXPECT_EQ(probe_kvm(file).why, "'" + file.string() + "': is not a KVM device");
  EXPECT_EQ(probe_kvm("/dev/null").why, "'/dev/null': is not a KVM device");
  std::filesystem::remove(file);
}

TEST(KvmProbe, IsKeptWithItsReasonUntilTheHostOrTheDeviceChanges) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pinfold-b" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto device = folder / "device";
  const auto kept = folder / "kvm-result";
  std::ofstream(device) << "a plain file";
  const std::string none = "'" + device.string() + "': is not a KVM device";
  EXPECT_EQ(known_kvm(folder, device).why, none);
  const std::string known = read_file(kept).value();
  ASSERT_TRUE(known.ends_with(none));
  const std::string state = known.substr(0, known.size() - none.size());
  ASSERT_TRUE(write_file(kept, state + "kept"));
  EXPECT_EQ(known_kvm(folder, device).why, "kept");
  ASSERT_TRUE(write_file(kept, state));
  EXPECT_TRUE(known_kvm(folder, device).usable);
  ASSERT_TRUE(write_file(kept, "another boot\n" + state.substr(state.find('\n') + 1) + "kept"));
  EXPECT_EQ(known_kvm(folder, device).why, none);
  ASSERT_TRUE(write_file(kept, state + "kept"));
  ASSERT_EQ(chmod(device.c_str(), 0620), 0);
  EXPECT_EQ(known_kvm(folder, device).why, none) << "its mode has changed";
  std::filesystem::remove_all(folder);
}

TEST(KvmProbe, IsNotKeptForADeviceThatIsAbsent) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pinfold-c" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto device = folder / "device";
  EXPECT_EQ(known_kvm(folder, device).why, "'" + device.string() + "': does not exist");
  EXPECT_FALSE(std::filesystem::exists(folder / "kvm-result"));
  std::filesystem::remove_all(folder);
}

class Snapshots : public testing::Test {
 protected:
  Snapshots() {
    std::filesystem::create_directories(folder_);
    keep(bytes_);
  }
  ~Snapshots() override { std::filesystem::remove_all(folder_); }
  Snapshots(Snapshots&&) = delete;
  Snapshots& operator=(Snapshots&&) = delete;

  /// Stores a snapshot: `bytes` as QEMU's state, and memory with holes.
  void keep(const std::string& bytes) {
    EXPECT_TRUE(write_file(state_, bytes));
    EXPECT_TRUE(write_file(memory_, bytes));
    std::filesystem::resize_file(memory_, 1 << 20);
    EXPECT_TRUE(write_file(folder_ / "k.sum",
                           "vm " + *sum_of_file(state_) + "\nm0 " + *sum_of_file(memory_) + "\n"));
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("pinfold-s" + std::to_string(getpid()));
  const std::filesystem::path state_ = folder_ / "k.vm";
  const std::filesystem::path memory_ = folder_ / "k.m0";
  const std::string bytes_ = std::string(100000, 'x');
  const SnapshotStore store_{folder_};
};

TEST_F(Snapshots, AreFound) {
  EXPECT_EQ(store_.find("k"), state_);
  EXPECT_EQ(store_.find("k"), state_) << "again, by what is known";
  std::filesystem::remove(folder_ / "k.sum");
  EXPECT_EQ(store_.find("k"), std::nullopt) << "a state without its sums";
}

TEST_F(Snapshots, AreRejectedIfAFileIsDamaged) {
  for (const auto& file : {state_, memory_}) {
    for (const std::size_t at : {std::size_t{0}, bytes_.size() / 2, bytes_.size() - 1}) {
      keep(bytes_);
      std::string damaged = *read_file(file);
      damaged[at] = 'y';
      ASSERT_TRUE(write_file(file, damaged));
      EXPECT_EQ(store_.find("k"), std::nullopt) << file << " " << at;
      EXPECT_FALSE(std::filesystem::exists(state_)) << "a damaged snapshot is removed";
      EXPECT_FALSE(std::filesystem::exists(memory_)) << "with all of its files";
    }
    keep(bytes_);
    ASSERT_TRUE(write_file(file, std::string_view(*read_file(file)).substr(1)));
    EXPECT_EQ(store_.find("k"), std::nullopt) << file << " is truncated";
    keep(bytes_);
    std::filesystem::remove(file);
    EXPECT_EQ(store_.find("k"), std::nullopt) << file << " is missing";
  }
}

TEST_F(Snapshots, HoleAndZerosHaveTheSameSum) {
  const auto with_hole = sum_of_file(memory_);
  std::string zeros = *read_file(memory_);
  ASSERT_TRUE(write_file(memory_, zeros));
  EXPECT_EQ(sum_of_file(memory_), with_hole);
  zeros[500000] = 'x';
  ASSERT_TRUE(write_file(memory_, zeros));
  const auto with_one = sum_of_file(memory_);
  EXPECT_NE(with_one, with_hole);
  std::swap(zeros[500000], zeros[600000]);
  ASSERT_TRUE(write_file(memory_, zeros));
  EXPECT_NE(sum_of_file(memory_), with_one) << "the same bytes at another place";
}

TEST(SnapshotStore, KeyDependsOnAllInputs) {
  const std::string key = SnapshotStore::key("QEMU 7.2", {"qemu", "-m", "1G"}, "6.1");
  EXPECT_EQ(key, SnapshotStore::key("QEMU 7.2", {"qemu", "-m", "1G"}, "6.1"));
  EXPECT_NE(key, SnapshotStore::key("QEMU 7.3", {"qemu", "-m", "1G"}, "6.1"));
  EXPECT_NE(key, SnapshotStore::key("QEMU 7.2", {"qemu", "-m", "2G"}, "6.1"));
  EXPECT_NE(key, SnapshotStore::key("QEMU 7.2", {"qemu", "-m1", "G"}, "6.1"));
  EXPECT_NE(key, SnapshotStore::key("QEMU 7.2", {"qemu", "-m", "1G"}, "6.2"));
}

}  // namespace
}  // namespace pinfold::harness
