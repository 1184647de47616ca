// Makes room for a pod that a node agent rejects: containers move until it is admitted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "agent_world.hpp"
#include "pinfold/agent/earlier_node.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/agent/measured_steps.hpp"
#include "pinfold/agent/node_file.hpp"
#include "pinfold/agent/reconfiguration.hpp"

namespace pinfold::agent {
namespace {

using std::chrono::nanoseconds;
using test::guaranteed;
using test::must_admit;
using testing::ElementsAre;
using testing::HasSubstr;

/// Returns a clock that advances by one nanosecond per reading.
std::function<std::chrono::steady_clock::time_point()> ticking() {
  return
      [ticks = 0]() mutable { return std::chrono::steady_clock::time_point(nanoseconds(++ticks)); };
}

/// Pods can have CPUs 1-3 (NUMA node 0) and 4-7 (NUMA node 1), each pod on one NUMA node. 'x' has
/// CPU 1 and 'y' has 4-5, so 2-3 and 6-7 are free.
class Defragment : public testing::Test {
 protected:
  Defragment() {
    agent_.emplace(open());
    must_admit(*agent_, pod("x", 1));
    must_admit(*agent_, pod("z", 2));
    must_admit(*agent_, pod("y", 2));
    EXPECT_TRUE(agent_->remove_pod(PodUid("z"), RunningProcesses::kRefuse));
    EXPECT_EQ(world_.cpus("podx/a"), "1");
    EXPECT_EQ(world_.cpus("pody/a"), "4-5");
  }
  NodeAgent open(CpuSet offline = {}) {
    Config config;
    config.topology_manager_policy = "single-numa-node";
    AgentOptions options;
    options.now = ticking();
    return world_.try_open(config, options, std::move(offline)).value();
  }
  static PodSpec pod(const std::string& uid, int cpus) {
    return test::pod(uid, {guaranteed("a", cpus)});
  }

  test::World world_;
  std::optional<NodeAgent> agent_;
};

TEST_F(Defragment, MovesAContainerAndThenTheNodeAdmitsThePod) {
  const auto planned = plan_defragmentation(*agent_, pod("new", 3), {});
  ASSERT_TRUE(planned) << planned.error().message;
  ASSERT_TRUE(planned->room);
  EXPECT_TRUE(planned->room->is_possible);
  EXPECT_EQ(to_string(planned->room->pod), "default/new");
  EXPECT_EQ(planned->room->rejection->reason, "TopologyAffinityError");
  EXPECT_TRUE(planned->differences.empty());
  EXPECT_EQ(planned->plan.cost, (PlanCost{0, 0, 1, 1, 0}));
  ASSERT_EQ(planned->plan.containers.size(), 2U);
  EXPECT_EQ(planned->plan.containers[0].change, Change::kMoved);
  EXPECT_EQ(planned->plan.containers[0].cpus_after, CpuSet{6});
  EXPECT_EQ(planned->plan.containers[1].change, Change::kKept);
  EXPECT_THAT(planned->parked, ElementsAre(ContainerId{PodUid("x"), "a"}));
  ASSERT_NE(planned->steps.find({PodUid("x"), "a"}), nullptr);
  EXPECT_EQ(planned->steps.find({PodUid("x"), "a"})->back(), "cpuset.cpus := 6");
  EXPECT_EQ(planned->steps.find({PodUid("y"), "a"}), nullptr);

  ASSERT_TRUE(agent_->attach({PodUid("x"), "a"}, 77));
  const auto done =
      agent_->reconfigure(std::nullopt, planned->plan.next, RunningProcesses::kRefuse);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->not_enforced);
  EXPECT_EQ(world_.cpus("podx/a"), "6");
  EXPECT_EQ(world_.cpus("pody/a"), "4-5");
  EXPECT_EQ(world_.kernel.find("podx/a")->processes, std::set<int>{77});
  must_admit(*agent_, pod("new", 3));
  EXPECT_EQ(world_.cpus("podnew/a"), "1-3");
}

TEST_F(Defragment, IsUndoneUntilAPodIsAdmitted) {
  const auto before = agent_->state().node.cpu.checkpoint();
  const auto planned = plan_defragmentation(*agent_, pod("new", 3), {});
  ASSERT_TRUE(agent_->reconfigure(std::nullopt, planned->plan.next, RunningProcesses::kRefuse));
  ASSERT_TRUE(agent_->before());
  EXPECT_EQ(agent_->before()->config, agent_->node().config());
  const Node same = make_node(agent_->before()->machine, agent_->before()->config).value();
  const auto undo = plan_undo(*agent_, same);
  ASSERT_TRUE(undo) << undo.error().message;
  EXPECT_TRUE(undo->is_undo);
  EXPECT_EQ(undo->plan.cost, (PlanCost{0, 0, 1, 1, 0}));
  EXPECT_EQ(undo->plan.next.cpu.checkpoint(), before);
  must_admit(*agent_, pod("new", 3));
  const auto late = plan_undo(*agent_, same);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("pod 'default/new' was admitted after"));
}

