#include "pinfold/harness/host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "machine.hpp"
#include "pinfold/harness/slowness.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

TEST(HostCache, IsMadeAndLeftEmpty) {
  const test::TempDir folder;
  const auto checked = check_cache(folder / "a/b", 1);
  EXPECT_TRUE(checked) << checked.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(folder / "a/b"));
}

TEST(HostCache, RejectsAFolderThatCannotBeWritten) {
  const auto checked = check_cache("/proc/self/pinfold", 1);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "cache '/proc/self/pinfold': No such file or directory, expected a folder that can be "
            "written; set PINFOLD_CACHE to another one");
}

TEST(HostCache, RejectsAFullDisk) {
  const test::TempDir folder;
  const auto checked = check_cache(folder.path(), std::uint64_t{1} << 62U);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message,
              testing::MatchesRegex("cache '.*': [0-9]+ MiB free, expected 4398046511104 MiB for "
                                    "kernels and snapshots; free some .*, or set PINFOLD_CACHE to "
                                    "another one"));
}

TEST(QemuVersion, IsReadFromWhatQemuPrints) {
  EXPECT_EQ(parse_qemu_version("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\n").value(),
            (QemuVersion{7, 2}));
  EXPECT_EQ(parse_qemu_version("QEMU emulator version 10.0").value(), (QemuVersion{10, 0}));
  for (const char* text : {"", "version", "version 7", "version 7.", "version x.2", "7.2"}) {
    EXPECT_FALSE(parse_qemu_version(text)) << text;
  }
}

/// A program that prints this text.
std::string fake_qemu(const test::TempDir& folder, const std::string& text) {
  folder.write("qemu", "#!/bin/sh\necho '" + text + "'\n");
  (void)::chmod((folder / "qemu").c_str(), 0755);
  return folder / "qemu";
}

TEST(HostQemu, RejectsOneThatIsTooOldForTheMachine) {
  const test::TempDir folder;
  const std::string old = fake_qemu(folder, "QEMU emulator version 5.2.0 (Debian)");
  const auto checked = check_qemu(old, two_sockets());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "QEMU '" + old +
                "': 5.2, expected 7.2 or later; install it (package qemu-system-x86), or name "
                "another with --qemu");
  const std::string later = fake_qemu(folder, "QEMU emulator version 7.2.22");
  EXPECT_EQ(check_qemu(later, two_sockets()).value(), "QEMU emulator version 7.2.22\n");
  VmMachine caches = two_sockets();
  caches.caches = 2;
  const auto too_old = check_qemu(later, caches);
  ASSERT_FALSE(too_old);
  EXPECT_THAT(too_old.error().message,
              testing::HasSubstr("7.2, expected 10.0 or later for several last-level caches"));
}

TEST(HostQemu, RejectsOneThatDoesNotExistOrIsNoQemu) {
  const test::TempDir folder;
  const auto absent = check_qemu(folder / "absent", two_sockets());
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(absent.error().message, testing::HasSubstr("expected QEMU 7.2 or later; install it"));
  const auto other = check_qemu(fake_qemu(folder, "something else"), two_sockets());
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message,
              testing::HasSubstr("'something else': expected QEMU emulator version N.N"));
}

/// Files of a host with 8 GiB available, below a folder.
void write_host(const test::TempDir& root, const std::string& group) {
  root.write("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\nBuffers: 1 kB\n");
  root.write("proc/self/cgroup", "1:name=systemd:/other\n0::" + group + "\n");
}

TEST(HostMemory, IsWhatTheKernelAndEveryControlGroupLeave) {
  const test::TempDir root;
  write_host(root, "/a/b");
  const auto free = host_memory(root.path());
  ASSERT_TRUE(free) << free.error().message;
  EXPECT_EQ(free->free, 8192 * kMiB);
  EXPECT_EQ(free->limit, "MemAvailable of /proc/meminfo");

  root.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  root.write("sys/fs/cgroup/a/b/memory.current", "4096\n");
  root.write("sys/fs/cgroup/a/memory.max", std::to_string(512 * kMiB) + "\n");
  root.write("sys/fs/cgroup/a/memory.current", std::to_string(412 * kMiB) + "\n");
  EXPECT_EQ(host_memory(root.path())->free, 100 * kMiB);
  EXPECT_EQ(host_memory(root.path())->limit, "memory.max of the control group '/a'");
  root.write("sys/fs/cgroup/a/memory.current", std::to_string(600 * kMiB) + "\n");
  EXPECT_EQ(host_memory(root.path())->free, 0U);
}

