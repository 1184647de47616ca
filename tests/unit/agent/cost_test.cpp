// The cost of an admission, in numbers that must not grow: allocations and syncs, not time. A
// separate program, because it replaces the functions that it counts.

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "counted_calls.hpp"
#include "large_node.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "temp_dir.hpp"

namespace pinfold::agent {
namespace {

using test::CountedCalls;

constexpr int kMany = 250;

/// The UIDs are spread, like real ones.
PodSpec numbered_pod(int number) {
  const std::string text = std::to_string(1'000'000 + number * 7919 % 1'000'000);
  return test::pod_of_two_cpus(text + "-0000-4000-8000-000000000000", "web-" + text);
}

class AdmissionCost : public ::testing::Test {
 protected:
  [[nodiscard]] NodeAgent open() const {
    auto store = checkpoint::Store::open(folder_.path(), {std::chrono::seconds(1)},
                                         checkpoint::OwnerCheck::kOff);
    return NodeAgent::open(test::large_node(), std::move(store).value(), std::nullopt, {}).value();
  }

  static void admit(NodeAgent& agent, int number) {
    const auto outcome = agent.admit(numbered_pod(number));
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_FALSE(outcome->rejection);
  }
  static void remove(NodeAgent& agent, int number) {
    ASSERT_TRUE(agent.remove_pod(numbered_pod(number).uid, RunningProcesses::kRefuse));
  }

  test::TempDir folder_;
};

TEST_F(AdmissionCost, DoesNotGrowWithThePods) {
  NodeAgent agent = open();
  int next = 0;
  const auto cost_with = [&](int pods) {
    while (next < pods) admit(agent, next++);
    constexpr int kRounds = 8;  // the first two begin a journal
    CountedCalls sum;
    for (int round = 0; round < kRounds; ++round) {
      const auto before = CountedCalls::now();
      admit(agent, 10'000 + round);
      const auto calls = CountedCalls::now() - before;
      if (round >= 2) sum = {sum.allocations + calls.allocations, sum.syncs + calls.syncs};
      remove(agent, 10'000 + round);
    }
    return CountedCalls{sum.allocations / (kRounds - 2), sum.syncs / (kRounds - 2)};
  };
  const CountedCalls few = cost_with(0);
  const CountedCalls many = cost_with(kMany);
  std::printf("allocations of an admission: %llu at 0 pods, %llu at %d\n",
              static_cast<unsigned long long>(few.allocations),
              static_cast<unsigned long long>(many.allocations), kMany);
  EXPECT_EQ(few.syncs, 1U);
  EXPECT_EQ(many.syncs, 1U);
  EXPECT_LE(few.allocations, 450U);
  EXPECT_LE(many.allocations, few.allocations * 5 / 4);
}

/// Each of a container's two calls runs in its own process, which leaves the journal behind.
TEST_F(AdmissionCost, IsAtMostFourSyncsForTheLifeOfAContainer) {
  constexpr int kContainers = 34;  // the journal is checkpointed four times
  const std::uint64_t before = test::syncs();
  for (int i = 0; i < kContainers; ++i) {
    {
      NodeAgent agent = open();
      admit(agent, i);
      ASSERT_TRUE(agent.leave_journal());
    }
    NodeAgent agent = open();
    remove(agent, i);
    ASSERT_TRUE(agent.leave_journal());
  }
  const std::uint64_t all = test::syncs() - before;
  std::printf("%llu syncs for %d containers\n", static_cast<unsigned long long>(all), kContainers);
  EXPECT_LE(all, 4U * kContainers);
  EXPECT_TRUE(open().state().node.pods.empty());
}

/// The stored node is parsed only if it differs from the current one.
TEST_F(AdmissionCost, OfAnOpeningIsLessThanHalfOnTheSameNode) {
  {
    NodeAgent agent = open();
    admit(agent, 0);
  }
  const Node node = test::large_node();
  const auto allocations_with = [&](const Config& config) {
    AgentOptions options;
    options.state_dir = folder_.path();
    options.insecure_state_dir = true;
    options.enforce = false;
    options.profile_source = ProfileSource::kConfiguration;
    const auto before = CountedCalls::now();
    EXPECT_TRUE(open_agent(node.machine(), config, std::move(options)).has_value());
    return (CountedCalls::now() - before).allocations;
  };
  Config other = node.config();
  other.topology_manager_policy = "restricted";
  const std::uint64_t same = allocations_with(node.config());
  const std::uint64_t another = allocations_with(other);
  std::printf("allocations of an opening: %llu, %llu on another node\n",
              static_cast<unsigned long long>(same), static_cast<unsigned long long>(another));
  EXPECT_LT(2 * same, another);
}

}  // namespace
}  // namespace pinfold::agent
