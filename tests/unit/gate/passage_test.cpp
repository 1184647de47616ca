#include "pinfold/gate/passage.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace pinfold::gate {
namespace {

CpuBits set_of(std::string_view list) { return CpuBits::parse(list).value(); }

DecidedCpus exclusive_to_others(std::string_view list) { return {true, {}, set_of(list)}; }

/// A machine with a container on CPUs 0-7. It shows one of `states` after the other; the last one
/// stays.
class ScriptedHost {
 public:
  ScriptedHost(std::vector<std::optional<DecidedCpus>> states, bool adopts)
      : states_(std::move(states)), adopts_(adopts) {}

  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  void pause(std::int64_t ms) { now_ms_ += ms; }
  bool look(ShownCpus& shown, std::optional<DecidedCpus>& decision) {
    shown = {cpus_, false};
    decision = states_[next_];
    if (next_ + 1 < states_.size()) ++next_;
    return true;
  }
  [[nodiscard]] bool adopt(std::int64_t /*end_ms*/) const { return adopts_; }
  bool write(const CpuBits& cpus) {
    cpus_ = cpus;
    return true;
  }

 private:
  std::vector<std::optional<DecidedCpus>> states_;
  bool adopts_;
  CpuBits cpus_ = set_of("0-7");
  std::size_t next_ = 0;
  std::int64_t now_ms_ = 0;
};

constexpr std::int64_t kTimeLimitMs = 100;

TEST(GatePassage, ASnapshotThatIsGoneDoesNotMakeAContainerPass) {
  for (const bool adopts : {false, true}) {
    ScriptedHost host({exclusive_to_others("4-5"), std::nullopt}, adopts);
    EXPECT_FALSE(Passage(host, Unplaced::kRefuse, kTimeLimitMs).run().passes) << adopts;
  }
}

TEST(GatePassage, WithoutASnapshotOneThatAsksForNothingPassesAtOnce) {
  ScriptedHost host({std::nullopt}, false);
  EXPECT_TRUE(Passage(host, Unplaced::kRefuse, kTimeLimitMs).run().passes);
  EXPECT_EQ(host.now_ms(), 0);
}

TEST(GatePassage, ASnapshotThatIsReadAgainCounts) {
  ScriptedHost host({exclusive_to_others("4-5"), std::nullopt, exclusive_to_others("")}, false);
  EXPECT_TRUE(Passage(host, Unplaced::kRefuse, kTimeLimitMs).run().passes);
}

/// The gate looks before it asks the service, every 5 ms until the time limit, and again after the
/// write, when the snapshot may be gone.
TEST(GatePassage, ConfinesOnlyIfItCanReadBackWhatIsDecided) {
  constexpr std::size_t kLooks = 22;
  for (const bool stays : {true, false}) {
    std::vector<std::optional<DecidedCpus>> states(kLooks, exclusive_to_others("4-5"));
    if (!stays) states.emplace_back(std::nullopt);
    ScriptedHost host(states, false);
    EXPECT_EQ(Passage(host, Unplaced::kConfine, kTimeLimitMs).run().passes, stays);
  }
}

}  // namespace
}  // namespace pinfold::gate