/// The clock is read twice for a parked container: when parking begins and when it ends.
TEST_F(Defragment, MeasuresHowLongAContainerWasParked) {
  const auto planned = plan_defragmentation(*agent_, pod("new", 3), {});
  const auto done =
      agent_->reconfigure(std::nullopt, planned->plan.next, RunningProcesses::kRefuse);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(done->measured.size(), 1U);
  const MeasuredContainer& x = done->measured.front();
  EXPECT_EQ(x.id, (ContainerId{PodUid("x"), "a"}));
  EXPECT_EQ(x.parked, nanoseconds(1));
  EXPECT_EQ(x.moving_pages, std::nullopt) << "it had and has all NUMA nodes";
}

TEST_F(Defragment, MovesNothingForAPodThatFits) {
  const auto planned = plan_defragmentation(*agent_, pod("new", 2), {});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(planned->room->is_possible);
  EXPECT_FALSE(planned->room->rejection);
  EXPECT_EQ(planned->plan.next, agent_->state().node);
  EXPECT_EQ(planned->plan.cost, PlanCost{});
}

TEST_F(Defragment, SaysWhatNoMoveChanges) {
  const auto too_wide = plan_defragmentation(*agent_, pod("new", 5), {});
  ASSERT_TRUE(too_wide) << too_wide.error().message;
  EXPECT_FALSE(too_wide->room->is_possible);
  EXPECT_TRUE(too_wide->plan.optimal);
  EXPECT_EQ(too_wide->room->limit->reason, "TopologyAffinityError");

  // Requests of shared containers count as well, although the managers assign them no CPUs.
  Container shared = guaranteed("a", 3);
  shared.resources.limits.clear();
  must_admit(*agent_, test::pod("shared", {shared}));
  const auto too_many = plan_defragmentation(*agent_, pod("new", 3), {});
  ASSERT_TRUE(too_many) << too_many.error().message;
  EXPECT_FALSE(too_many->room->is_possible);
  EXPECT_TRUE(too_many->plan.optimal);
  EXPECT_EQ(too_many->room->rejection->reason, "TopologyAffinityError");
  EXPECT_EQ(too_many->room->limit->reason, "OutOfcpu");
  EXPECT_EQ(too_many->plan.next, agent_->state().node);
}

TEST_F(Defragment, WaitsForOfflineCpus) {
  agent_.reset();  // the state directory can be open only once
  agent_.emplace(open(CpuSet{7}));
  const auto planned = plan_defragmentation(*agent_, pod("new", 3), {});
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(planned.error().message, HasSubstr("CPU 7 of this node is offline"));
}

TEST_F(Defragment, OfflineCpusStayOfflineOnTheSameMachine) {
  agent_.reset();  // the state directory can be open only once
  agent_.emplace(open(CpuSet{7}));
  const Node& node = agent_->node();
  ASSERT_TRUE(agent_->reconfigure(make_node(node.machine(), node.config()).value(),
                                  agent_->state().node, RunningProcesses::kRefuse));
  EXPECT_EQ(agent_->offline(), CpuSet{7});
}

/// The steps of a plan, without a kernel.
class MeteredSteps : public testing::Test {
 protected:
  MeteredSteps() {
    enforce::GroupSettings settings;
    settings.cpus = CpuSet{6, 7};
    desired_.layout[name_] = settings;
  }
  void apply(enforce::Step::Kind kind, const CpuSet& set) {
    const enforce::Step step{kind, name_, set, "", ""};
    meter_.watch(step, StepMoment::kBefore);
    if (kind == enforce::Step::Kind::kMems) pages_ = {{0, 10}, {1, 95}};
    meter_.watch(step, StepMoment::kAfter);
  }

  const ContainerId id_{PodUid("x"), "a"};
  const enforce::GroupName name_{id_};
  Desired desired_;
  enforce::PagesByNode pages_{{0, 100}, {1, 5}};
  StepMeter meter_{desired_, ticking(), [this](const ContainerId& /*id*/) { return pages_; }};
};

TEST_F(MeteredSteps, CountsThePagesThatMoved) {
  apply(enforce::Step::Kind::kCpus, CpuSet{0});
  apply(enforce::Step::Kind::kMems, CpuSet{1});
  apply(enforce::Step::Kind::kCpus, CpuSet{6, 7});
  EXPECT_THAT(meter_.results(),
              ElementsAre(MeasuredContainer{id_, nanoseconds(3), nanoseconds(1), 90}));
}

TEST_F(MeteredSteps, AContainerThatKeepsSomeOfItsCpusIsNotParked) {
  apply(enforce::Step::Kind::kCpus, CpuSet{6});
  apply(enforce::Step::Kind::kCpus, CpuSet{6, 7});
  EXPECT_TRUE(meter_.results().empty());
}

TEST_F(MeteredSteps, AContainerThatIsStillParkedHasNoTime) {
  apply(enforce::Step::Kind::kCpus, CpuSet{0});
  EXPECT_TRUE(meter_.results().empty());
}

}  // namespace
}  // namespace pinfold::agent