TEST(HostMemory, RejectsAFileWithoutTheNumber) {
  const test::TempDir root;
  for (const char* text : {"", "MemAvailable:", "MemAvailable: x kB", "MemFree: 3 kB"}) {
    root.write("proc/meminfo", text);
    EXPECT_FALSE(host_memory(root.path())) << text;
  }
}

TEST(HostMemory, MustHoldTheGuest) {
  EXPECT_TRUE(check_memory(two_sockets(), {336 * kMiB, "x"}));
  const auto checked = check_memory(two_sockets(), {100 * kMiB, "MemAvailable of /proc/meminfo"});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "memory: 100 MiB free (MemAvailable of /proc/meminfo), expected 335 MiB for a guest of "
            "768 MiB; end other programs, or give the machine less memory");
}

TEST(HostMemory, MustHoldTheLargestGuestsThatRunAtOnce) {
  VmMachine large = two_sockets();
  large.nodes[0].memory = 2816 * kMiB;  // 3072 in all: needs 381 MiB; two_sockets() needs 335
  const VmMachine small = two_sockets();
  const std::vector<const VmMachine*> machines = {&small, &large, &small};
  EXPECT_TRUE(check_memory(machines, 1, {390 * kMiB, "x"}));
  EXPECT_TRUE(check_memory(machines, 2, {720 * kMiB, "x"}));
  EXPECT_TRUE(check_memory(machines, 64, {1060 * kMiB, "x"}));
  EXPECT_TRUE(check_memory(std::vector<const VmMachine*>(), 4, {0, "x"}));
  const auto both = check_memory(machines, 2, {700 * kMiB, "x"});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().message,
            "memory: 700 MiB free (x), expected 716 MiB for 2 guests at once, of up to 3072 MiB; "
            "end other programs, or use fewer --jobs");
  const auto one = check_memory(machines, 2, {350 * kMiB, "x"});
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().message,
            "memory: 350 MiB free (x), expected 381 MiB for a guest of 3072 MiB; end other "
            "programs, or give the machine less memory");
}

TEST(Slowness, GrowsWithTheTimeOfTheLoop) {
  const struct {
    int took_ms;
    double slowness;
  } cases[] = {{0, 1}, {55, 1}, {68, 1}, {75, 1.5}, {110, 2}, {165, 3}, {550, 10}, {100000, 10}};
  for (const auto& c : cases) {
    EXPECT_EQ(slowness_of(Milliseconds(c.took_ms)), c.slowness) << c.took_ms;
  }
}

TEST(Slowness, OfThisHostIsWithinItsLimits) {
  const double now = host_slowness();
  EXPECT_GE(now, 1);
  EXPECT_LE(now, 10);
}

TEST(HostLimit, GrowsOnASlowHostAndSaysSo) {
  const HostLimit long_enough(std::chrono::minutes(5), 1.5);
  EXPECT_EQ(long_enough.limit(), Milliseconds(450000));
  EXPECT_EQ(long_enough.explain("booting"),
            "booting (limit 450 s, 1.5 times the usual one as this host is slow now; --time-scale "
            "gives more time)");
  EXPECT_EQ(long_enough.explain_if_expired("starting containerd-2.1"), "starting containerd-2.1");
  EXPECT_EQ(HostLimit(Milliseconds(0), 1).explain_if_expired("starting containerd-2.1"),
            "starting containerd-2.1 (limit 0 s; --time-scale gives more time)");
}

TEST(Slowness, IsNamedWithTheLimit) {
  EXPECT_EQ(limit_text(Milliseconds(90000), 1), "limit 90 s");
  EXPECT_EQ(limit_text(Milliseconds(135000), 1.5),
            "limit 135 s, 1.5 times the usual one as this host is slow now");
}

}  // namespace
}  // namespace pinfold::harness
