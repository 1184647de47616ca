// The end of assignments, which the kubelet releases late and the profile `fixed` immediately.

#include <gtest/gtest.h>

#include "node_fixture.hpp"

namespace pinfold::test {
namespace {

constexpr const char* kGpu = "example.com/gpu";

Config config_of(Profile profile, const std::string& policy = "none") {
  Config config = with_memory_manager(aligning_config(policy));
  config.profile = profile;
  return config;
}

struct Kubelet {
  Node node;
  NodeState state;

  Kubelet(const NodeShape& shape, const Config& config)
      : node(Node::make(machine_of(shape), config).value()) {
    EXPECT_TRUE(node.cpu().start(state.cpu));
    EXPECT_TRUE(node.memory().start(state.memory));
  }
  bool admit(const PodSpec& spec) {
    Decision decision = decide(node, state, spec);
    const bool admitted = std::holds_alternative<Admitted>(decision);
    state = admitted ? std::get<Admitted>(std::move(decision)).next
                     : std::get<Rejected>(std::move(decision)).next;
    return admitted;
  }
};

TEST(DecideQuirks, DevicesReturnWithPod) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Kubelet kubelet({.devices = {{kGpu, {1}}}}, config_of(profile));
    ASSERT_TRUE(kubelet.admit(pod("a", {{kGpu, "1"}})));
    kubelet.state = remove_container(kubelet.node, kubelet.state, {PodUid("a"), "c"});
    EXPECT_EQ(kubelet.admit(pod("b", {{kGpu, "1"}})), profile == Profile::kFixed);
    kubelet.state = remove_pod(kubelet.node, kubelet.state, PodUid("a"));
    kubelet.state = remove_pod(kubelet.node, kubelet.state, PodUid("b"));
    EXPECT_TRUE(kubelet.admit(pod("c", {{kGpu, "1"}})));
  }
}

TEST(DecideQuirks, RemovedPodKeepsDevices) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Kubelet kubelet({.devices = {{kGpu, {1, 1}}}}, config_of(profile));
    ASSERT_TRUE(kubelet.admit(pod("a", {{kGpu, "2"}})));
    kubelet.state = remove_pod(kubelet.node, kubelet.state, PodUid("a"));
    const NodeState removed = kubelet.state;
    EXPECT_TRUE(kubelet.admit(pod("b", {{kGpu, "2"}}))) << "whose admission releases them";
    kubelet.state = removed;
    EXPECT_EQ(kubelet.admit(pod("a", {{kGpu, "1"}})), profile == Profile::kFixed)
        << "a static pod that has changed";
  }
}

TEST(DecideQuirks, StaleStateKeptUntilPodsAreKnown) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Kubelet kubelet({}, config_of(profile));
    ASSERT_TRUE(kubelet.admit(pod("gone", {{"cpu", "2"}, {"memory", "1Gi"}})));
    kubelet.state.pods = {};
    kubelet.state.pods_are_unknown = true;  // the kubelet starts
    const bool keeps = profile == Profile::kKubelet136;
    ASSERT_TRUE(kubelet.admit(pod("runs", {{"cpu", "1"}, {"memory", "1Gi"}})));
    EXPECT_EQ(kubelet.state.cpu.assignments.contains(PodUid("gone")), keeps);
    EXPECT_EQ(kubelet.state.memory.assignments.contains(PodUid("gone")), keeps);
    kubelet.state.pods_are_unknown = false;
    ASSERT_TRUE(kubelet.admit(pod("new", {{"cpu", "1"}, {"memory", "1Gi"}})));
    EXPECT_FALSE(kubelet.state.cpu.assignments.contains(PodUid("gone")));
  }
}

TEST(DecideQuirks, RemovedPodKeepsUnstartedContainers) {
  for (const Profile profile : {Profile::kFixed, Profile::kKubelet136}) {
    Kubelet kubelet({}, config_of(profile));
    ASSERT_TRUE(kubelet.admit(pod("a", {{"cpu", "2"}, {"memory", "1Gi"}})));
    kubelet.state = remove_pod(kubelet.node, kubelet.state, PodUid("a"));
    EXPECT_EQ(kubelet.state.cpu.assignments.empty(), profile == Profile::kFixed);
    ASSERT_TRUE(kubelet.admit(pod("b", {{"cpu", "2"}, {"memory", "1Gi"}})));
    EXPECT_EQ(kubelet.state.cpu.assignments.by_pod().size(), 1U);
  }
}

TEST(DecideQuirks, PolicyNoneReleasesStaleLate) {
  Kubelet kubelet({}, config_of(Profile::kKubelet136));
  // There is no memory for the second container, so the first one keeps CPUs and memory although
  // its pod is rejected.
  ASSERT_FALSE(kubelet.admit(pod_of("a", {container("c1", {{"cpu", "1"}, {"memory", "1Gi"}}),
                                          container("c2", {{"cpu", "1"}, {"memory", "99Gi"}})})));
  // The CPU manager cleans up and rejects, so the memory manager is not called.
  ASSERT_FALSE(kubelet.admit(pod("b", {{"cpu", "99"}, {"memory", "1Gi"}})));
  EXPECT_FALSE(kubelet.state.cpu.assignments.contains(PodUid("a")));
  EXPECT_TRUE(kubelet.state.memory.assignments.contains(PodUid("a")));
  ASSERT_TRUE(kubelet.admit(pod("c", {{"cpu", "1"}, {"memory", "1Gi"}})));
  EXPECT_FALSE(kubelet.state.memory.assignments.contains(PodUid("a")));
}

TEST(Lifetime, AFailedStartKeepsTheDevicesItTook) {
  Config config = config_of(Profile::kKubelet136, "best-effort");
  config.topology_manager_scope = "pod";
  config.feature_gates["PodLevelResourceManagers"] = true;
  Kubelet kubelet({.devices = {{kGpu, {2}}, {"example.com/nic", {1}}}}, config);
  PodSpec spec = pod("a", {{"cpu", "1"}, {"memory", "1Gi"}, {kGpu, "2"}, {"example.com/nic", "2"}});
  spec.resources = container("", {{"cpu", "1"}, {"memory", "1Gi"}}).resources;
  ASSERT_TRUE(kubelet.admit(spec));
  const auto started = start_in_place(kubelet.node, kubelet.state, {PodUid("a"), "c"});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message,
            "container c: requested number of devices unavailable for example.com/nic. Requested: "
            "2, Available: 1");
  EXPECT_EQ(kubelet.state.devices.assignments.find({PodUid("a"), "c"})->at(kGpu).size(), 2U);
}

}  // namespace
}  // namespace pinfold::test
