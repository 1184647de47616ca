#include "pinfold/harness/reduce.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine.hpp"
#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

/// Four sockets with two NUMA nodes each, and one NUMA node without CPUs.
VmMachine large_machine() {
  VmMachine machine;
  machine.sockets = 4;
  machine.dies = 2;
  machine.cores = 6;
  machine.threads = 2;
  for (int i = 0; i < 8; ++i) {
    machine.nodes.push_back({CpuSet::range(12 * i, 12 * i + 11), 512 * kMiB, {{2 * kMiB, 4}}});
  }
  machine.nodes.push_back({{}, 512 * kMiB, {}});
  machine.distances.assign(9, std::vector<int>(9, 31));
  for (std::size_t i = 0; i < 9; ++i) machine.distances[i][i] = 10;
  machine.devices = {0, 7};
  machine.network_cards = 1;
  machine.kernel_arguments = "quiet";
  return machine;
}

TEST(SmallerMachines, AreMachinesAndSmaller) {
  const VmMachine large = large_machine();
  ASSERT_TRUE(check_machine(large));
  const auto smaller = smaller_machines(large);
  EXPECT_GT(smaller.size(), 10U);
  for (const VmMachine& one : smaller) {
    EXPECT_TRUE(check_machine(one)) << check_machine(one).error().message;
    EXPECT_NE(one, large);
    EXPECT_LE(one.cpu_count(), large.cpu_count());
    EXPECT_LE(one.memory(), large.memory());
    EXPECT_LE(one.nodes.size(), large.nodes.size());
  }
}

TEST(SmallerMachines, AreDifferent) {
  VmMachine four = two_sockets();
  four.sockets = 4;  // 4 / 2 and 4 - 2 are 2
  four.cores = 2;    // 2 / 2 and 2 - 1 are 1
  four.threads = 1;
  four.nodes.resize(1);
  four.nodes[0].cpus = CpuSet::range(0, 7);
  four.distances = {{10}};
  for (const VmMachine& machine : {large_machine(), four}) {
    const auto smaller = smaller_machines(machine);
    ASSERT_GT(smaller.size(), 2U);
    for (std::size_t i = 0; i < smaller.size(); ++i) {
      EXPECT_EQ(std::count(smaller.begin(), smaller.end(), smaller[i]), 1) << i;
    }
  }
}

TEST(SmallestMachine, IsFoundWithoutTryingAMachineTwice) {
  std::vector<VmMachine> tried;
  (void)smallest_machine(large_machine(), [&](const VmMachine& one) {
    EXPECT_EQ(std::count(tried.begin(), tried.end(), one), 0) << one.cpu_count();
    tried.push_back(one);
    return one.nodes.size() >= 3 && one.threads == 2;
  });
  EXPECT_GT(tried.size(), 5U);
}

TEST(SmallerMachines, KeepTheNodesOfTheCpusThatStay) {
  const auto smaller = smaller_machines(two_sockets());
  const auto found = std::find_if(smaller.begin(), smaller.end(), [](const VmMachine& one) {
    return one.sockets == 2 && one.cores == 2 && one.threads == 1;
  });
  ASSERT_NE(found, smaller.end());
  ASSERT_EQ(found->nodes.size(), 2U);
  EXPECT_EQ(found->nodes[0].cpus, CpuSet::range(0, 1));
  EXPECT_EQ(found->nodes[1].cpus, CpuSet::range(2, 3));
  EXPECT_EQ(found->distances, two_sockets().distances);
}

TEST(SmallestMachine, IsOneCpuIfEverythingFails) {
  const VmMachine least = smallest_machine(large_machine(), [](const VmMachine&) { return true; });
  EXPECT_EQ(least.cpu_count(), 1);
  EXPECT_EQ(least.nodes.size(), 1U);
  EXPECT_EQ(least.memory(), 256 * kMiB);
  EXPECT_TRUE(least.devices.empty());
  EXPECT_EQ(least.network_cards, 0);
  EXPECT_EQ(least.kernel_arguments, "");
}

TEST(SmallestMachine, HasWhatTheFailureNeeds) {
  const struct {
    const char* name;
    bool (*fails)(const VmMachine&);
    int cpus;
    std::size_t nodes;
  } cases[] = {
      {"two NUMA nodes", [](const VmMachine& one) { return one.nodes.size() >= 2; }, 1, 2},
      {"two sockets", [](const VmMachine& one) { return one.sockets >= 2; }, 2, 1},
      {"SMT", [](const VmMachine& one) { return one.threads >= 2; }, 2, 1},
      {"an even number of cores", [](const VmMachine& one) { return one.cores % 2 == 0; }, 2, 1},
      {"a NUMA node without CPUs",
       [](const VmMachine& one) { return one.nodes.back().cpus.empty(); }, 1, 2},
      {"distances",
       [](const VmMachine& one) { return one.nodes.size() > 1 && one.distances[0][1] == 31; }, 1,
       2},
  };
  for (const auto& c : cases) {
    int runs = 0;
    const VmMachine least = smallest_machine(large_machine(), [&](const VmMachine& one) {
      ++runs;
      return c.fails(one);
    });
    EXPECT_TRUE(c.fails(least)) << c.name;
    EXPECT_EQ(least.cpu_count(), c.cpus) << c.name;
    EXPECT_EQ(least.nodes.size(), c.nodes) << c.name;
    EXPECT_LT(runs, 150) << c.name;
    for (const VmMachine& smaller : smaller_machines(least)) EXPECT_FALSE(c.fails(smaller));
  }
}

Json numbers(int count) {
  Json list = Json::array();
  for (int i = 0; i < count; ++i) list.push_back(i);
  return list;
}

bool has(const Json& steps, int one) { return std::count(steps.begin(), steps.end(), one) > 0; }

TEST(FewestSteps, AreThoseThatTheFailureNeeds) {
  const struct {
    int count;
    std::vector<int> needed;
  } cases[] = {{1, {0}},     {20, {0}},        {20, {19}},
               {20, {3, 4}}, {20, {0, 7, 19}}, {60, {1, 30, 31, 59}}};
  for (const auto& c : cases) {
    const Json least = fewest_steps(numbers(c.count), [&](const Json& steps) {
      return std::all_of(c.needed.begin(), c.needed.end(),
                         [&](int one) { return has(steps, one); });
    });
    EXPECT_EQ(least, Json(c.needed)) << c.count;
  }
}

TEST(FewestSteps, AreFoundIfEachStepNeedsTheOneBeforeIt) {
  const Json least = fewest_steps(numbers(9), [](const Json& steps) {
    for (const Json& step : steps) {
      if (step != 0 && !has(steps, step.get<int>() - 1)) return false;
    }
    return has(steps, 0);
  });
  EXPECT_EQ(least, Json::array({0}));
}

TEST(FirstFailing, IsFoundInFewRuns) {
  for (std::size_t count = 1; count <= 40; ++count) {
    for (std::size_t first = 0; first < count; ++first) {
      int runs = 0;
      const auto found = first_failing(count, [&](std::size_t i) {
        ++runs;
        return i >= first;
      });
      EXPECT_EQ(found, first) << "of " << count;
      EXPECT_LE(runs, 7);
    }
  }
}

TEST(FirstFailing, IsNoneIfTheLastDoesNotFail) {
  EXPECT_EQ(first_failing(5, [](std::size_t) { return false; }), std::nullopt);
  EXPECT_EQ(first_failing(0, [](std::size_t) { return true; }), std::nullopt);
}

}  // namespace
}  // namespace pinfold::harness
