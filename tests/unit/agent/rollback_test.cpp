// Upgrade to pod-level resource managers (KEP-5526), downgrade, and upgrade again with running
// pods.

#include <gtest/gtest.h>

#include "model_kernel.hpp"
#include "node_fixture.hpp"
#include "pinfold/agent/node_agent.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/checkpoint/convert.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "temp_dir.hpp"

namespace pinfold::agent {
namespace {

/// One NUMA node of 16 CPUs and 16 GiB; CPU 0 and 1 GiB are reserved.
Node node_with_gate(bool on, Profile profile = Profile::kFixed) {
  Config config = test::with_memory_manager(test::aligning_config("best-effort", "pod"));
  config.feature_gates["PodLevelResourceManagers"] = on;
  config.profile = profile;
  return std::move(*Node::make(test::machine_of({.numa = 1, .cpus = 16}), config));
}

class Rollback : public testing::Test {
 protected:
  Result<NodeAgent> try_start(bool gate) {
    AgentOptions options;
    options.state_dir = state_.path();
    return NodeAgent::open(node_with_gate(gate), checkpoint::Store::open(state_.path()).value(),
                           kernel_.cgroups(), std::move(options));
  }
  /// Restarts the agent, which reconciles the kernel.
  NodeAgent start(bool gate) {
    NodeAgent agent = try_start(gate).value();
    EXPECT_TRUE(reconcile(agent)->remaining.empty());
    return agent;
  }
  void convert(const checkpoint::Formats& to) {
    auto store = checkpoint::Store::open(state_.path()).value();
    const auto files = store.load().value();
    const auto done = checkpoint::convert({files.cpu, files.memory}, to, {});
    ASSERT_TRUE(done) << done.error().message;
    const Node kubelet = node_with_gate(to.cpu == 3);
    const auto starts = checkpoint::would_start_as({36, to.cpu == 3}, kubelet, done->files, {});
    ASSERT_TRUE(starts) << starts.error().error;
    ASSERT_TRUE(store.commit({done->files.cpu, done->files.memory, {}}));
  }
  [[nodiscard]] std::string cpus(const std::string& group) {
    ModelKernel::Dir* const dir = kernel_.find(group);
    return dir == nullptr ? "gone" : kernel_.effective(*dir, "cpuset.cpus").to_string();
  }
  void expect_unchanged(const char* when) {
    EXPECT_EQ(cpus("podold/c"), "1-2") << when;
    EXPECT_EQ(cpus("podteam/alone"), "3-4") << when;
    EXPECT_EQ(cpus("podteam/web"), "5-6") << when;
    EXPECT_EQ(cpus("podteam/log"), "5-6") << when;
  }

  using ModelKernel = test::ModelKernel;
  test::TempDir state_;
  ModelKernel kernel_{enforce::CgroupVersion::kV2, CpuSet::range(0, 15), CpuSet{0}};
};

void must_admit(NodeAgent& agent, const PodSpec& pod) {
  const auto outcome = agent.admit(pod);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_FALSE(outcome->rejection) << outcome->rejection->message;
}

PodSpec team() {
  PodSpec pod = test::pod_of("team", {test::container("alone", {{"cpu", "2"}, {"memory", "1Gi"}}),
                                      test::container("web", {}), test::container("log", {})});
  pod.resources = test::container("", {{"cpu", "4"}, {"memory", "4Gi"}}).resources;
  return pod;
}

TEST_F(Rollback, UpDownAndUpAgainMovesNoRunningContainer) {
  {
    NodeAgent agent = start(false);
    must_admit(agent, test::pod("old", {{"cpu", "2"}, {"memory", "1Gi"}}));
  }
  {
    NodeAgent agent = start(true);  // reads the state of the older version
    must_admit(agent, team());
    expect_unchanged("after the upgrade");
  }
  const auto refused = try_start(false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("could not restore state from checkpoint"),
            std::string::npos);
  EXPECT_EQ(refused.error().message.find("drain"), std::string::npos);
  convert({2, 1});
  {
    NodeAgent agent = start(false);
    expect_unchanged("after the downgrade");
    must_admit(agent, test::pod("while-down", {{"cpu", "3"}, {"memory", "1Gi"}}));
    EXPECT_EQ(cpus("podwhile-down/c"), "7-9");
    expect_unchanged("with another pod");
  }
  NodeAgent agent = start(true);
  expect_unchanged("after the second upgrade");
  ASSERT_TRUE(agent.remove_pod(PodUid("team"), RunningProcesses::kRefuse));
  EXPECT_EQ(agent.state().node.cpu.default_set.to_string(), "0,3-6,10-15");
  EXPECT_EQ(cpus("podold/c"), "1-2");
}

/// A kubelet admits its running pods again when it starts: kubernetes#140989.
TEST_F(Rollback, ConversionAddsNothingToTheSecondSetThatAKubeletGivesAfterARestart) {
  {
    NodeAgent agent = start(true);
    must_admit(agent, team());
  }
  const Node kubelet = node_with_gate(true, Profile::kKubelet136);
  const auto admitted_again = [&] {
    const NodeState running = try_start(true)->state().node;
    EXPECT_EQ(*running.cpu.assignments.find({PodUid("team"), "alone"}), CpuSet::range(1, 2));
    const Decision decision = decide(kubelet, running, team());
    EXPECT_TRUE(std::holds_alternative<Admitted>(decision));
    return std::get<Admitted>(decision).next.cpu;
  };
  const CpuState never_converted = admitted_again();
  EXPECT_EQ(never_converted.pods.at(PodUid("team")), CpuSet::range(5, 8));  // it had 1-4
  convert({2, 1});
  EXPECT_EQ(admitted_again(), never_converted);
}

}  // namespace
}  // namespace pinfold::agent
