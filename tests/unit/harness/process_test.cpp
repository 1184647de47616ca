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
#include "pinfold/harness/session.hpp"
#include "pinfold/harness/snapshot.hpp"

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
  // The probe must detect the emulating module, which opens and runs `hlt`.
  if (std::filesystem::exists("/sys/module/kvm_pvm")) {
    EXPECT_FALSE(probe.usable) << probe.why;
  }
}

TEST(KvmProbe, NamesADeviceThatIsNone) {
  const auto file =
      std::filesystem::temp_directory_path() / ("pinfold-k" + std::to_string(getpid()));
  EXPECT_EQ(probe_kvm(file).why, "'" + file.string() + "': does not exist");
  std::ofstream(file) << "a plain file";
  EXPECT_EQ(probe_kvm(file).why, "'" + file.string() + "': is no KVM device");
  EXPECT_EQ(probe_kvm("/dev/null").why, "'/dev/null': is no KVM device");
  std::filesystem::remove(file);
}

TEST(KvmProbe, IsKeptWithItsReasonUntilTheHostReboots) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pinfold-b" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto boot = read_file("/proc/sys/kernel/random/boot_id");
  ASSERT_TRUE(boot);
  ASSERT_TRUE(write_file(folder / "kvm-result", *boot + "'/dev/kvm': kept"));
  EXPECT_EQ(known_kvm(folder).why, "'/dev/kvm': kept");
  ASSERT_TRUE(write_file(folder / "kvm-result", *boot));
  EXPECT_TRUE(known_kvm(folder).usable);
  ASSERT_TRUE(write_file(folder / "kvm-result", "another boot\n'/dev/kvm': kept"));
  EXPECT_NE(known_kvm(folder).why, "'/dev/kvm': kept");
  std::filesystem::remove_all(folder);
}

TEST(SnapshotStore, RejectsADamagedFile) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pinfold-s" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const SnapshotStore store(folder);
  const auto state = folder / "k.vm";
  std::string bytes(100000, 'x');
  ASSERT_TRUE(write_file(state, bytes));
  EXPECT_EQ(store.find("k"), std::nullopt) << "a state without its sum";
  ASSERT_TRUE(write_file(folder / "k.sum", *sum_of_file(state)));
  EXPECT_EQ(store.find("k"), state);
  for (const std::size_t at : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = 'y';
    ASSERT_TRUE(write_file(state, bytes));
    ASSERT_TRUE(write_file(folder / "k.sum", *sum_of_file(state)));
    ASSERT_TRUE(write_file(state, damaged));
    EXPECT_EQ(store.find("k"), std::nullopt) << at;
    EXPECT_FALSE(std::filesystem::exists(state)) << "a damaged file is removed";
  }
  ASSERT_TRUE(write_file(state, bytes));
  ASSERT_TRUE(write_file(folder / "k.sum", *sum_of_file(state)));
  ASSERT_TRUE(write_file(state, std::string_view(bytes).substr(1)));
  EXPECT_EQ(store.find("k"), std::nullopt) << "truncated";
  std::filesystem::remove_all(folder);
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
