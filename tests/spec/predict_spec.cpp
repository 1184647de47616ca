// The worked examples and rules of the design for NUMA-aware scheduling by NodeResourceTopology.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node_fixture.hpp"
#include "pinfold/predict/ledger.hpp"
#include "zones.hpp"

namespace pinfold {
namespace {

using test::Amounts;
using test::container;
using test::pod;
using test::pod_of;
using test::predicted;
using test::two_zones;
using test::zones_of;

constexpr const char* kGpu = "example.com/gpu";
constexpr const char* kNic = "example.com/nic";

/// Returns a Guaranteed pod with so little memory that it never matters.
PodSpec guaranteed(Amounts amounts) {
  amounts.emplace("memory", "1Mi");
  return pod("p", amounts);
}

// "Worked examples (node has 2 NUMA nodes)".
TEST(PredictSpec, WorkedExamplesOfRestricted) {
  struct Case {
    const char* gpus;
    const char* cpus;
    Amounts wanted;
    const char* verdict;
  };
  const std::vector<Case> cases = {
      {"4", "16", {{kGpu, "6"}, {"cpu", "10"}}, "rejected"},
      {"4", "16", {{kGpu, "6"}, {"cpu", "24"}}, "0-1"},
      {"2", "64", {{kGpu, "4"}, {"cpu", "1"}}, "rejected"},
  };
  for (const Case& c : cases) {
    const auto node = two_zones("restricted", "container", {{kGpu, c.gpus}, {"cpu", c.cpus}});
    EXPECT_EQ(predicted(node, guaranteed(c.wanted)), c.verdict) << c.gpus << " GPUs, " << c.cpus;
  }
}

// "GPU + NIC locality": free GPU and free CPUs on different NUMA nodes.
TEST(PredictSpec, NodeWhoseFreeGpuIsFarFromItsFreeCpusIsFilteredOut) {
  auto node = two_zones("single-numa-node", "container",
                        {{"cpu", "8"}, {"memory", "16Gi"}, {kGpu, "1"}, {kNic, "1"}});
  const PodSpec training = pod("p", {{"cpu", "4"}, {"memory", "8Gi"}, {kGpu, "1"}, {kNic, "1"}});
  EXPECT_EQ(predicted(node, training), "0");
  test::set_available(node, 0, kGpu, "0");
  test::set_available(node, 1, "cpu", "3");
  EXPECT_EQ(predicted(node, training), "rejected");
}

// "Full-node workloads that span multiple NUMA nodes".
TEST(PredictSpec, FullNodePodFitsUnderRestrictedAndNotUnderSingleNumaNode) {
  const PodSpec whole = guaranteed({{kGpu, "8"}, {"cpu", "60"}, {"memory", "900Gi"}});
  const std::vector<std::pair<std::string, std::string>> half = {
      {kGpu, "4"}, {"cpu", "32"}, {"memory", "512Gi"}};
  EXPECT_EQ(predicted(two_zones("restricted", "pod", half), whole), "0-1");
  EXPECT_EQ(predicted(two_zones("single-numa-node", "pod", half), whole), "rejected");
}

// "Allocatable-vs-available split in preferred-width computation".
TEST(PredictSpec, PreferredWidthComesFromAllocatableAndFeasibilityFromAvailable) {
  auto node = two_zones("restricted", "container", {{kGpu, "4"}});
  const PodSpec four = guaranteed({{kGpu, "4"}});
  EXPECT_EQ(predicted(node, four), "0");
  test::set_available(node, 0, kGpu, "2");
  EXPECT_EQ(predicted(node, four), "1");
  // One zone would be preferred, but only two have enough available: not preferred, so rejected.
  test::set_available(node, 1, kGpu, "3");
  EXPECT_EQ(predicted(node, four), "rejected");
}

// "Policy handling".
TEST(PredictSpec, BestEffortNoneAndNodesWithoutDataPass) {
  const PodSpec huge = guaranteed({{"cpu", "100"}});
  const PodSpec wide = guaranteed({{"cpu", "12"}});
  EXPECT_EQ(predicted(two_zones("best-effort", "pod", {{"cpu", "8"}}), wide), "0-1");
  EXPECT_EQ(predicted(two_zones("none", "pod", {{"cpu", "8"}}), wide), "passes");
  for (const char* const policy : {"best-effort", "none"}) {
    // Not the topology manager: the requests exceed the node.
    EXPECT_EQ(predicted(two_zones(policy, "pod", {{"cpu", "8"}}), huge), "rejected");
  }
  EXPECT_EQ(predicted(NodeTopology{"n", {{"topologyManagerPolicy", "restricted"}}, {}, {}}, huge),
            "passes");
  EXPECT_EQ(predicted(two_zones("restricted", "pod", {{"cpu", "8"}}), huge), "rejected");
}

// A kubelet with kubeReserved 1500m keeps 2 CPUs from exclusive use but counts 1500m. A pod of 500m
// in the shared pool fits although no zone has a CPU.
TEST(PredictSpec, APartOfAReservedCpuCanBeRequested) {
  const auto node = two_zones("restricted", "pod", {{"cpu", "0"}});
  EXPECT_EQ(predicted(node, pod("p", {{"cpu", "500m"}})), "passes");
  EXPECT_EQ(predicted(node, pod("p", {{"cpu", "999m"}})), "passes");
  EXPECT_EQ(predicted(node, pod("p", {{"cpu", "1"}})), "rejected");
}

// "The QoS gate still applies": no manager aligns cpu, memory and huge pages of other pods.
TEST(PredictSpec, OnlyGuaranteedPodsAreConstrainedByCpuAndMemory) {
  const auto node =
      two_zones("single-numa-node", "container",
                {{"cpu", "4"}, {"memory", "1Gi"}, {"hugepages-2Mi", "2Mi"}, {kGpu, "1"}});
  PodSpec burstable = pod("p", {{"cpu", "6"}, {"memory", "2Gi"}, {"hugepages-2Mi", "2Mi"}});
  EXPECT_EQ(predicted(node, burstable), "rejected");
  burstable.containers[0].resources.limits["cpu"] = Quantity::parse("7").value();
  EXPECT_EQ(predicted(node, burstable), "passes");
  // Observed: the device manager gives hints to pods of every class.
  burstable.containers[0].resources.limits[kGpu] = Quantity::parse("2").value();
  EXPECT_EQ(predicted(node, burstable), "rejected");
}

// Observed: the CPU manager gives hints for whole CPUs only.
TEST(PredictSpec, FractionsOfACpuAreNotAligned) {
  const auto node = two_zones("single-numa-node", "container", {{"cpu", "4"}});
  EXPECT_EQ(predicted(node, guaranteed({{"cpu", "5"}})), "rejected");
  EXPECT_EQ(predicted(node, guaranteed({{"cpu", "5500m"}})), "passes");
}

// "NUMA-relevant resources": those that the node reports by zone and the pod requests.
TEST(PredictSpec, AResourceCountsOnlyWhereTheNodeReportsItByZone) {
  const PodSpec wants = guaranteed({{kGpu, "3"}});
  EXPECT_EQ(predicted(two_zones("restricted", "pod", {{"cpu", "8"}, {kGpu, "1"}}), wants),
            "rejected");
  EXPECT_EQ(predicted(two_zones("restricted", "pod", {{"cpu", "8"}}), wants), "passes");
  // One zone that reports it is enough; the others have none.
  EXPECT_EQ(predicted(zones_of("n", "single-numa-node", "pod", {{kGpu, {"", "4"}}}), wants), "1");
}

TEST(PredictSpec, IgnoredResourcesConstrainNothing) {
  const auto node = two_zones("single-numa-node", "pod", {{"cpu", "8"}, {"memory", "1Gi"}});
  const PodSpec wants = pod("p", {{"cpu", "2"}, {"memory", "2Gi"}});
  EXPECT_EQ(predicted(node, wants), "rejected");
  EXPECT_EQ(predicted(node, wants, {"memory"}), "0");
  EXPECT_EQ(predicted(node, wants, {"memory", "cpu"}), "passes");
}

// "Scope split".
TEST(PredictSpec, ScopeDecidesWhatIsAlignedTogether) {
  const PodSpec two = pod_of("p", {container("a", {{"cpu", "3"}, {"memory", "1Mi"}}),
                                   container("b", {{"cpu", "3"}, {"memory", "1Mi"}})});
  EXPECT_EQ(predicted(two_zones("single-numa-node", "pod", {{"cpu", "4"}}), two), "rejected");
  EXPECT_EQ(predicted(two_zones("single-numa-node", "container", {{"cpu", "4"}}), two), "0-1");
  EXPECT_EQ(predicted(two_zones("single-numa-node", "pod", {{"cpu", "6"}}), two), "0");
}

TEST(PredictSpec, ContainersTakeTheirZonesFromLaterOnes) {
  const auto three = [](const char* last) {
    return pod_of("p", {container("a", {{"cpu", "3"}, {"memory", "1Mi"}}),
                        container("b", {{"cpu", "3"}, {"memory", "1Mi"}}),
                        container("c", {{"cpu", last}, {"memory", "1Mi"}})});
  };
  const auto node = two_zones("single-numa-node", "container", {{"cpu", "4"}});
  EXPECT_EQ(predicted(node, three("1")), "0-1");
  EXPECT_EQ(predicted(node, three("2")), "rejected");
}

TEST(PredictSpec, InitContainersAreCheckedAndNotAccumulated) {
  const auto with = [](const char* cpus, ContainerKind kind) {
    return pod_of("p", {container("i", {{"cpu", cpus}, {"memory", "1Mi"}}, kind),
                        container("j", {{"cpu", "4"}, {"memory", "1Mi"}}, kind),
                        container("a", {{"cpu", "4"}, {"memory", "1Mi"}})});
  };
  const auto node = two_zones("single-numa-node", "container", {{"cpu", "4"}});
  EXPECT_EQ(predicted(node, with("4", ContainerKind::kInit)), "0");
  EXPECT_EQ(predicted(node, with("5", ContainerKind::kInit)), "rejected");
  // A sidecar continues to run.
  EXPECT_EQ(predicted(node, with("4", ContainerKind::kSidecar)), "rejected");
  // Pod scope: the requests of containers that run at the same time are added up.
  const auto pod_scope = two_zones("single-numa-node", "pod", {{"cpu", "4"}});
  EXPECT_EQ(predicted(pod_scope, with("4", ContainerKind::kInit)), "0");
  EXPECT_EQ(predicted(pod_scope, with("4", ContainerKind::kSidecar)), "rejected");
}

TEST(PredictSpec, ZeroIsNotARequest) {
  const auto node = two_zones("single-numa-node", "container", {{"cpu", "4"}, {kGpu, "0"}});
  EXPECT_EQ(predicted(node, guaranteed({{"cpu", "2"}, {kGpu, "0"}})), "0");
}

// The memory manager returns one hint for memory and huge pages together.
TEST(PredictSpec, MemoryAndHugePagesPreferZonesTogether) {
  const auto node =
      two_zones("restricted", "pod", {{"memory", "16Gi"}, {"hugepages-2Mi", "1Gi"}, {kGpu, "2"}});
  const Amounts wide = {{"cpu", "500m"}, {"memory", "20Gi"}, {"hugepages-2Mi", "1Gi"}};
  EXPECT_EQ(predicted(node, pod("p", wide)), "0-1");
  Amounts with_gpu = wide;
  with_gpu[kGpu] = "1";
  EXPECT_EQ(predicted(node, pod("p", with_gpu)), "rejected");
  with_gpu[kGpu] = "4";
  EXPECT_EQ(predicted(node, pod("p", with_gpu)), "0-1");
}

// "In-cycle consistency": two zones of 4 cores, pods of 3, 3 and 2: exactly two are placed.
TEST(PredictSpec, CycleDoesNotOvercommitAZone) {
  for (const char* const policy : {"single-numa-node", "restricted"}) {
    Fleet fleet;
    ASSERT_TRUE(fleet.add(two_zones(policy, "pod", {{"cpu", "4"}})));
    Ledger ledger(fleet);
    std::vector<std::string> verdicts;
    for (const char* const cpus : {"3", "3", "2"}) {
      PodQuery query(fleet, guaranteed({{"cpu", cpus}}));
      verdicts.push_back(predicted(fleet, guaranteed({{"cpu", cpus}})));
      if (query.predict(0, ScoringStrategy::kLeastNumaNodes).admits()) {
        ledger.place(PodUid("p" + std::to_string(verdicts.size())), 0, query.place(0));
      }
    }
    EXPECT_THAT(verdicts, testing::ElementsAre("0", "1", "rejected")) << policy;
  }
}

}  // namespace
}  // namespace pinfold
