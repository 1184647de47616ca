// Init containers, whose CPUs the containers after them must reuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "node_fixture.hpp"
#include "zones.hpp"

namespace pinfold {
namespace {

using test::aligning_config;
using test::container;
using testing::HasSubstr;

Container of_cpus(const std::string& name, int cpus, ContainerKind kind = ContainerKind::kApp) {
  return container(name, {{"cpu", std::to_string(cpus)}, {"memory", "1Mi"}}, kind);
}

/// A pod with init containers i0, i1, ... and then containers c0, c1, ... of these CPUs.
PodSpec pod_after(const std::vector<int>& inits, const std::vector<int>& apps) {
  PodSpec pod = test::pod_of("p", {});
  for (const int cpus : inits) {
    const std::string name = "i" + std::to_string(pod.containers.size());
    pod.containers.push_back(of_cpus(name, cpus, ContainerKind::kInit));
  }
  for (const int cpus : apps) {
    pod.containers.push_back(of_cpus("c" + std::to_string(pod.containers.size()), cpus));
  }
  return pod;
}

/// Two zones of 15 CPUs, with 9 and 15 of them available.
NodeTopology nine_and_fifteen(const std::string& policy = "single-numa-node") {
  auto node = test::two_zones(policy, "container", {{"cpu", "15"}});
  test::set_available(node, 0, "cpu", "9");
  return node;
}

struct Predicted {
  PredictedOutcome outcome;
  std::string why;
  std::string miss;
};
Predicted predict(const NodeTopology& node, const PodSpec& pod) {
  Fleet fleet({"memory"});
  const std::size_t number = fleet.add(node).value();
  PodQuery query(fleet, pod);
  const auto outcome = query.predict(number, ScoringStrategy::kLeastNumaNodes).outcome;
  return {outcome, query.explain(number), query.near_miss(number).why};
}

TEST(PredictInitContainers, TheirCpusAreTakenAgain) {
  const auto rejected = predict(nine_and_fifteen(), pod_after({12}, {4, 14}));
  EXPECT_EQ(rejected.outcome, PredictedOutcome::kRejected);
  const std::string why =
      "cpu 14 must be on node-1, whose CPUs the init containers leave to it: cpu fits none";
  EXPECT_EQ(rejected.why, "container 'c2': " + why);
  EXPECT_EQ(rejected.miss, "container 'c2': " + why);
  EXPECT_EQ(predict(nine_and_fifteen(), pod_after({12}, {4, 11})).why,
            "container 'i0': node-1; container 'c1': node-1; container 'c2': node-1");
}

TEST(PredictInitContainers, TheSameNumberIsTheSameCpus) {
  const auto fits = predict(nine_and_fifteen(), pod_after({12}, {12, 9}));
  EXPECT_EQ(fits.outcome, PredictedOutcome::kFits);
  EXPECT_EQ(fits.why, "container 'i0': node-1; container 'c1': node-1; container 'c2': node-0");
  EXPECT_EQ(predict(nine_and_fifteen(), pod_after({12, 12}, {12, 9})).outcome,
            PredictedOutcome::kFits);
}

TEST(PredictInitContainers, IsUnsureWhereAmountsDoNotTellWhichCpusAreLeft) {
  for (const char* const policy : {"single-numa-node", "restricted"}) {
    const auto unsure = predict(nine_and_fifteen(policy), pod_after({11}, {12, 9}));
    EXPECT_EQ(unsure.outcome, PredictedOutcome::kUnsure);
    EXPECT_THAT(unsure.why, HasSubstr("it depends on which CPUs the init containers leave"));
  }
  EXPECT_EQ(predict(nine_and_fifteen("best-effort"), pod_after({11}, {12, 9})).outcome,
            PredictedOutcome::kPasses);
}

/// On random nodes with random pods.
TEST(PredictInitContainers, ACertainPredictionIsTheDecision) {
  std::mt19937 random(7);
  const auto dice = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  const auto some = [&](int least_count, int most_count, int most_cpus) {
    std::vector<int> cpus(static_cast<std::size_t>(dice(least_count, most_count)));
    for (int& one : cpus) one = dice(1, most_cpus);
    return cpus;
  };
  int certain = 0;
  for (int round = 0; round < 400; ++round) {
    const char* const policy = round % 2 == 0 ? "single-numa-node" : "restricted";
    test::TestNode node({.numa = dice(2, 3), .cpus = 16}, aligning_config(policy));
    for (const int cpus : some(0, 3, 6)) {
      PodSpec running = pod_after({}, {cpus});
      running.uid = PodUid("r" + std::to_string(node.state().pods.size()));
      (void)node.admit(running);
    }
    const auto inits = some(0, 2, 14);
    const auto apps = some(1, 3, 10);
    const auto predicted =
        predict(describe(node.node(), node.state(), "n"), pod_after(inits, apps));
    if (predicted.outcome == PredictedOutcome::kUnsure) continue;
    ++certain;
    EXPECT_EQ(predicted.outcome != PredictedOutcome::kRejected,
              node.admit(pod_after(inits, apps)).empty())
        << "round " << round << " " << policy << ", init containers "
        << testing::PrintToString(inits) << ", containers " << testing::PrintToString(apps) << ": "
        << predicted.why;
  }
  EXPECT_GT(certain, 350);
}

}  // namespace
}  // namespace pinfold
