#include "pinfold/harness/verdict.hpp"

#include <gtest/gtest.h>

namespace pinfold::harness {
namespace {

constexpr const char* kBoot = "[    0.0] Linux version 6.1\n";
constexpr const char* kPanic =
    "[    2.1] sysrq: Trigger a crash\n[    2.1] Kernel panic - not syncing: sysrq triggered "
    "crash\n";
constexpr const char* kLockup =
    "[   40.0] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [swapper/3:0]\n";
constexpr const char* kOom =
    "[    9.0] Out of memory: Killed process 77 (init) total-vm:500000kB, anon-rss:200000kB\n";
constexpr const char* kCgroupOom =
    "[    9.0] Memory cgroup out of memory: Killed process 77 (init) total-vm:50kB\n";

TEST(Classify, DerivesTheVerdictFromTheConsole) {
  const struct {
    const char* what;
    Trouble trouble;
    std::string console;
    Verdict verdict;
  } cases[] = {
      {"panic, machine ended", Trouble::kEnded, std::string(kBoot) + kPanic, Verdict::kPanic},
      {"panic, machine stays", Trouble::kTimeout, std::string(kBoot) + kPanic, Verdict::kPanic},
      {"panic tears a line", Trouble::kGarbage, kPanic, Verdict::kPanic},
      {"silence", Trouble::kTimeout, kBoot, Verdict::kHang},
      {"silence after a lock-up", Trouble::kTimeout, kLockup, Verdict::kSoftLockup},
      {"a lock-up that passed, then the end", Trouble::kEnded, kLockup, Verdict::kLostResults},
      {"end without a word", Trouble::kEnded, kBoot, Verdict::kLostResults},
      {"garbage", Trouble::kGarbage, kBoot, Verdict::kGarbage},
      {"out of memory, then silence", Trouble::kTimeout, kOom, Verdict::kOutOfMemory},
      {"out of memory, then panic", Trouble::kEnded, std::string(kOom) + kPanic,
       Verdict::kOutOfMemory},
      {"only a cgroup's limit", Trouble::kTimeout, kCgroupOom, Verdict::kHang},
      {"QEMU does not start", Trouble::kHost, "", Verdict::kHarnessError},
      {"Ctrl-C during a panic", Trouble::kInterrupted, kPanic, Verdict::kInterrupted},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(to_string(classify(c.trouble, c.console)), to_string(c.verdict)) << c.what;
  }
}

TEST(Verdict, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(Verdict::kInterrupted); ++i) {
    const auto verdict = static_cast<Verdict>(i);
    EXPECT_EQ(parse_verdict(to_string(verdict)), verdict) << to_string(verdict);
  }
  EXPECT_EQ(parse_verdict("splendid"), std::nullopt);
  EXPECT_EQ(to_string(Verdict::kSkipped), "skipped");
  EXPECT_EQ(parse_verdict("skipped"), std::nullopt) << "no scenario expects it";
}

TEST(EndOfConsole, KeepsTheLastLinesAndDropsControlCharacters) {
  EXPECT_EQ(end_of_console("a\r\nb\r\n\033[31mc\tc\r\n\r\n", 2), "b\n[31mc\tc");
  EXPECT_EQ(end_of_console("only", 5), "only");
  EXPECT_EQ(end_of_console("", 5), "");
  EXPECT_EQ(end_of_console("\n\n", 5), "");
}

}  // namespace
}  // namespace pinfold::harness
