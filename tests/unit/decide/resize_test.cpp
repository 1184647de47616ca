#include "pinfold/decide/resize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.hpp"

namespace pinfold {
namespace {

using test::node_of;
using test::pod_of;

constexpr const char* kResizable = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";

ResizeRequest to(const std::string& cpus, const std::string& container = "c1") {
  return {{PodUid("a"), container}, Quantity::parse(cpus).value()};
}

/// The pod "a" with 2 CPUs in c1, and `others`.
NodeState with_pods(const Node& node, const std::vector<PodSpec>& others = {}) {
  NodeState state = empty_state(node);
  std::vector<PodSpec> pods = {pod_of("a", {{"2", "1Gi"}})};
  pods.insert(pods.end(), others.begin(), others.end());
  for (const PodSpec& pod : pods) {
    Decision decision = decide(node, std::move(state), pod);
    state = std::move(std::get<Admitted>(decision).next);
  }
  return state;
}

Resized resized(const Node& node, const NodeState& state, const ResizeRequest& request) {
  auto decision = resize(node, state, request);
  EXPECT_TRUE(decision && std::holds_alternative<Resized>(*decision));
  return std::get<Resized>(*std::move(decision));
}

NotResized refused(const Node& node, const NodeState& state, const ResizeRequest& request) {
  const auto decision =
      resize(node, state, request, nullptr, AdmissionChecks::kManagersAndRequests);
  EXPECT_TRUE(decision && std::holds_alternative<NotResized>(*decision));
  return std::get<NotResized>(*decision);
}

std::string cpus_in(const NodeState& state, const std::string& container = "c1") {
  return state.cpu.assignments.find({PodUid("a"), container})->to_string();
}

TEST(ResizeDecision, GrowsAndKeepsWhatItHas) {
  const Node node = node_of(kResizable);
  const NodeState before = with_pods(node);
  const NodeState copy = before;
  const Resized grown = resized(node, before, to("4"));
  EXPECT_EQ(grown.before.to_string(), "2-3");
  EXPECT_EQ(grown.after.to_string(), "2-5");
  EXPECT_EQ(cpus_in(grown.next), "2-5");
  EXPECT_EQ(grown.next.cpu.default_set.to_string(), "0-1,6-7");
  EXPECT_EQ(baseline_of(grown.next.cpu, to("4").container)->to_string(), "2-3");
  const Container& container = grown.next.find(PodUid("a"))->spec.containers.front();
  EXPECT_EQ(container.resources.requests.at("cpu").to_string(), "4");
  EXPECT_EQ(container.resources.limits.at("cpu").to_string(), "4");
  EXPECT_EQ(before, copy);
}

TEST(ResizeDecision, ShrinksToItsBaselineAndNotBelow) {
  const Node node = node_of(kResizable);
  const NodeState grown = resized(node, with_pods(node), to("5")).next;
  EXPECT_EQ(cpus_in(grown), "1-5");
  const NodeState three = resized(node, grown, to("3")).next;
  EXPECT_EQ(cpus_in(three), "1-3");
  const NodeState two = resized(node, three, to("2")).next;
  EXPECT_EQ(cpus_in(two), "2-3");
  EXPECT_EQ(two.cpu.default_set.to_string(), "0-1,4-7");
  const NotResized below = refused(node, three, to("1"));
  EXPECT_EQ(below.reason, ResizeReason::kInfeasible);
  EXPECT_EQ(below.why.reason, "prohibitedCPUAllocationError");
  EXPECT_EQ(below.advice,
            "container 'c1' keeps the CPUs of its admission, 2-3: request at least 2");
}

TEST(ResizeDecision, OfTheSameNumberChangesNothing) {
  const Node node = node_of(kResizable);
  const NodeState before = with_pods(node);
  const Resized same = resized(node, before, to("2"));
  EXPECT_EQ(same.next, before);
  EXPECT_EQ(same.before, same.after);
}

TEST(ResizeDecision, RefusesWhatIsNotANumberOfExclusiveCpus) {
  const Node node = node_of(kResizable);
  const NodeState state = with_pods(node);
  const NotResized fraction = refused(node, state, to("2500m"));
  EXPECT_EQ(fraction.why.reason, "inconsistentCPUAllocationError");
  EXPECT_THAT(fraction.why.message,
              testing::HasSubstr("from  exclusively allocated pool to shared pool, not allowed "
                                 "(requested CPUs = 2500m, allocated CPUs = 2)"));
  const NodeState shared = with_pods(node, {pod_of("b", {{"500m", "1Gi"}})});
  const NotResized into =
      refused(node, shared, {{PodUid("b"), "c1"}, Quantity::parse("1").value()});
  EXPECT_THAT(into.why.message, testing::HasSubstr("from shared pool to exclusively allocated"));
  EXPECT_EQ(
      into.advice,
      "container 'c1' has no exclusive CPUs: its limit of 500m is not a whole number of CPUs");
  const auto stays = resize(node, shared, {{PodUid("b"), "c1"}, Quantity::parse("600m").value()});
  ASSERT_FALSE(stays);
  EXPECT_EQ(stays.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(stays.error().message, testing::HasSubstr("container 'c1' has no exclusive CPUs"));
  PodSpec burstable = pod_of("b", {{"1", "1Gi"}});
  burstable.containers.front().resources.limits.clear();
  EXPECT_EQ(resize(node, with_pods(node, {burstable}),
                   {{PodUid("b"), "c1"}, Quantity::parse("2").value()})
                .error()
                .code,
            ErrorCode::kInvalidArgument)
      << "a kubelet resizes it without the CPU manager";
  EXPECT_EQ(resize(node, state, to("0")).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(resize(node, state, to("-1")).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(resize(node, state, to("3", "other")).error().code, ErrorCode::kNotFound);
}

// Source: kubelet 1.36, allocation manager; KEP-5554.
TEST(ResizeDecision, IsInfeasibleForKubeletsWithoutIt) {
  constexpr const char* kMessage =
      "Resize is infeasible for Guaranteed Pods alongside CPU Manager policy \"static\"";
  const std::string gate = "featureGates: {InPlacePodVerticalScalingExclusiveCPUs: true}\n";
  for (const std::string& config :
       {std::string("pinfold: {profile: kubelet-1.36}\n"),
        std::string("pinfold: {profile: kubelet-1.37}\n"),
        std::string("pinfold: {profile: kubelet-1.38}\n"),
        std::string("featureGates: {InPlacePodVerticalScalingExclusiveCPUs: false}\n")}) {
    const Node node = node_of(kResizable + config);
    const NotResized no = refused(node, with_pods(node), to("3"));
    EXPECT_EQ(no.reason, ResizeReason::kInfeasible) << config;
    EXPECT_EQ(no.why.message, kMessage) << config;
    // That kubelet ignores the amount.
    const NodeState shared = with_pods(node, {pod_of("b", {{"500m", "1Gi"}})});
    const ResizeRequest stays{{PodUid("b"), "c1"}, Quantity::parse("600m").value()};
    EXPECT_EQ(refused(node, shared, stays).why.message, kMessage) << config;
  }
  const Node older = node_of(kResizable + ("pinfold: {profile: kubelet-1.37}\n" + gate));
  EXPECT_EQ(refused(older, with_pods(older), to("3")).why.message,
            "kubelet-1.37 does not resize exclusive CPUs");
  const Node node = node_of(kResizable + ("pinfold: {profile: kubelet-1.38}\n" + gate));
  EXPECT_EQ(cpus_in(resized(node, with_pods(node), to("3")).next), "1-3");
}

TEST(ResizeDecision, NamesWhatTheNodeLacks) {
  const Node node = node_of(kResizable);
  const NotResized never = refused(node, with_pods(node), to("8"));
  EXPECT_EQ(never.reason, ResizeReason::kInfeasible);
  EXPECT_EQ(never.why.message,
            "Node didn't have enough capacity: cpu, requested: 8000, capacity: 7000");
  const NotResized later =
      refused(node, with_pods(node, {pod_of("b", {{"3500m", "1Gi"}})}), to("4"));
  EXPECT_EQ(later.reason, ResizeReason::kDeferred);
  EXPECT_EQ(later.why.reason, "OutOfcpu");
}

TEST(ResizeDecision, FollowsTheTopologyPolicy) {
  const Node node = node_of(kResizable + std::string("topologyManagerPolicy: single-numa-node\n"));
  const NodeState before = with_pods(node);
  EXPECT_EQ(cpus_in(resized(node, before, to("3")).next), "1-3");
  const NotResized no = refused(node, before, to("4"));
  EXPECT_EQ(no.reason, ResizeReason::kInfeasible);
  EXPECT_EQ(no.why.reason, "TopologyAffinityError");
}

TEST(ResizeDecision, IsDeferredIfOtherPodsAreInTheWay) {
  const Node node = node_of(kResizable + std::string("topologyManagerPolicy: single-numa-node\n"));
  NodeState state = with_pods(node, {pod_of("b", {{"1", "1Gi"}})});
  ASSERT_EQ(state.cpu.assignments.find({PodUid("b"), "c1"})->to_string(), "1");
  const NotResized later = refused(node, state, to("3"));
  EXPECT_EQ(later.reason, ResizeReason::kDeferred);
  EXPECT_EQ(later.why.reason, "TopologyAffinityError");
  EXPECT_EQ(refused(node, state, to("4")).reason, ResizeReason::kInfeasible);
  // Even if the requests of all pods do not fit either.
  const NotResized never = refused(node, state, to("7"));
  EXPECT_EQ(never.reason, ResizeReason::kInfeasible);
  EXPECT_EQ(never.why.reason, "TopologyAffinityError");
  state = remove_pod(node, std::move(state), PodUid("b"));
  EXPECT_EQ(cpus_in(resized(node, state, to("3")).next), "1-3");
  // A held pod blocks the resize, too.
  NodeState held = with_pods(node, {pod_of("b", {{"1", "1Gi"}})});
  held.pods.erase(held.pods.find(PodUid("b")));
  held.held.insert(PodUid("b"));
  EXPECT_EQ(refused(node, held, to("3")).reason, ResizeReason::kDeferred);
}

TEST(ResizeDecision, OfAPodScopeCountsAllContainers) {
  const Node node = node_of(kResizable + std::string("topologyManagerPolicy: single-numa-node\n"
                                                     "topologyManagerScope: pod\n"));
  NodeState state = empty_state(node);
  Decision decision = decide(node, std::move(state), pod_of("a", {{"1", "1Gi"}, {"2", "1Gi"}}));
  state = std::move(std::get<Admitted>(decision).next);
  const std::string second = cpus_in(state, "c2");
  EXPECT_EQ(cpus_in(state) + " " + second, "1 2-3");
  EXPECT_EQ(refused(node, state, to("2")).why.reason, "TopologyAffinityError");
}

TEST(ResizeDecision, GivesWholeCoresWithFullPcpusOnly) {
  const Node node =
      node_of(kResizable + std::string("cpuManagerPolicyOptions: {full-pcpus-only: 'true'}\n"));
  const NodeState before = with_pods(node);
  EXPECT_EQ(cpus_in(resized(node, before, to("4")).next), "2-5");
  EXPECT_EQ(refused(node, before, to("3")).why.reason, "SMTAlignmentError");
}

TEST(NearestResize, IsBetweenWhatItHasAndTheRequest) {
  const Node node = node_of(kResizable + std::string("topologyManagerPolicy: single-numa-node\n"));
  const NodeState state = with_pods(node);
  EXPECT_EQ(nearest_resize(node, state, to("4")), 3);
  EXPECT_EQ(nearest_resize(node, state, to("7")), 3);
  EXPECT_EQ(nearest_resize(node, state, to("1000000000")), 3);
  const Node free = node_of(kResizable);
  EXPECT_EQ(nearest_resize(free, with_pods(free), to("1000000000")), 7);
}

TEST(NearestResize, IsBeyondTheRequestIfNothingIsBetween) {
  const Node node =
      node_of(kResizable + std::string("cpuManagerPolicyOptions: {full-pcpus-only: 'true'}\n"));
  const NodeState state = with_pods(node);
  EXPECT_EQ(nearest_resize(node, state, to("3")), 4);
  const NodeState six = resized(node, state, to("6")).next;
  EXPECT_EQ(nearest_resize(node, six, to("3")), 4) << "between what it has and the request";
  EXPECT_EQ(nearest_resize(node, resized(node, state, to("4")).next, to("3")), 2);
  EXPECT_EQ(nearest_resize(node, state, to("2.5")), std::nullopt);
  EXPECT_EQ(nearest_resize(node, state, to("3", "missing")), std::nullopt);
}

TEST(ResizeDecision, LeavesASharedPoolToAKubeletThatDoesNotStartWithoutOne) {
  const std::string strict =
      kResizable + std::string("cpuManagerPolicyOptions: {strict-cpu-reservation: 'true'}\n");
  const Node node = node_of(strict +
                            "pinfold: {profile: kubelet-1.38}\n"
                            "featureGates: {InPlacePodVerticalScalingExclusiveCPUs: true}\n");
  const NotResized no = refused(node, with_pods(node), to("7"));
  EXPECT_EQ(no.reason, ResizeReason::kInfeasible);
  EXPECT_THAT(no.why.message, testing::HasSubstr("default cpuset cannot be empty"));
  EXPECT_EQ(cpus_in(resized(node, with_pods(node), to("6")).next), "2-7");
  // With 2 CPUs of another pod, 5 leave no shared pool until it ends, and 7 never leave one.
  const NodeState both = with_pods(node, {pod_of("b", {{"2", "1Gi"}})});
  const NotResized later = refused(node, both, to("5"));
  EXPECT_EQ(later.reason, ResizeReason::kDeferred);
  EXPECT_EQ(later.advice, "other pods are in the way");
  EXPECT_EQ(cpus_in(resized(node, remove_pod(node, both, PodUid("b")), to("5")).next), "1-5");
  EXPECT_EQ(refused(node, both, to("6")).reason, ResizeReason::kDeferred);
  const NotResized never = refused(node, both, to("7"));
  EXPECT_EQ(never.reason, ResizeReason::kInfeasible);
  EXPECT_THAT(never.why.message, testing::HasSubstr("default cpuset cannot be empty"));
  const Node fixed = node_of(strict);
  EXPECT_EQ(cpus_in(resized(fixed, with_pods(fixed), to("7")).next), "1-7");
}

// An init container keeps its assignment after it has ended, and the app container reuses its CPUs.
TEST(ResizeDecision, LeavesCpusOfInitContainersOutOfTheSharedPool) {
  const Node node = node_of(kResizable);
  PodSpec pod = pod_of("a", {{"4", "1Gi"}, {"2", "1Gi"}});
  pod.containers[0].kind = ContainerKind::kInit;
  Decision decision = decide(node, empty_state(node), pod);
  const NodeState before = std::move(std::get<Admitted>(decision).next);
  const NodeState grown = resized(node, before, to("3", "c2")).next;
  const NodeState after = resized(node, grown, to("2", "c2")).next;
  EXPECT_FALSE(after.cpu.default_set.intersects(*after.cpu.assignments.find({PodUid("a"), "c1"})));
  CpuState cpu = after.cpu;
  EXPECT_TRUE(node.cpu().start(cpu));
}

/// A kubelet compares amounts before it checks whether it supports the resize.
TEST(ResizeDecision, ChangesNothingForTheSameNumber) {
  for (const char* const profile : {"fixed", "kubelet-1.36", "kubelet-1.37", "kubelet-1.38"}) {
    const Node node = node_of(kResizable + std::string("pinfold: {profile: ") + profile + "}\n");
    const NodeState before = with_pods(node);
    const Resized same = resized(node, before, to("2"));
    EXPECT_EQ(same.before, same.after);
    EXPECT_EQ(same.next, before);
  }
}

TEST(ResizeDecision, ReleasesEverythingWithThePod) {
  const Node node = node_of(kResizable);
  NodeState state = resized(node, with_pods(node), to("4")).next;
  state = remove_pod(node, std::move(state), PodUid("a"));
  EXPECT_EQ(state.cpu.default_set.to_string(), "0-7");
  EXPECT_TRUE(state.cpu.baselines.empty());
}

TEST(ResizeDecision, SaysWhy) {
  const Node node = node_of(kResizable);
  Trace trace;
  ASSERT_TRUE(resize(node, with_pods(node), to("4"), &trace));
  ASSERT_FALSE(trace.facts.empty());
  EXPECT_EQ(trace.facts.back().text, "keeps its CPUs 2-3 and takes 4-5: whole cores (CPUs 4-5)");
}

TEST(Baselines, AreStoredAtAdmissionWithTheGate) {
  const Node node = node_of(kResizable + std::string("pinfold: {profile: kubelet-1.38}\n"
                                                     "featureGates: "
                                                     "{InPlacePodVerticalScalingExclusiveCPUs: "
                                                     "true}\n"));
  const NodeState state = with_pods(node);
  ASSERT_TRUE(state.cpu.baselines.contains(to("2").container));
  EXPECT_EQ(state.cpu.baselines.find(to("2").container)->to_string(), "2-3");
}

}  // namespace
}  // namespace pinfold
