// A node that changes to another configuration or machine while containers run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent_world.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::agent {
namespace {

using test::guaranteed;
using test::must_admit;
using test::node_reserving;
using test::pod;
using test::reserving;
using test::with_cpus;
using testing::HasSubstr;

Result<NodeAgent> open_reserving(test::World& world, const std::string& cpus) {
  AgentOptions options;
  options.state_dir = world.state.path();
  return NodeAgent::open(node_reserving(cpus), checkpoint::Store::open(world.state.path()).value(),
                         world.kernel.cgroups(), std::move(options));
}

class Reconfigure : public testing::Test {
 protected:
  Reconfigure() {
    NodeAgent agent = world_.open();
    must_admit(agent, pod("x", {guaranteed("a", 2)}));
    must_admit(agent, pod("y", {guaranteed("a", 2)}));
    before_ = agent.state().node.cpu.checkpoint();
    EXPECT_EQ(world_.cpus("podx/a"), "1-2");
    EXPECT_EQ(world_.cpus("pody/a"), "3-4");
  }

  test::World world_;
  CpuCheckpoint before_;
};

TEST_F(Reconfigure, MovesAndKeepsAndStartsAsTheNewConfiguration) {
  {
    NodeAgent agent = world_.open();
    const NodeState next =
        with_cpus(agent.state().node, {{"x", CpuSet{6, 7}}, {"y", CpuSet{3, 4}}});
    const auto done = agent.reconfigure(node_reserving("0-1"), next, RunningProcesses::kRefuse);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_FALSE(done->not_enforced);
    EXPECT_EQ(world_.cpus("podx/a"), "6-7");
    EXPECT_EQ(world_.cpus("pody/a"), "3-4");
    ASSERT_TRUE(agent.before());
    EXPECT_EQ(agent.before()->config.reserved_system_cpus, "0");
  }
  const auto with_the_old = world_.try_open();
  ASSERT_TRUE(with_the_old) << "CPU 0 is reserved there too: " << with_the_old.error().message;
  EXPECT_FALSE(with_the_old->before()) << "it has another configuration since";
}

TEST_F(Reconfigure, TheNextStartHasTheNewStateAndTheNodeBefore) {
  {
    NodeAgent agent = world_.open();
    ASSERT_TRUE(
        agent.reconfigure(node_reserving("0-1"),
                          with_cpus(agent.state().node, {{"x", CpuSet{6, 7}}, {"y", CpuSet{3, 4}}}),
                          RunningProcesses::kRefuse));
  }
  const auto agent = open_reserving(world_, "0-1");
  ASSERT_TRUE(agent) << agent.error().message;
  EXPECT_EQ(*agent->state().node.cpu.assignments.find({PodUid("x"), "a"}), (CpuSet{6, 7}));
  ASSERT_TRUE(agent->before());
  EXPECT_EQ(agent->before()->pods, (std::set{PodUid("x"), PodUid("y")}));
  checkpoint::KubeletFiles files = agent->before()->files;
  const auto earlier = checkpoint::start(test::static_node(), files, {});
  ASSERT_TRUE(earlier);
  EXPECT_EQ(earlier->cpu.checkpoint(), before_);
}

/// Two containers swap their CPUs.
TEST_F(Reconfigure, NeverGivesACpuToTwo) {
  NodeAgent agent = world_.open();
  const CpuSet own[] = {CpuSet{1, 2}, CpuSet{3, 4}};
  int writes = 0;
  world_.kernel.distort = [&](const std::string& /*file*/, const std::string& value) {
    ++writes;
    const CpuSet x = CpuSet::parse(world_.cpus("podx/a")).value();
    const CpuSet y = CpuSet::parse(world_.cpus("pody/a")).value();
    for (const CpuSet& cpus : own) {
      EXPECT_FALSE(x == cpus && y.intersects(cpus)) << writes;
      EXPECT_FALSE(y == cpus && x.intersects(cpus)) << writes;
    }
    return value;
  };
  ASSERT_TRUE(agent.reconfigure(node_reserving("0"),
                                with_cpus(agent.state().node, {{"x", own[1]}, {"y", own[0]}}),
                                RunningProcesses::kRefuse));
  EXPECT_EQ(world_.cpus("podx/a"), "3-4");
  EXPECT_EQ(world_.cpus("pody/a"), "1-2");
  EXPECT_GE(writes, 4);
}

TEST_F(Reconfigure, RefusesAStateThatAKubeletWouldNotStartFrom) {
  NodeAgent agent = world_.open();
  const auto done =
      agent.reconfigure(node_reserving("0-1"), agent.state().node, RunningProcesses::kRefuse);
  ASSERT_FALSE(done) << "CPU 1 is reserved and not in the shared pool";
  EXPECT_THAT(done.error().message, HasSubstr("not all reserved cpus"));
  EXPECT_EQ(agent.state().node.cpu.checkpoint(), before_);
  EXPECT_EQ(agent.node().config().reserved_system_cpus, "0");
  EXPECT_EQ(world_.open().state().node.cpu.checkpoint(), before_);
}

TEST_F(Reconfigure, PodsThatLeaveMustHaveNoProcesses) {
  NodeAgent agent = world_.open();
  ASSERT_TRUE(agent.attach({PodUid("x"), "a"}, 77));
  const NodeState next = remove_pod(agent.node(), agent.state().node, PodUid("x"));
  const auto refused = agent.reconfigure(node_reserving("0-1"), next, RunningProcesses::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
  EXPECT_EQ(world_.cpus("podx/a"), "1-2");
  world_.kernel.find("podx/a")->processes.clear();
  ASSERT_TRUE(agent.reconfigure(node_reserving("0-1"), next, RunningProcesses::kRefuse));
  EXPECT_EQ(world_.cpus("podx/a"), "gone");
  EXPECT_EQ(agent.state().node.find(PodUid("x")), nullptr);
}

TEST_F(Reconfigure, ADryRunStoresNothing) {
  AgentOptions options;
  options.dry_run = true;
  NodeAgent agent =
      NodeAgent::open(test::static_node(), checkpoint::Store::open(world_.state.path()).value(),
                      std::nullopt, std::move(options))
          .value();
  ASSERT_TRUE(
      agent.reconfigure(node_reserving("0-1"),
                        with_cpus(agent.state().node, {{"x", CpuSet{6, 7}}, {"y", CpuSet{3, 4}}}),
                        RunningProcesses::kRefuse));
  EXPECT_EQ(world_.open().state().node.cpu.checkpoint(), before_);
}

TEST(NodeFile, RoundTrips) {
  const Config config = reserving("0-1");
  ContainerMap<CpuSet> baselines;
  baselines[ContainerId{PodUid("x"), "c"}] = CpuSet::range(2, 3);
  const auto before = std::make_shared<const EarlierNode>(EarlierNode{
      test::two_sockets(), reserving("0"), {"cpu", std::nullopt}, {PodUid("x")}, baselines});
  const auto node = decode_node(encode_node(test::two_sockets(), config, before));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->machine, test::two_sockets());
  EXPECT_EQ(node->config, config);
  ASSERT_TRUE(node->before);
  EXPECT_EQ(node->before->config, reserving("0"));
  EXPECT_EQ(node->before->files, (checkpoint::KubeletFiles{"cpu", std::nullopt}));
  EXPECT_EQ(node->before->pods, std::set{PodUid("x")});
  EXPECT_EQ(node->before->baselines, baselines);
  EXPECT_FALSE(decode_node(encode_node(test::two_sockets(), config, nullptr))->before);
}

TEST(NodeFile, NamesWhatIsWrong) {
  for (const char* const text : {"", "{}", "[]", "{\"config\": {}}",
                                 "{\"config\": {}, \"machine\": 1}", "{\"machine\": {}}"}) {
    const auto node = decode_node(text);
    ASSERT_FALSE(node) << text;
    EXPECT_EQ(node.error().code, ErrorCode::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace pinfold::agent
