#include "pinfold/harness/scenario_queue.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace pinfold::harness {
namespace {

Scenario scenario_with(int cores) {
  Scenario scenario;
  scenario.machine.cores = cores;
  return scenario;
}

std::vector<const Scenario*> pointers(const std::vector<Scenario>& scenarios) {
  std::vector<const Scenario*> all;
  all.reserve(scenarios.size());
  for (const Scenario& one : scenarios) all.push_back(&one);
  return all;
}

/// The groups in the order in which a single worker gets them.
std::vector<std::vector<std::size_t>> groups_of(ScenarioQueue& queue) {
  std::vector<std::vector<std::size_t>> groups;
  while (const auto group = queue.take_group()) {
    auto& turns = groups.emplace_back();
    bool was_last = false;
    while (const auto turn = queue.next(*group)) {
      EXPECT_FALSE(was_last);
      turns.push_back(turn->scenario);
      was_last = turn->is_last;
    }
    EXPECT_TRUE(was_last);
  }
  return groups;
}

using Groups = std::vector<std::vector<std::size_t>>;

TEST(ScenarioQueue, KeepsThoseOfOneMachineTogether) {
  const std::vector<Scenario> scenarios = {scenario_with(1), scenario_with(2), scenario_with(1),
                                           scenario_with(2), scenario_with(4)};
  ScenarioQueue queue(pointers(scenarios), true);
  EXPECT_EQ(groups_of(queue), (Groups{{0, 2}, {1, 3}, {4}}));
  ScenarioQueue alone(pointers(scenarios), false);
  EXPECT_EQ(groups_of(alone), (Groups{{0}, {1}, {2}, {3}, {4}}));
}

TEST(ScenarioQueue, GivesTheLongestGroupTwoWorkersWhenNothingElseIsLeft) {
  const std::vector<Scenario> scenarios(4);
  ScenarioQueue queue(pointers(scenarios), true);
  const auto first = queue.take_group();
  ASSERT_TRUE(first);
  EXPECT_EQ(queue.next(*first)->scenario, 0U);
  const auto second = queue.take_group();
  ASSERT_EQ(second, first);
  EXPECT_EQ(queue.next(*second)->scenario, 1U);
  EXPECT_EQ(queue.next(*first)->scenario, 2U);
  EXPECT_TRUE(queue.next(*second)->is_last);
  EXPECT_FALSE(queue.next(*first));
  EXPECT_FALSE(queue.take_group());
}

TEST(ScenarioQueue, HasNothingWithoutScenarios) {
  ScenarioQueue queue({}, true);
  EXPECT_FALSE(queue.take_group());
}

TEST(ScenarioQueue, SharesNoGuestThatIsAnotherOrCannotBeReset) {
  const std::vector<std::function<void(Scenario&)>> changes = {
      [](Scenario& one) { one.machine.platform.kernel = "debian-6.12"; },
      [](Scenario& one) { one.machine.platform.cgroup = CgroupMode::kV1; },
      [](Scenario& one) { one.programs = {"/bin/true"}; },
      [](Scenario& one) { one.modules = {"nbd"}; },
      [](Scenario& one) { one.kernel = "/linux"; },
      [](Scenario& one) { one.runtime = "containerd-1.7"; },
      [](Scenario& one) { one.machine.disk = VmDisk{}; },
      [](Scenario& one) { one.verdict = Verdict::kHang; },
      [](Scenario& one) { one.steps.emplace_back().action = PlugStep{}; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    std::vector<Scenario> scenarios(3);
    changes[i](scenarios[1]);
    ScenarioQueue queue(pointers(scenarios), true);
    EXPECT_EQ(groups_of(queue), (Groups{{0, 2}, {1}})) << i;
  }
  std::vector<Scenario> scenarios(2);
  scenarios[1].verdict = Verdict::kFailed;  // its guest is alive
  scenarios[1].steps.emplace_back().action = CpusStep{};
  ScenarioQueue queue(pointers(scenarios), true);
  EXPECT_EQ(groups_of(queue), (Groups{{0, 1}}));
}

}  // namespace
}  // namespace pinfold::harness
