// The effect of late exporters on a scheduler, with and without reconstruction of the available
// amounts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulated_cluster.hpp"

namespace pinfold {
namespace {

using test::aligning_config;
using test::pod;
using test::SimulatedCluster;
using test::SimulatedScheduler;
using testing::ElementsAre;
using testing::IsEmpty;
using Reconstruction = test::SimulatedScheduler::Reconstruction;

constexpr int kLate = 20;

PodSpec cpus(const std::string& uid, const char* count) {
  return pod(uid, {{"cpu", count}, {"memory", "1Mi"}});
}

/// Nodes of two zones, with 7 and 8 CPUs for pods.
SimulatedCluster cluster_of(int nodes, test::ExporterDelay delay) {
  SimulatedCluster cluster(delay);
  for (int i = 0; i < nodes; ++i) {
    cluster.add_node(std::string(1, static_cast<char>('a' + i)), {},
                     aligning_config("single-numa-node", "pod"));
  }
  return cluster;
}

/// Schedules three pods, of which two fill node a, then counts cycles until the third is bound.
int cycles_until_bound(SimulatedCluster& cluster, Reconstruction reconstruction) {
  SimulatedScheduler scheduler(cluster, reconstruction);
  EXPECT_EQ(scheduler.schedule(cpus("p1", "6")), "a");
  cluster.advance(1);
  EXPECT_EQ(scheduler.schedule(cpus("p2", "6")), "a");
  for (int cycle = 1;; ++cycle) {
    cluster.advance(1);
    if (scheduler.schedule(cpus("p3", "6")) == "b") return cycle;
  }
}

TEST(Staleness, StaleNodeIsPickedRepeatedlyUnlessReconstructed) {
  SimulatedCluster stale = cluster_of(2, {kLate, 0});
  EXPECT_EQ(cycles_until_bound(stale, Reconstruction::kOff), kLate);
  EXPECT_EQ(stale.rejections(), kLate - 1);

  SimulatedCluster fresh = cluster_of(2, {kLate, 0});
  EXPECT_EQ(cycles_until_bound(fresh, Reconstruction::kOn), 1);
  EXPECT_EQ(fresh.rejections(), 0);
}

TEST(Staleness, ExporterJitterChangesTheLoopOnlyWithoutReconstruction) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    for (const Reconstruction reconstruction : {Reconstruction::kOff, Reconstruction::kOn}) {
      SimulatedCluster cluster({3, 10}, seed);
      cluster.add_node("a", {}, aligning_config("single-numa-node", "pod"));
      cluster.add_node("b", {}, aligning_config("single-numa-node", "pod"));
      const int cycles = cycles_until_bound(cluster, reconstruction);
      if (reconstruction == Reconstruction::kOn) {
        EXPECT_EQ(cycles, 1);
      } else {
        EXPECT_GE(cycles, 3);
        EXPECT_LE(cycles, 14);
      }
    }
  }
}

/// Two victims fill the zones, and the preemptor needs one zone. The evicted pod is removed
/// immediately, but the exporter reports that only after the next cycle.
std::vector<std::vector<std::string>> evictions_of_two_cycles(Reconstruction reconstruction) {
  SimulatedCluster cluster = cluster_of(1, {kLate, 0});
  SimulatedScheduler scheduler(cluster, reconstruction);
  for (const char* const uid : {"v1", "v2"}) {
    EXPECT_EQ(scheduler.schedule(cpus(uid, "6")), "a");
    cluster.advance(2 * kLate);  // everything is published and observed
  }
  std::vector<std::vector<std::string>> evictions;
  evictions.push_back(scheduler.preempt_for(cpus("preemptor", "7")));
  cluster.advance(1);
  evictions.push_back(scheduler.preempt_for(cpus("preemptor", "7")));
  EXPECT_EQ(scheduler.schedule(cpus("preemptor", "7")),
            reconstruction == Reconstruction::kOn ? "a" : "");
  return evictions;
}

TEST(Staleness, StaleNodeCausesASecondEvictionUnlessReconstructed) {
  EXPECT_THAT(evictions_of_two_cycles(Reconstruction::kOff),
              ElementsAre(ElementsAre("v1"), ElementsAre("v2")));
  EXPECT_THAT(evictions_of_two_cycles(Reconstruction::kOn),
              ElementsAre(ElementsAre("v1"), IsEmpty()));
}

TEST(Staleness, AHealthyExporterNeedsNoReconstruction) {
  SimulatedCluster cluster = cluster_of(2, {0, 0});
  EXPECT_EQ(cycles_until_bound(cluster, Reconstruction::kOff), 1);
  EXPECT_EQ(cluster.rejections(), 0);
}

TEST(Staleness, ExporterReportsTheObservedPlacementLater) {
  SimulatedCluster cluster = cluster_of(1, {kLate, 0});
  ASSERT_TRUE(cluster.bind("a", cpus("p1", "6")));
  ASSERT_TRUE(cluster.bind("a", cpus("p2", "6")));
  cluster.advance(kLate - 1);
  EXPECT_TRUE(cluster.observed("p2").is_null());
  cluster.advance(1);
  EXPECT_EQ(cluster.observed("p1").dump(), R"([{"amount":6000,"resource":"cpu","zone":"node-0"}])");
  EXPECT_EQ(cluster.observed("p2").dump(), R"([{"amount":6000,"resource":"cpu","zone":"node-1"}])");
}

}  // namespace
}  // namespace pinfold
