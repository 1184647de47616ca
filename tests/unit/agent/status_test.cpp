#include "pinfold/agent/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent_world.hpp"

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
  ASSERT_FALSE(agent.adopt(PodUid("x"), {"a", "/model/run-a"}).value().not_enforced);
  const PodStatus status = pod_status(agent, PodUid("x")).value();
  EXPECT_EQ(status.cgroup_path, "/model/podx");
  EXPECT_EQ(status.containers.at(0).cgroup, "podx/a");
  EXPECT_EQ(status.containers.at(0).cgroup_path, "/model/run-a");
  EXPECT_EQ(status.containers.at(1).cgroup_path, "/model/podx/b");
  EXPECT_EQ(world.cpus("run-a"), "1");
  EXPECT_TRUE(is_ok(status));
}

TEST(PodStatus, ReportsARemovedAdoptedGroup) {
  WorldWithGroup world;
  NodeAgent agent = world.open();
  must_admit(agent, pod("x", {guaranteed("a", 1)}));
  ASSERT_FALSE(agent.adopt(PodUid("x"), {"a", "/model/run-a"}).value().not_enforced);
  ASSERT_TRUE(world.kernel.fs()->remove_group("run-a").has_value());
  const PodStatus status = pod_status(agent, PodUid("x")).value();
  EXPECT_THAT(status.containers.at(0).problem, HasSubstr("/model/run-a"));
  must_admit(agent, pod("y", {guaranteed("a", 1)}));
  EXPECT_EQ(world.cpus("podx/a"), "gone") << "no group is made in its place";
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
  EXPECT_FALSE(looked_at.enforced()->is_dirty());
}

/// A start registers adopted groups and writes to none.
TEST(NodeAgent, WritesNothingToTheKernelWhenItStarts) {
  WorldWithGroup world;
  {
    NodeAgent agent = world.open();
    must_admit(agent, pod("x", {guaranteed("a", 1)}));
    ASSERT_FALSE(agent.adopt(PodUid("x"), {"a", "/model/run-a"}).value().not_enforced);
  }
  ASSERT_TRUE(world.kernel.fs()->make_group("podx/a").has_value());
  const auto log = world.kernel.log;
  NodeAgent agent = world.open();
  EXPECT_TRUE(node_status(agent).has_value());
  EXPECT_EQ(world.kernel.log, log);
}

}  // namespace
}  // namespace pinfold::agent
