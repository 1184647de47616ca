// What an admission costs, in numbers that may not grow: allocations and syncs, not time. A
// separate program, because it replaces functions that it counts.

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "counted_calls.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "temp_dir.hpp"

namespace pinfold::agent {
namespace {

constexpr int kMany = 250;

/// 512 CPUs and 1 TiB on two NUMA nodes.
Node large_node() {
  MachineDescription machine;
  for (int id = 0; id < 512; ++id) {
    const int half = id / 256;
    machine.cpus.push_back(
        {CpuId{id}, CoreId{id / 2}, SocketId{half}, NumaId{half}, CacheId{half}});
  }
  for (int id = 0; id < 2; ++id) {
    machine.numa_nodes.push_back({NumaId{id}, std::uint64_t{1} << 39U, {}, {}});
  }
  Config config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0-1";
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{0, {{"memory", "100Mi"}}}};
  config.topology_manager_policy = "best-effort";
  return Node::make(Machine::make(machine).value(), config).value();
}

/// One container with two CPUs and 1 GiB. The UIDs are spread, as real ones are.
PodSpec numbered_pod(int number) {
  const std::string text = std::to_string(1'000'000 + number * 7919 % 1'000'000);
  PodSpec pod{PodUid(text + "-0000-4000-8000-000000000000"), "web-" + text, "default", {}, {}};
  Container container{"main", ContainerKind::kApp, {}};
  container.resources.limits = {{"cpu", Quantity::parse("2").value()},
                                {"memory", Quantity::parse("1Gi").value()}};
  pod.containers.push_back(std::move(container));
  apply_defaults(pod);
  return pod;
}

class AdmissionCost : public ::testing::Test {
 protected:
  [[nodiscard]] NodeAgent open() const {
    auto store = checkpoint::Store::open(folder_.path(), std::chrono::seconds(1),
                                         checkpoint::OwnerCheck::kOff);
    return NodeAgent::open(large_node(), std::move(store).value(), std::nullopt, {}).value();
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

struct Cost {
  std::uint64_t allocations = 0;
  std::uint64_t syncs = 0;
};

TEST_F(AdmissionCost, DoesNotGrowWithThePods) {
  NodeAgent agent = open();
  int next = 0;
  const auto cost_with = [&](int pods) {
    while (next < pods) admit(agent, next++);
    constexpr int kRounds = 8;  // the first two begin a journal
    Cost cost;
    for (int round = 0; round < kRounds; ++round) {
      const Cost before{test::allocations(), test::syncs()};
      admit(agent, 10'000 + round);
      if (round >= 2) cost.allocations += test::allocations() - before.allocations;
      if (round >= 2) cost.syncs += test::syncs() - before.syncs;
      remove(agent, 10'000 + round);
    }
    return Cost{cost.allocations / (kRounds - 2), cost.syncs / (kRounds - 2)};
  };
  const Cost few = cost_with(0);
  const Cost many = cost_with(kMany);
  std::printf("allocations of an admission: %llu at 0 pods, %llu at %d\n",
              static_cast<unsigned long long>(few.allocations),
              static_cast<unsigned long long>(many.allocations), kMany);
  EXPECT_EQ(few.syncs, 1U);
  EXPECT_EQ(many.syncs, 1U);
  EXPECT_LE(few.allocations, 450U);
  EXPECT_LE(many.allocations, few.allocations * 5 / 4);
}

/// A process for each of the two calls of a container, each of which leaves the journal.
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

}  // namespace
}  // namespace pinfold::agent
