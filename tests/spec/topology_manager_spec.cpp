// The rules that Kubernetes documents for the topology manager ("Control Topology Management
// Policies on a node"), one test for each sentence.

#include <gtest/gtest.h>

#include "node_fixture.hpp"

namespace pinfold::test {
namespace {

const NodeShape kTwoGpus = {.devices = {{"example.com/gpu", {0, 2}}}};

PodSpec burstable(const std::string& uid, const Amounts& amounts) {
  PodSpec spec = pod(uid, amounts);
  spec.containers[0].resources.requests["memory"] = Quantity::parse("1Mi").value();
  return spec;
}

// How it works

TEST(TopologyManagerSpec, PolicyNoneChoosesCpusAndDevicesIndependently) {
  TestNode node(kTwoGpus, aligning_config("none"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "2"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.cpu_nodes("a"), "0");
  EXPECT_EQ(node.of("a").devices.at("example.com/gpu").front(), "dev-0");  // on node 1
}

TEST(TopologyManagerSpec, ProvidersSendNodesAndWhetherTheyArePreferred) {
  TestNode node(kTwoGpus, aligning_config("best-effort"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "2"}, {"memory", "1Gi"}, {"example.com/gpu", "2"}})), "");
  const ResourceHints& hints = node.hints().at("c");
  const HintList cpu = {{{NumaMask(1), true}, {NumaMask(2), true}, {NumaMask(3), false}}};
  const HintList gpu = {{{NumaMask(2), true}}};  // masks of NUMA nodes that have gpus
  EXPECT_EQ(hints.at("cpu"), cpu);
  EXPECT_EQ(hints.at("example.com/gpu"), gpu);
}

