#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.hpp"

namespace pinfold {
namespace {

using test::node_of;
using test::pod_of;

constexpr const char* kStatic = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";

NodeState admitted(const Node& node, NodeState state, const PodSpec& pod) {
  Decision decision = decide(node, std::move(state), pod);
  return std::move(std::get<Admitted>(decision).next);
}

TEST(Decide, GivesExclusiveCpusAndShrinksTheSharedPool) {
  const Node node = node_of(kStatic);
  const NodeState state = admitted(node, empty_state(node), pod_of("a", {{"2", "1Gi"}}));
  EXPECT_EQ(state.cpu.assignments.find({PodUid("a"), "c1"})->to_string(), "2-3");
  EXPECT_EQ(state.cpu.default_set.to_string(), "0-1,4-7");
  ASSERT_NE(state.find(PodUid("a")), nullptr);
}

TEST(Decide, IsPure) {
  const Node node = node_of(kStatic);
  const NodeState before = admitted(node, empty_state(node), pod_of("a", {{"2", "1Gi"}}));
  const NodeState copy = before;
  const PodSpec pod = pod_of("b", {{"3", "1Gi"}, {"1", "1Gi"}});
  const NodeState first = admitted(node, before, pod);
  const NodeState second = admitted(node, before, pod);
  EXPECT_EQ(first, second);
  EXPECT_EQ(before, copy);
}

TEST(Decide, RejectionNamesTheShortage) {
  const Node node = node_of(kStatic);
  const Decision decision = decide(node, empty_state(node), pod_of("a", {{"8", "1Gi"}}));
  const auto& rejected = std::get<Rejected>(decision);
  EXPECT_EQ(rejected.why.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(rejected.why.message,
            "Allocate failed due to not enough cpus available to satisfy request: requested=8, "
            "available=7, which is unexpected");
}

// The first container fits, the second does not.
TEST(DecideQuirks, RejectedPodKeepsResources) {
  const PodSpec pod = pod_of("a", {{"2", "1Gi"}, {"7", "1Gi"}});
  const Node fixed = node_of(kStatic);
  const NodeState empty = empty_state(fixed);
  const Decision corrected = decide(fixed, empty, pod);
  EXPECT_EQ(std::get<Rejected>(corrected).next, empty);

  const Node exact = node_of(std::string(kStatic) + "pinfold: {profile: kubelet-1.36}\n");
  const Decision kept = decide(exact, empty_state(exact), pod);
  const NodeState& next = std::get<Rejected>(kept).next;
  EXPECT_EQ(next.cpu.default_set.to_string(), "0-1,4-7");
  EXPECT_EQ(next.find(PodUid("a")), nullptr);
  // The next admission releases it.
  const NodeState later = admitted(exact, next, pod_of("b", {{"500m", "1Gi"}}));
  EXPECT_EQ(later.cpu.default_set.to_string(), "0-7");
}

TEST(Decide, ExplainsWhenTraced) {
  const Node node = node_of(kStatic);
  Trace trace;
  const Decision decision = decide(node, empty_state(node), pod_of("a", {{"2", "1Gi"}}), &trace);
  ASSERT_TRUE(std::holds_alternative<Admitted>(decision));
  ASSERT_FALSE(trace.facts.empty());
  EXPECT_NE(trace.facts.front().text.find("2-3"), std::string::npos) << trace.facts.front().text;
}

TEST(Decide, ExplainsTheMergeOfTheHintsWhenTraced) {
  const Node node = node_of(kStatic + std::string("\ntopologyManagerPolicy: restricted"));
  Trace trace;
  (void)decide(node, empty_state(node), pod_of("a", {{"2", "1Gi"}}), &trace);
  EXPECT_THAT(trace.facts,
              testing::IsSupersetOf({TraceFact{"topology", "c1", "cpu fits on NUMA 0 or 1"},
                                     TraceFact{"topology", "c1",
                                               "aligned on NUMA 0, the best of 2 choices that suit "
                                               "every resource"}}));
}

/// The facts of a rejection, as "source: text".
std::vector<std::string> facts_of_rejection(const Node& node, const NodeState& state,
                                            const PodSpec& pod) {
  Trace trace;
  const Decision decision = decide(node, state, pod, &trace);
  EXPECT_TRUE(std::holds_alternative<Rejected>(decision));
  std::vector<std::string> facts;
  for (const TraceFact& fact : trace.facts) facts.push_back(fact.source + ": " + fact.text);
  return facts;
}

TEST(Decide, ExplainsWhatIsNeededFreeAndHeld) {
  const std::string memory =
      "\nmemoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]";
  const Node node = node_of(kStatic + ("\ntopologyManagerPolicy: restricted" + memory));
  NodeState state = admitted(node, empty_state(node), pod_of("a", {{"2", "1Gi"}}));
  state = admitted(node, state, pod_of("b", {{"3", "2Gi"}}));
  const auto facts = facts_of_rejection(node, state, pod_of("c", {{"2", "1Gi"}}));
  EXPECT_THAT(facts, testing::Contains("cpu: needs 2 CPUs; NUMA 0: 1 free, 2 held, 1 reserved; "
                                       "NUMA 1: 1 free, 3 held, 0 reserved"));
  EXPECT_THAT(facts, testing::Contains("memory: needs 1Gi of memory; NUMA 0: 7068Mi free, "
                                       "1Gi held, 100Mi reserved; NUMA 1: 6Gi free, 2Gi held, 0 "
                                       "reserved"));
  const Node none = node_of(kStatic + memory);
  EXPECT_THAT(facts_of_rejection(none, empty_state(none), pod_of("c", {{"8", "1Gi"}})),
              testing::Contains("cpu: needs 8 CPUs; NUMA 0: 3 free, 0 held, 1 reserved; NUMA 1: 4 "
                                "free, 0 held, 0 reserved"));
}

TEST(Decide, NamesTheStepThatFailed) {
  const auto step = [](const std::string& config, const PodSpec& pod) {
    const Node node = node_of(kStatic + config);
    const Decision decision = decide(node, empty_state(node), pod, nullptr, nullptr,
                                     AdmissionChecks::kManagersAndRequests);
    return std::get<Rejected>(decision).step;
  };
  EXPECT_EQ(step("", pod_of("a", {{"2", "1Gi"}, {"8", "1Gi"}})), (AdmissionStep{"cpu", "c2"}));
  EXPECT_EQ(step("\ntopologyManagerPolicy: single-numa-node", pod_of("a", {{"6", "1Gi"}})),
            (AdmissionStep{"topology", "c1"}));
  EXPECT_EQ(step("\ntopologyManagerPolicy: single-numa-node\ntopologyManagerScope: pod",
                 pod_of("a", {{"3", "1Gi"}, {"3", "1Gi"}})),
            (AdmissionStep{"topology", "pod"}));
  EXPECT_EQ(step("", pod_of("a", {{"1", "17Gi"}})), (AdmissionStep{"requests", "pod"}));
}

TEST(Decide, ExplainsThatAPodsBudgetIsUsedUp) {
  const Node node = node_of(
      kStatic + std::string("\ntopologyManagerPolicy: restricted\ntopologyManagerScope: pod\n"
                            "featureGates: {PodLevelResourceManagers: true}"));
  PodSpec pod = pod_of("a", {{"4", "1Gi"}, {"1", "1Gi"}});
  pod.containers[1].resources = {};
  const ResourceList budget = {{"cpu", Quantity::parse("4").value()},
                               {"memory", Quantity::parse("2Gi").value()}};
  pod.resources = Resources{budget, budget};
  EXPECT_THAT(facts_of_rejection(node, empty_state(node), pod),
              testing::Contains("topology: not aligned: cpu cannot be given: the pod has 4 CPUs: "
                                "sum of exclusive container cpu requests equals pod budget, "
                                "leaving no cpus for shared containers"));
  pod.containers[0].kind = ContainerKind::kSidecar;
  pod.containers[0].resources.requests["cpu"] = Quantity::parse("3").value();
  pod.containers[0].resources.limits = pod.containers[0].resources.requests;
  Container init = pod.containers[0];
  init.name = "init";
  init.kind = ContainerKind::kInit;
  pod.containers.insert(pod.containers.begin() + 1, init);
  EXPECT_THAT(facts_of_rejection(node, empty_state(node), pod),
              testing::Contains("topology: not aligned: cpu cannot be given: the pod has 4 CPUs: "
                                "largest exclusive init container requests 3 cpus, but only 1 "
                                "available"));
}

TEST(Decide, SaysNowhereThatARejectedPodIsAdmitted) {
  const Node node = node_of(kStatic + std::string("\ntopologyManagerPolicy: best-effort"));
  const auto facts = facts_of_rejection(node, empty_state(node), pod_of("a", {{"8", "1Gi"}}));
  EXPECT_THAT(facts, testing::Each(testing::Not(testing::HasSubstr("admitted"))));
}

TEST(RemovePod, RestoresTheStateBefore) {
  const Node node = node_of(kStatic);
  const NodeState empty = empty_state(node);
  const NodeState state = admitted(node, empty, pod_of("a", {{"2", "1Gi"}, {"1", "1Gi"}}));
  const NodeState after = remove_pod(node, state, PodUid("a"));
  EXPECT_EQ(after.cpu.default_set, empty.cpu.default_set);
  EXPECT_TRUE(after.cpu.assignments.empty());
  EXPECT_EQ(after.find(PodUid("a")), nullptr);
}

TEST(StartContainer, RejectsInactivePodsAndContainers) {
  const Node node = node_of(kStatic);
  const auto started = start_container(node, empty_state(node), {PodUid("nobody"), "c1"});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace pinfold
