#include "pinfold/decide/counts.hpp"

#include <gtest/gtest.h>

#include <map>

#include "fixture.hpp"

// Which event increments which counter, by policy, scope and outcome, as in the kubelet.
namespace pinfold {
namespace {

using test::node_of;

const std::string kStaticPolicy =
    "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
const std::string kMemory =
    "memoryManagerPolicy: Static\nsystemReserved: {memory: 100Mi}\nevictionHard: "
    "{memory.available: 100Mi}\nreservedMemory: [{numaNode: 0, limits: {memory: 200Mi}}]\n";
const std::string kPodLevel =
    "featureGates: {PodLevelResources: true, PodLevelResourceManagers: true}\n";
const std::string kBestEffort = "topologyManagerPolicy: best-effort\n";
const std::string kPodScope = "topologyManagerScope: pod\n";

using Expected = std::map<Counter, std::uint64_t>;

/// Admits a pod and returns the counters that are not zero.
Expected count(const Node& node, NodeState& state, const PodSpec& spec) {
  Counts counts;
  Decision decision = decide(node, state, spec, nullptr, &counts);
  if (auto* admitted = std::get_if<Admitted>(&decision)) state = std::move(admitted->next);
  Expected out;
  for (std::size_t i = 0; i < kCounters; ++i) {
    if (counts.values[i] != 0) out[static_cast<Counter>(i)] = counts.values[i];
  }
  return out;
}

Expected count(const Node& node, const PodSpec& spec) {
  NodeState state = empty_state(node);
  return count(node, state, spec);
}

void set(Container& container, const std::string& resource, const std::string& amount) {
  container.resources.requests[resource] = Quantity::parse(amount).value();
  container.resources.limits[resource] = Quantity::parse(amount).value();
}

Container guaranteed(const std::string& name, const std::string& cpu) {
  Container container{name, ContainerKind::kApp, {}};
  set(container, "cpu", cpu);
  set(container, "memory", "64Mi");
  return container;
}

PodSpec pod(const std::string& uid, std::vector<Container> containers) {
  return {PodUid(uid), uid, "default", std::move(containers), {}};
}

PodSpec whole_pod(const std::string& cpu, std::vector<Container> containers) {
  PodSpec spec = pod("x", std::move(containers));
  spec.resources = Resources{};
  spec.resources->limits = {{"cpu", Quantity::parse(cpu).value()},
                            {"memory", Quantity::parse("1Gi").value()}};
  spec.resources->requests = spec.resources->limits;
  return spec;
}

Container shared(const std::string& name, ContainerKind kind = ContainerKind::kApp) {
  return {name, kind, {}};
}

TEST(Counts, ASharedContainerIsRequestedAndNothingElse) {
  const Node node = node_of(kStaticPolicy + kMemory + kBestEffort);
  EXPECT_EQ(count(node, pod("x", {shared("c")})), (Expected{{Counter::kTopologyRequests, 1}}));
}

TEST(Counts, EachExclusiveContainerIsARequestAnAllocationAndAnAssignment) {
  const Node node = node_of(kStaticPolicy + kMemory + kBestEffort);
  EXPECT_EQ(count(node, pod("x", {guaranteed("a", "2"), guaranteed("b", "1")})),
            (Expected{{Counter::kTopologyRequests, 1},
                      {Counter::kCpuPinningRequests, 2},
                      {Counter::kMemoryPinningRequests, 2},
                      {Counter::kAlignedUncoreCache, 2},
                      {Counter::kCpuFromNode, 2},
                      {Counter::kMemoryFromNode, 2},
                      {Counter::kCpuNodeExclusive, 2},
                      {Counter::kMemoryNodeExclusive, 2}}));
}

TEST(Counts, APodThatIsAdmittedAgainIsARequestButNoAllocation) {
  const Node node = node_of(kStaticPolicy + kMemory + kBestEffort);
  NodeState state = empty_state(node);
  (void)count(node, state, pod("x", {guaranteed("a", "2")}));
  EXPECT_EQ(count(node, state, pod("x", {guaranteed("a", "2")})),
            (Expected{{Counter::kTopologyRequests, 1},
                      {Counter::kCpuPinningRequests, 1},
                      {Counter::kMemoryPinningRequests, 1}}));
}

TEST(Counts, MemoryIsPinnedForPartsOfACpuToo) {
  const Node node = node_of(kStaticPolicy + kMemory + kBestEffort);
  EXPECT_EQ(count(node, pod("x", {guaranteed("a", "500m")})),
            (Expected{{Counter::kTopologyRequests, 1},
                      {Counter::kMemoryPinningRequests, 1},
                      {Counter::kMemoryFromNode, 1},
                      {Counter::kMemoryNodeExclusive, 1}}));
}

TEST(Counts, CpusOfTwoCachesAreNotAligned) {
  const Node node = node_of(kStaticPolicy + kBestEffort);
  EXPECT_EQ(count(node, pod("x", {guaranteed("a", "5")})).count(Counter::kAlignedUncoreCache), 0U);
}

TEST(Counts, AnAllocationThatFailsIsAnErrorOfItsManager) {
  // With the policy none the topology manager does not count errors of other managers.
  EXPECT_EQ(count(node_of(kStaticPolicy), pod("x", {guaranteed("a", "9")})),
            (Expected{{Counter::kTopologyRequests, 1},
                      {Counter::kCpuPinningRequests, 1},
                      {Counter::kCpuPinningErrors, 1},
                      {Counter::kCpuErrorsNode, 1}}));
  PodSpec greedy = pod("x", {guaranteed("a", "500m")});
  set(greedy.containers[0], "memory", "100Gi");
  EXPECT_EQ(count(node_of(kStaticPolicy + kMemory + kBestEffort), greedy),
            (Expected{{Counter::kTopologyRequests, 1},
                      {Counter::kTopologyErrors, 1},
                      {Counter::kMemoryPinningRequests, 1},
                      {Counter::kMemoryPinningErrors, 1},
                      {Counter::kMemoryErrorsNode, 1}}));
}

TEST(Counts, ARejectionForLackOfAffinityReachesNoManager) {
  const Node restricted = node_of(kStaticPolicy + "topologyManagerPolicy: restricted");
  NodeState state = empty_state(restricted);
  (void)count(restricted, state, pod("w", {guaranteed("a", "2")}));
  (void)count(restricted, state, pod("y", {guaranteed("a", "3")}));
  EXPECT_EQ(count(restricted, state, pod("x", {guaranteed("a", "2")})),
            (Expected{{Counter::kTopologyRequests, 1}, {Counter::kTopologyErrors, 1}}));
}

TEST(Counts, OnlySingleNumaNodeGuaranteesAlignment) {
  const Node by_container = node_of(kStaticPolicy + "topologyManagerPolicy: single-numa-node");
  const Expected good = count(by_container, pod("x", {guaranteed("a", "1"), shared("b")}));
  EXPECT_EQ(good.at(Counter::kAlignedNumaContainer), 2U);
  EXPECT_EQ(good.count(Counter::kAlignedNumaPod), 0U);
  EXPECT_EQ(count(by_container, pod("x", {guaranteed("a", "5")})),
            (Expected{{Counter::kTopologyRequests, 1},
                      {Counter::kTopologyErrors, 1},
                      {Counter::kMisalignedNumaContainer, 1}}));
  const Node by_pod =
      node_of(kStaticPolicy + "topologyManagerPolicy: single-numa-node\n" + kPodScope);
  EXPECT_EQ(
      count(by_pod, pod("x", {guaranteed("a", "1"), shared("b")})).at(Counter::kAlignedNumaPod),
      1U);
  EXPECT_EQ(count(by_pod, pod("x", {guaranteed("a", "5")})),
            (Expected{{Counter::kTopologyRequests, 1},
                      {Counter::kTopologyErrors, 1},
                      {Counter::kMisalignedNumaPod, 1}}));
}

TEST(Counts, WholeCoresAreAlignedPhysicalCpus) {
  const Node node = node_of(kStaticPolicy + "cpuManagerPolicyOptions: {full-pcpus-only: 'true'}");
  EXPECT_EQ(count(node, pod("x", {guaranteed("a", "2")})).at(Counter::kAlignedPhysicalCpu), 1U);
  EXPECT_EQ(count(node, pod("x", {guaranteed("a", "1")})),
            (Expected{{Counter::kTopologyRequests, 1},
                      {Counter::kCpuPinningRequests, 1},
                      {Counter::kCpuPinningErrors, 1},
                      {Counter::kCpuErrorsNode, 1},
                      {Counter::kMisalignedPhysicalCpu, 1}}));
}

TEST(Counts, APodAsAWholeIsDividedIntoExclusiveAndShared) {
  const Node node = node_of(kStaticPolicy + kMemory + kPodLevel + kBestEffort + kPodScope);
  NodeState state = empty_state(node);
  const PodSpec spec =
      whole_pod("3", {shared("i", ContainerKind::kInit), shared("s", ContainerKind::kSidecar),
                      guaranteed("a", "1"), shared("b")});
  // Memory: the pod, both init containers, and the container with exclusive memory.
  EXPECT_EQ(count(node, state, spec), (Expected{{Counter::kTopologyRequests, 1},
                                                {Counter::kCpuPinningRequests, 1},
                                                {Counter::kMemoryPinningRequests, 4},
                                                {Counter::kAlignedUncoreCache, 1},
                                                {Counter::kCpuFromPod, 4},
                                                {Counter::kMemoryFromPod, 4},
                                                {Counter::kCpuPodExclusive, 1},
                                                {Counter::kCpuPodShared, 3},
                                                {Counter::kMemoryPodExclusive, 1},
                                                {Counter::kMemoryPodShared, 3}}));
  EXPECT_EQ(count(node, state, spec),
            (Expected{{Counter::kTopologyRequests, 1}, {Counter::kMemoryPinningRequests, 1}}));
}

TEST(Counts, APodWhoseBudgetIsTooSmallIsAnErrorOfThePodsSource) {
  const Node node = node_of(kStaticPolicy + kMemory + kPodLevel + kBestEffort + kPodScope);
  EXPECT_EQ(count(node, whole_pod("2", {guaranteed("a", "2"), shared("b")})),
            (Expected{{Counter::kTopologyRequests, 1},
                      {Counter::kTopologyErrors, 1},
                      {Counter::kCpuPinningErrors, 1},
                      {Counter::kCpuErrorsPod, 1}}));
  PodSpec no_memory = whole_pod("3", {guaranteed("a", "1"), shared("b")});
  set(no_memory.containers[0], "memory", "1Gi");
  const Expected counts = count(node, no_memory);
  EXPECT_EQ(counts.at(Counter::kMemoryErrorsPod), 1U);
  EXPECT_EQ(counts.at(Counter::kMemoryPinningErrors), 1U);
  EXPECT_EQ(counts.at(Counter::kMemoryPinningRequests), 1U);
  EXPECT_EQ(counts.at(Counter::kTopologyErrors), 1U);
}

TEST(Counts, InContainerScopeAPodWithABudgetDrawsFromTheNode) {
  const Node node = node_of(kStaticPolicy + kPodLevel + kBestEffort);
  const Expected counts = count(node, whole_pod("3", {guaranteed("a", "1"), shared("b")}));
  EXPECT_EQ(counts.at(Counter::kCpuFromNode), 1U);
  EXPECT_EQ(counts.at(Counter::kCpuNodeExclusive), 1U);
  EXPECT_EQ(counts.count(Counter::kCpuPodShared), 0U);
}

TEST(Counts, WithoutTheGateAPodWithABudgetCountsNothing) {
  const Node node = node_of(kStaticPolicy + kMemory + kBestEffort);
  EXPECT_EQ(count(node, whole_pod("3", {guaranteed("a", "1"), shared("b")})),
            (Expected{{Counter::kTopologyRequests, 1}}));
}

}  // namespace
}  // namespace pinfold
