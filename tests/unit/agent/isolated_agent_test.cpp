#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent_world.hpp"
#include "group_knobs.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/quiet/kept_knobs.hpp"

/// Containers of a runtime whose CPUs are isolated, on a kernel that takes a partition's CPUs from
/// every group above it.
namespace pinfold::agent {
namespace {

using quiet::QuietLevel;
using test::guaranteed;
using test::pod;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class IsolatedByRuntime : public testing::Test {
 protected:
  [[nodiscard]] NodeAgent open(QuietLevel level) {
    AgentOptions options;
    options.quiet = level;
    options.state_dir = world_.state.path();
    options.open_knobs = [this] { return std::make_unique<test::GroupKnobs>(world_.kernel); };
    return NodeAgent::open(test::static_node(),
                           checkpoint::Store::open(world_.state.path()).value(),
                           world_.kernel.cgroups("pinfold"), std::move(options))
        .value();
  }
  /// Makes the group of a pod's container next to the agent's root, as a runtime does.
  std::string make_group(const std::string& name) {
    const std::string group = "kubepods/pod" + name + "/c";
    world_.kernel.make_path(group);
    world_.kernel.find(group)->processes.insert(100);
    return "/model/" + group;
  }
  void admit(NodeAgent& agent, const std::string& name, int cpus) {
    const auto outcome =
        agent.admit_adopted(pod(name, {guaranteed("c", cpus)}), {"c", make_group(name)});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    ASSERT_FALSE(outcome->not_enforced) << outcome->not_enforced->message;
  }
  /// Admits a pod whose annotation demands isolation, and adopts its container.
  void admit_demanding(NodeAgent& agent, const std::string& name, int cpus) {
    FromRuntime shown;
    shown.notes[PodUid(name)].quiet = QuietLevel::kIsolated;
    ASSERT_TRUE(agent.admit({pod(name, {guaranteed("c", cpus)})}, nullptr, shown));
    ASSERT_TRUE(adopt(agent, {{PodUid(name), "c"}, make_group(name)}));
  }
  void remove(NodeAgent& agent, const std::string& name) {
    world_.kernel.find("kubepods/pod" + name + "/c")->processes.clear();
    ASSERT_TRUE(remove_adopted(agent, {PodUid(name), "c"}, RunningProcesses::kRefuse));
  }
  [[nodiscard]] std::string file(const std::string& group, const std::string& name) {
    return world_.kernel.find(group)->files.at(name);
  }
  [[nodiscard]] std::string partition(const std::string& name) {
    return file("kubepods/pod" + name + "/c", "cpuset.cpus.partition");
  }
  [[nodiscard]] std::string listed(const std::string& group) {
    return file(group, "cpuset.cpus.exclusive");
  }
  /// Checks that a reconciliation has nothing to do.
  void expect_settled(NodeAgent& agent) {
    const auto report = reconcile(agent);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_THAT(report->drift, IsEmpty());
    EXPECT_THAT(report->remaining, IsEmpty());
    EXPECT_THAT(report->unquiet, IsEmpty());
  }

  test::World world_;
};

TEST_F(IsolatedByRuntime, ArePartitionsWithTheSetting) {
  NodeAgent agent = open(QuietLevel::kIsolated);
  ASSERT_NO_FATAL_FAILURE(admit(agent, "a", 2));
  EXPECT_EQ(partition("a"), "isolated");
  EXPECT_EQ(listed("kubepods"), "1-2");
  EXPECT_EQ(world_.cpus("kubepods/poda/c"), "1-2");
  EXPECT_EQ(world_.cpus("kubepods"), "0,3-7");
  expect_settled(agent);
}

TEST_F(IsolatedByRuntime, KeepTheirCpusWhileOthersComeAndGo) {
  NodeAgent agent = open(QuietLevel::kIsolated);
  ASSERT_NO_FATAL_FAILURE(admit(agent, "a", 2));
  ASSERT_NO_FATAL_FAILURE(admit(agent, "b", 1));
  EXPECT_EQ(listed("kubepods"), "1-3");
  EXPECT_EQ(world_.cpus("kubepods/poda/c"), "1-2");
  EXPECT_EQ(world_.cpus("kubepods/podb/c"), "3");
  expect_settled(agent);
  remove(agent, "a");
  EXPECT_EQ(partition("a"), "member");
  EXPECT_EQ(listed("kubepods/poda/c"), "");
  EXPECT_EQ(listed("kubepods"), "3");
  ASSERT_NO_FATAL_FAILURE(admit(agent, "d", 2));
  EXPECT_EQ(world_.cpus("kubepods/podd/c"), "1-2");
  EXPECT_EQ(partition("d"), "isolated");
  expect_settled(agent);
}

TEST_F(IsolatedByRuntime, ArePartitionsIfTheirPodDemandsIt) {
  NodeAgent agent = open(QuietLevel::kOff);
  ASSERT_NO_FATAL_FAILURE(admit(agent, "a", 1));
  ASSERT_NO_FATAL_FAILURE(admit_demanding(agent, "b", 2));
  EXPECT_EQ(partition("a"), "member");
  EXPECT_EQ(partition("b"), "isolated");
  const auto verified = agent.verify({PodUid("b"), "c"});
  EXPECT_TRUE(verified) << verified.error().message;
  expect_settled(agent);
  remove(agent, "b");
  EXPECT_EQ(listed("kubepods"), "");
}

TEST_F(IsolatedByRuntime, AreRefusedIfTheirPodDemandsWhatTheKernelDoesNotHave) {
  world_.kernel.has_exclusive = false;  // before Linux 6.7
  NodeAgent agent = open(QuietLevel::kOff);
  ASSERT_NO_FATAL_FAILURE(admit_demanding(agent, "a", 2));
  const auto verified = agent.verify({PodUid("a"), "c"});
  ASSERT_FALSE(verified);
  EXPECT_THAT(verified.error().message,
              HasSubstr("its pod requires quiet CPUs, but CPUs 1-2: the kernel has 'isolated "
                        "invalid"));
}

TEST_F(IsolatedByRuntime, AreOnlyNamedIfNobodyDemandsIt) {
  world_.kernel.has_exclusive = false;
  NodeAgent agent = open(QuietLevel::kIsolated);
  ASSERT_NO_FATAL_FAILURE(admit(agent, "a", 2));
  EXPECT_TRUE(agent.verify({PodUid("a"), "c"}));
  const auto report = reconcile(agent);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->unquiet, SizeIs(1));
  EXPECT_EQ(partition("a"), "member");
}

TEST_F(IsolatedByRuntime, StayPartitionsWhenTheAgentStartsAgain) {
  {
    NodeAgent agent = open(QuietLevel::kIsolated);
    ASSERT_NO_FATAL_FAILURE(admit(agent, "a", 2));
  }
  NodeAgent agent = open(QuietLevel::kIsolated);
  world_.kernel.log.clear();
  expect_settled(agent);
  EXPECT_EQ(std::count_if(world_.kernel.log.begin(), world_.kernel.log.end(),
                          [](const std::string& line) {
                            return line.find("cpuset.cpus.partition") != std::string::npos;
                          }),
            0);
}

TEST_F(IsolatedByRuntime, AreGroupsAgainWithoutTheSetting) {
  {
    NodeAgent agent = open(QuietLevel::kIsolated);
    ASSERT_NO_FATAL_FAILURE(admit(agent, "a", 2));
  }
  NodeAgent agent = open(QuietLevel::kOff);
  expect_settled(agent);
  EXPECT_EQ(partition("a"), "member");
  EXPECT_EQ(listed("kubepods"), "");
  EXPECT_EQ(world_.cpus("kubepods/poda/c"), "1-2");
  EXPECT_TRUE(agent.kept_knobs().empty());
}

}  // namespace
}  // namespace pinfold::agent