TEST(TopologyManagerSpec, PrefersTheNarrowestPreferredMask) {
  TestNode node({.numa = 4}, aligning_config("best-effort"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "8"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(TopologyManagerSpec, StoresAnUndesirableHintAsNotPreferred) {
  TestNode node(kTwoGpus, aligning_config("best-effort"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "10"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.affinity("a"), "1-");
}

TEST(TopologyManagerSpec, ProvidersAllocateByTheStoredHint) {
  TestNode node(kTwoGpus, aligning_config("best-effort"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "2"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.affinity("a"), "1+");
  EXPECT_EQ(node.cpu_nodes("a"), "1");
}

// Scopes and policies

TEST(TopologyManagerSpec, AlignsPodsOfEveryQosClass) {
  TestNode node({.devices = {{"example.com/gpu", {0, 3}}}}, aligning_config("best-effort"));
  ASSERT_EQ(
      node.admit(pod("guaranteed", {{"cpu", "1"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})),
      "");
  ASSERT_EQ(node.admit(burstable("burstable", {{"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  ASSERT_EQ(node.admit(pod("best-effort", {{"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.affinity("guaranteed"), "1+");
  EXPECT_EQ(node.affinity("burstable"), "1+");
  EXPECT_EQ(node.affinity("best-effort"), "1+");
}

TEST(TopologyManagerSpec, AlignsOnlyWhatProvidersGiveHintsFor) {
  TestNode node({}, aligning_config("single-numa-node"));  // memory manager None
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "1"}, {"memory", "30Gi"}})), "");
  EXPECT_EQ(node.hints().at("c").count("memory"), 0U);
  EXPECT_EQ(node.affinity("a"), "0+");
}

TEST(TopologyManagerSpec, ScopeIsContainerByDefault) {
  EXPECT_EQ(TestNode({}, aligning_config("restricted")).node().topology().scope(),
            TopologyScope::kContainer);
}

TEST(TopologyManagerSpec, ContainerScopeAlignsEachContainerSeparately) {
  TestNode node({}, aligning_config("single-numa-node", "container"));
  ASSERT_EQ(node.admit(pod_of("a", {container("c1", {{"cpu", "6"}, {"memory", "1Gi"}}),
                                    container("c2", {{"cpu", "6"}, {"memory", "1Gi"}})})),
            "");
  EXPECT_EQ(node.affinity("a", "c1"), "0+");
  EXPECT_EQ(node.affinity("a", "c2"), "1+");
}

TEST(TopologyManagerSpec, PodScopeGroupsAllContainersOnOneNode) {
  TestNode node({}, aligning_config("single-numa-node", "pod"));
  ASSERT_EQ(node.admit(pod_of("a", {container("c1", {{"cpu", "3"}, {"memory", "1Gi"}}),
                                    container("c2", {{"cpu", "5"}, {"memory", "1Gi"}})})),
            "");
  EXPECT_EQ(node.cpu_nodes("a", "c1"), "1");
  EXPECT_EQ(node.cpu_nodes("a", "c2"), "1");
}

TEST(TopologyManagerSpec, PodScopeGroupsAllContainersOnASharedSetOfNodes) {
  TestNode node({.numa = 4}, aligning_config("restricted", "pod"));
  ASSERT_EQ(node.admit(pod_of("a", {container("c1", {{"cpu", "6"}, {"memory", "1Gi"}}),
                                    container("c2", {{"cpu", "6"}, {"memory", "1Gi"}})})),
            "");
  EXPECT_EQ(node.affinity("a", "c1"), "0-1+");
  EXPECT_EQ(node.affinity("a", "c2"), "0-1+");
}

TEST(TopologyManagerSpec, PodDemandIsTheSumOfItsAppContainers) {
  TestNode node({}, aligning_config("single-numa-node", "pod"));
  EXPECT_EQ(node.admit(pod_of("a", {container("c1", {{"cpu", "6"}, {"memory", "1Gi"}}),
                                    container("c2", {{"cpu", "6"}, {"memory", "1Gi"}})})),
            kAffinityError);
}

TEST(TopologyManagerSpec, PodDemandIsAtLeastItsLargestInitContainer) {
  TestNode node({}, aligning_config("restricted", "pod"));
  ASSERT_EQ(node.admit(pod_of(
                "a", {container("i1", {{"cpu", "8"}, {"memory", "1Gi"}}, ContainerKind::kInit),
                      container("i2", {{"cpu", "2"}, {"memory", "1Gi"}}, ContainerKind::kInit),
                      container("c", {{"cpu", "1"}, {"memory", "1Gi"}})})),
            "");
  EXPECT_EQ(node.affinity("a", "c"), "1+");  // NUMA node 0 has only 7 allocatable CPUs
}

TEST(TopologyManagerSpec, PodScopeWithSingleNumaNodeAdmitsPodsThatFitOneNode) {
  TestNode node({}, aligning_config("single-numa-node", "pod"));
  EXPECT_EQ(node.admit(pod_of("a", {container("c1", {{"cpu", "4"}, {"memory", "1Gi"}}),
                                    container("c2", {{"cpu", "4"}, {"memory", "1Gi"}})})),
            "");
}

TEST(TopologyManagerSpec, PodScopeWithSingleNumaNodeRejectsPodsThatNeedTwo) {
  TestNode node({}, aligning_config("single-numa-node", "pod"));
  EXPECT_EQ(node.admit(pod_of("a", {container("c1", {{"cpu", "4"}, {"memory", "1Gi"}}),
                                    container("c2", {{"cpu", "5"}, {"memory", "1Gi"}})})),
            kAffinityError);
}

TEST(TopologyManagerSpec, PodScopeGivesEveryContainerTheSameAffinity) {
  TestNode node(kTwoGpus, aligning_config("best-effort", "pod"));
  ASSERT_EQ(
      node.admit(pod_of(
          "a", {container("c1", {{"cpu", "1"}, {"memory", "1Gi"}}),
                container("c2", {{"memory", "1Gi"}, {"cpu", "1"}, {"example.com/gpu", "1"}})})),
      "");
  EXPECT_EQ(node.affinity("a", "c1"), "1+");
  EXPECT_EQ(node.affinity("a", "c2"), "1+");
}

// Policies

TEST(TopologyManagerSpec, PolicyIsNoneByDefault) {
  EXPECT_EQ(Config{}.topology_manager_policy, "none");
}

TEST(TopologyManagerSpec, PolicyNoneAlignsNothing) {
  TestNode node(kTwoGpus, aligning_config("none"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "10"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.affinity("a"), "any-");
}

TEST(TopologyManagerSpec, BestEffortStoresThePreferredAffinity) {
  TestNode node(kTwoGpus, aligning_config("best-effort"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "8"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(TopologyManagerSpec, BestEffortAdmitsWithoutAPreferredAffinity) {
  TestNode node({.devices = {{"example.com/gpu", {1, 1}}}}, aligning_config("best-effort"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "2"}, {"memory", "1Gi"}, {"example.com/gpu", "2"}})), "");
  EXPECT_EQ(node.affinity("a"), "0-1-");
}

TEST(TopologyManagerSpec, RestrictedStoresThePreferredAffinity) {
  TestNode node(kTwoGpus, aligning_config("restricted"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "8"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.affinity("a"), "1+");
}

TEST(TopologyManagerSpec, RestrictedRejectsWithoutAPreferredAffinity) {
  TestNode node({.devices = {{"example.com/gpu", {1, 1}}}}, aligning_config("restricted"));
  EXPECT_EQ(node.admit(pod("a", {{"cpu", "2"}, {"memory", "1Gi"}, {"example.com/gpu", "2"}})),
            kAffinityError);
}

TEST(TopologyManagerSpec, RestrictedAllocatesByTheStoredAffinity) {
  TestNode node(kTwoGpus, aligning_config("restricted"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "8"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.of("a").cpus->to_string(), "8-15");
}

TEST(TopologyManagerSpec, SingleNumaNodeStoresASingleNodeIfOneIsPossible) {
  TestNode node(kTwoGpus, aligning_config("single-numa-node"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "8"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})), "");
  EXPECT_EQ(node.affinity("a"), "1+");
  EXPECT_EQ(node.cpu_nodes("a"), "1");
}

TEST(TopologyManagerSpec, SingleNumaNodeRejectsIfNoneIsPossible) {
  TestNode node(kTwoGpus, aligning_config("single-numa-node"));
  EXPECT_EQ(node.admit(pod("a", {{"cpu", "9"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}})),
            kAffinityError);
}

TEST(TopologyManagerSpec, ARejectedPodIsNotTriedAgain) {
  TestNode node(kTwoGpus, aligning_config("single-numa-node"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "9"}, {"memory", "1Gi"}})), kAffinityError);
  ASSERT_EQ(node.admit(pod("b", {{"cpu", "8"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(node.affinity("b"), "1+");  // a holds nothing
}

// Pods and the hints that providers give for them

TEST(TopologyManagerSpec, APodWithoutRequestsGetsTheDefaultHint) {
  TestNode node(kTwoGpus, aligning_config("restricted"));
  ASSERT_EQ(node.admit(pod_of("a", {container("nginx", {})})), "");
  EXPECT_TRUE(node.hints().at("nginx").empty());
}

TEST(TopologyManagerSpec, ABurstablePodGetsTheDefaultHint) {
  TestNode node(kTwoGpus, aligning_config("restricted"));
  ASSERT_EQ(node.admit(burstable("a", {{"memory", "200Mi"}})), "");
  EXPECT_TRUE(node.hints().at("c").empty());
}

TEST(TopologyManagerSpec, AGuaranteedPodWithWholeCpusGetsHintsForThemAndItsDevice) {
  TestNode node(kTwoGpus, aligning_config("restricted"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "2"}, {"memory", "200Mi"}, {"example.com/gpu", "1"}})),
            "");
  EXPECT_EQ(node.hints().at("c").size(), 2U);
}

TEST(TopologyManagerSpec, AGuaranteedPodWithSharedCpusGetsHintsForItsDeviceOnly) {
  TestNode node(kTwoGpus, aligning_config("restricted"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "300m"}, {"memory", "200Mi"}, {"example.com/gpu", "1"}})),
            "");
  EXPECT_EQ(node.hints().at("c").size(), 1U);
  EXPECT_EQ(node.hints().at("c").count("example.com/gpu"), 1U);
}

TEST(TopologyManagerSpec, CpuManagerPolicyNoneGivesTheDefaultHint) {
  Config config = aligning_config("restricted");
  config.cpu_manager_policy = "none";
  for (const char* const cpu : {"2", "300m"}) {
    TestNode node(kTwoGpus, config);
    ASSERT_EQ(node.admit(pod("a", {{"cpu", cpu}, {"memory", "200Mi"}, {"example.com/gpu", "1"}})),
              "");
    EXPECT_EQ(node.hints().at("c").count("cpu"), 0U) << cpu;
  }
}

TEST(TopologyManagerSpec, ABestEffortPodGetsHintsForEachOfItsDevices) {
  TestNode node({.devices = {{"example.com/a", {1, 1}}, {"example.com/b", {0, 1}}}},
                aligning_config("restricted"));
  ASSERT_EQ(node.admit(pod("a", {{"example.com/a", "1"}, {"example.com/b", "1"}})), "");
  EXPECT_EQ(node.hints().at("c").size(), 2U);
  EXPECT_EQ(node.affinity("a"), "1+");
}

}  // namespace
}  // namespace pinfold::test
