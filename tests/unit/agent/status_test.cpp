#include "pinfold/agent/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent_world.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/fields.hpp"
#include "pinfold/fields/json.hpp"

namespace pinfold::agent {
namespace {

using test::guaranteed;
using test::must_admit;
using test::pod;
using test::World;
using testing::HasSubstr;
using testing::IsEmpty;

/// A world with the group run-a, which containers adopt.
struct WorldWithGroup : World {
  WorldWithGroup() {
    (void)kernel.cgroups();  // enables the controllers
    EXPECT_TRUE(kernel.fs()->make_group("run-a").has_value());
  }
};

TEST(PodStatus, NamesTheDirectoryOfAnAdoptedGroup) {
  WorldWithGroup world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 1), guaranteed("b", 1)}));
  ASSERT_FALSE(adopt(agent, {{PodUid("x"), "a"}, "/model/run-a"}).value().not_enforced);
  const PodStatus status = pod_status(agent, PodUid("x")).value();
  EXPECT_EQ(status.cgroup_path, "/model/podx");
  EXPECT_EQ(status.containers.at(0).cgroup, "podx/a");
  EXPECT_EQ(status.containers.at(0).cgroup_path, "/model/run-a");
  EXPECT_EQ(status.containers.at(1).cgroup_path, "/model/podx/b");
  EXPECT_EQ(world.cpus("run-a"), "1");
  EXPECT_TRUE(is_ok(status));
}

/// A runtime shows pod 'x' without its limits, and another program sets a quota for 'y'.
TEST(PodStatus, SaysWhyAPodIsSharedAndWhatThrottlesIt) {
  WorldWithGroup world;
  NodeAgent agent = world.open();
  FromRuntime shown;
  shown.notes[PodUid("x")] = {QosClass::kGuaranteed, "the runtime does not show it"};
  const PodSpec without_limits = pod("x", {test::best_effort("a")});
  const PodSpec exclusive = pod("y", {guaranteed("a", 1), test::half_a_cpu("b")});
  ASSERT_TRUE(agent.admit({without_limits, exclusive}, nullptr, shown).has_value());
  ASSERT_FALSE(adopt(agent, {{PodUid("y"), "a"}, "/model/run-a"}).value().not_enforced);
  world.kernel.find("run-a")->files["cpu.max"] = "100000 100000";
  const PodStatus x = pod_status(agent, PodUid("x")).value();
  EXPECT_EQ(x.qos, QosClass::kGuaranteed);
  EXPECT_EQ(x.containers.at(0).why_shared, "the runtime does not show it");
  const PodStatus y = pod_status(agent, PodUid("y")).value();
  EXPECT_EQ(y.containers.at(0).why_shared, "");
  EXPECT_EQ(y.containers.at(1).why_shared, "its limit of 500m is not a whole number of CPUs");
  EXPECT_THAT(throttles(y),
              testing::ElementsAre(HasSubstr("the CFS quota of its group is 100000 of 100000 us")));
  const auto json = to_json(y).at("containers").at(0);
  EXPECT_EQ(json.at("cpuQuota"), -1) << "what is desired";
  EXPECT_EQ(json.at("cpuQuotaEffective").at("cpuQuota"), 100'000);
  EXPECT_EQ(json.at("whyShared"), "");
  EXPECT_EQ(to_json(x).at("qosClass"), "Guaranteed");
  ASSERT_TRUE(agent.remove_pod(PodUid("x"), RunningProcesses::kRefuse).has_value());
  EXPECT_THAT(agent.state().notes, IsEmpty());
}

TEST(PodStatus, ReportsARemovedAdoptedGroup) {
  WorldWithGroup world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 1)}));
  ASSERT_FALSE(adopt(agent, {{PodUid("x"), "a"}, "/model/run-a"}).value().not_enforced);
  ASSERT_TRUE(world.kernel.fs()->remove_group("run-a").has_value());
  const PodStatus status = pod_status(agent, PodUid("x")).value();
  EXPECT_THAT(status.containers.at(0).problem, HasSubstr("/model/run-a"));
  must_admit(agent, pod("y", {guaranteed("a", 1)}));
  EXPECT_EQ(world.cpus("podx/a"), "gone") << "no group is made in its place";
}

TEST(NodeStatus, IsReadBackAsItWasWritten) {
  WorldWithGroup world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 1), test::half_a_cpu("b")}));
  ASSERT_FALSE(adopt(agent, {{PodUid("x"), "a"}, "/model/run-a"}).value().not_enforced);
  ASSERT_TRUE(world.kernel.fs()->write("podx/b", "cpuset.cpus", "1").has_value());
  const auto written = to_json(node_status(agent).value());
  const auto read = fields::read<NodeStatus>(written);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(fields::to_json(*read), written);
}

TEST(NodeStatus, ChangesNothing) {
  World world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 2)}));
  ASSERT_TRUE(world.kernel.fs()->write("podx/a", "cpuset.cpus", "1").has_value());
  const auto log = world.kernel.log;
  const NodeAgent& looked_at = agent;
  EXPECT_FALSE(node_status(looked_at).value().ok);
  EXPECT_THAT(looked_at.find_drift().value(), Not(IsEmpty()));
  EXPECT_EQ(world.kernel.log, log);
  EXPECT_FALSE(looked_at.layout()->is_dirty());
}

/// A start registers adopted groups but does not write to them.
TEST(NodeAgent, WritesNothingToTheKernelWhenItStarts) {
  WorldWithGroup world;
  {
    NodeAgent agent = world.open();
    must_admit(agent, pod("x", {guaranteed("a", 1)}));
    ASSERT_FALSE(adopt(agent, {{PodUid("x"), "a"}, "/model/run-a"}).value().not_enforced);
  }
  for (const char* const group : {"podx", "podx/a"}) {
    ASSERT_TRUE(world.kernel.fs()->make_group(group).has_value());
  }
  const auto log = world.kernel.log;
  NodeAgent agent = world.open();
  EXPECT_TRUE(node_status(agent).has_value());
  EXPECT_EQ(world.kernel.log, log);
}

}  // namespace
}  // namespace pinfold::agent
