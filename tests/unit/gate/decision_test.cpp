#include "pinfold/gate/decision.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/journal.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "temp_dir.hpp"

namespace pinfold::gate {
namespace {

constexpr const char* kV3 =
    R"({"policyName":"static","defaultCpuSet":"0-1,8","entries":{"p":{"a":"2-3","b":"4-5"},)"
    R"("q":{"a":"6"}},"podEntries":{"p":{"cpuSet":"2-5"},"r":{"cpuSet":"7"}},"checksum":1})";

CpuBits cpus(std::string_view list) { return CpuBits::parse(list).value(); }

std::optional<DecidedCpus> parsed(std::string text, const StateName& owner) {
  return parse_cpu_state(text, owner);
}

TEST(GateDecision, TellsOwnCpusFromThoseOfOthers) {
  EXPECT_EQ(parsed(kV3, {"", "p", "a"}), (DecidedCpus{true, cpus("2-3"), cpus("4-7")}));
  EXPECT_EQ(parsed(kV3, {"", "x", "a"}), (DecidedCpus{true, {}, cpus("2-7")}));
}

TEST(GateDecision, AContainerWithoutAnEntryHasThePoolOfItsPod) {
  EXPECT_EQ(parsed(kV3, {"", "r", "a"}), (DecidedCpus{true, cpus("7"), cpus("2-6")}));
}

TEST(GateDecision, ReadsPodEntriesOfV4) {
  const std::string file =
      R"({"policyName":"static","defaultCpuSet":"0","entries":{"q":{"a":"1"}},"checksum":1,)"
      R"("data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{\"q\":{\"a\":)"
      R"(\"1\"}},\"podEntries\":{\"p\":{\"cpuSet\":\"2-3\"}}}","dataChecksum":2})";
  EXPECT_EQ(parsed(file, {"", "p", "a"}), (DecidedCpus{true, cpus("2-3"), cpus("1")}));
}

TEST(GateDecision, PolicyNoneGivesNothing) {
  EXPECT_EQ(parsed(R"({"policyName":"none","defaultCpuSet":"","checksum":1})", {"", "p", "a"}),
            DecidedCpus());
}

TEST(GateDecision, RejectsWhatIsNoState) {
  for (const char* const text :
       {"", "[]", R"({"entries":[]})", R"({"entries":{"p":"1"}})", R"({"entries":{"p":{"a":1}}})",
        R"({"entries":{"p":{"a":"5-1"}}})", R"({"podEntries":{"p":{"cpuSet":"x"}}})",
        R"({"data":"\x"})", R"({"data":"{"})", R"({"policyName":"static"} x)"}) {
    EXPECT_FALSE(parsed(text, {"", "p", "a"})) << text;
  }
}

TEST(GateDecision, AHookedContainerIsNamedByItsId) {
  HookedContainer container;
  container.is_hooked = true;
  container.id = "c+1";
  const StateName owner = owner_of(container);
  EXPECT_TRUE(owner.is_pod("oci-c.1"));
  EXPECT_FALSE(owner.is_pod("oci-c.12"));
  EXPECT_FALSE(owner.is_pod("c.1"));
  EXPECT_EQ(owner.name, "main");
  container.name = "of-the-runtime";
  EXPECT_EQ(owner_of(container).name, "main");
  container.hooked_name = "db";
  EXPECT_EQ(owner_of(container).name, "db");
}

TEST(GateVerdict, OwnCpusAreAllThatItMayHave) {
  const DecidedCpus decision{true, cpus("2-3"), cpus("4-5")};
  EXPECT_TRUE(is_placed(decision, {cpus("2-3"), true}));
  EXPECT_TRUE(is_placed(decision, {cpus("3"), true}));  // CPU 2 is offline
  EXPECT_FALSE(is_placed(decision, {cpus("2-4"), true}));
  EXPECT_FALSE(is_placed(decision, {cpus("0-1"), true}));
  EXPECT_FALSE(is_placed(decision, {CpuBits(), true}));
}

TEST(GateVerdict, ASharedContainerMustBeOffExclusiveCpus) {
  const DecidedCpus decision{true, {}, cpus("4-5")};
  EXPECT_TRUE(is_placed(decision, {cpus("0-3"), false}));
  EXPECT_FALSE(is_placed(decision, {cpus("0-4"), false}));
  EXPECT_FALSE(is_placed(decision, {CpuBits(), false}));
}

TEST(GateVerdict, OneThatAsksNeedsADecision) {
  EXPECT_FALSE(is_placed(DecidedCpus{true, {}, {}}, {cpus("0-7"), true}));
  EXPECT_TRUE(is_placed(DecidedCpus{false, {}, {}}, {cpus("0-7"), true}));
  EXPECT_FALSE(is_placed(std::nullopt, {cpus("0-7"), true}));
  EXPECT_TRUE(is_placed(std::nullopt, {cpus("0-7"), false}));
}

TEST(GateVerdict, ConfinesToWhereItEndangersNobody) {
  EXPECT_EQ(confinement(DecidedCpus{true, cpus("2-3"), cpus("4")}, cpus("0-7")), cpus("2-3"));
  EXPECT_EQ(confinement(DecidedCpus{true, {}, cpus("4-5")}, cpus("0-7")), cpus("0-3,6-7"));
  EXPECT_EQ(confinement(DecidedCpus{true, {}, cpus("0-7")}, cpus("0-7")), CpuBits());
  EXPECT_EQ(confinement(std::nullopt, cpus("0-7")), CpuBits());
}

/// A published snapshot, and its bytes in aligned memory.
class GateSnapshot : public testing::Test {
 protected:
  void publish(const std::string& cpu) {
    checkpoint::Files files;
    files.cpu = cpu;
    files.memory = "{}";
    writer_.publish(files);
    cpu_ = cpu;
  }
  /// Commits another CPU state, as the store does.
  void commit(const std::string& cpu) {
    const checkpoint::FileChange change{checkpoint::content_sum(cpu_),
                                        checkpoint::difference(cpu_, cpu)};
    ASSERT_TRUE(writer_.append(checkpoint::encode_record(
        {{std::string(checkpoint::kCpuFileName), change},
         {"memory_manager_state", {std::nullopt, std::string("{}\n \n")}}})));
    cpu_ = cpu;
  }
  [[nodiscard]] std::vector<std::uint64_t> words() const {
    const std::string bytes = pinfold::read_file(dir_.path() + "/.pinfold_snapshot").value();
    std::vector<std::uint64_t> words(bytes.size() / 8);
    std::memcpy(words.data(), bytes.data(), words.size() * 8);
    return words;
  }
  static std::optional<DecidedCpus> read(const std::vector<std::uint64_t>& words,
                                         std::size_t room = 65536) {
    std::string boot = pinfold::read_file("/proc/sys/kernel/random/boot_id").value();
    boot.resize(36);
    std::vector<char> buffer(room);
    return read_decision(std::as_bytes(std::span(words)), boot, {"", "p", "a"}, buffer);
  }

  test::TempDir dir_;
  checkpoint::SnapshotWriter writer_{dir_.path()};
  std::string cpu_;
};

TEST_F(GateSnapshot, HasThePublishedState) {
  publish(kV3);
  EXPECT_EQ(read(words()), (DecidedCpus{true, cpus("2-3"), cpus("4-7")}));
}

TEST_F(GateSnapshot, HasWhatWasCommittedSince) {
  publish(R"({"policyName":"static","defaultCpuSet":"0-8","checksum":1})");
  EXPECT_EQ(read(words()), (DecidedCpus{true, {}, {}}));
  commit(kV3);
  std::string longer = kV3;
  longer.replace(longer.find("\"2-3\""), 5, "\"2-3,100-103\"");
  commit(longer);
  EXPECT_EQ(read(words()), (DecidedCpus{true, cpus("2-3,100-103"), cpus("4-7")}));
  commit(kV3);
  EXPECT_EQ(read(words()), (DecidedCpus{true, cpus("2-3"), cpus("4-7")}));
}

TEST_F(GateSnapshot, OfAnotherBootIsNotRead) {
  publish(kV3);
  auto bytes = words();
  bytes[2] ^= 1U;
  EXPECT_FALSE(read(bytes));
}

TEST_F(GateSnapshot, EveryDamagedWordIsNoticed) {
  publish(R"({"policyName":"static","defaultCpuSet":"0-8","checksum":1})");
  commit(kV3);
  const auto sound = words();
  const auto expected = read(sound);
  ASSERT_TRUE(expected);
  for (std::size_t i = 0; i < 200; ++i) {
    auto damaged = sound;
    damaged[i] ^= 0x0101;
    const auto decision = read(damaged);
    EXPECT_TRUE(!decision || *decision == *expected) << "word " << i;
  }
}

TEST_F(GateSnapshot, ThatIsTruncatedIsNotRead) {
  publish(kV3);
  auto bytes = words();
  for (const std::size_t size : {bytes.size() - 1, std::size_t{20}, std::size_t{1}}) {
    bytes.resize(size);
    EXPECT_FALSE(read(bytes)) << size;
  }
  EXPECT_FALSE(read({}));
}

TEST_F(GateSnapshot, LargerThanTheBufferIsNotRead) {
  publish(kV3);
  EXPECT_FALSE(read(words(), 50));
  commit(std::string(kV3) + std::string(200, ' '));
  EXPECT_FALSE(read(words(), 300));
}

}  // namespace
}  // namespace pinfold::gate
