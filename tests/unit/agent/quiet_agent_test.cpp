#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent_world.hpp"
#include "fake_knobs.hpp"
#include "pinfold/agent/reconcile.hpp"
#include "pinfold/agent/status.hpp"
#include "pinfold/quiet/quiet_knobs.hpp"

/// What an agent does with interrupts, queues and services when CPUs become exclusive.
namespace pinfold::agent {
namespace {

using quiet::Knob;
using quiet::KnobKind;
using quiet::QuietLevel;
using test::guaranteed;
using test::must_admit;
using test::pod;
using testing::ElementsAre;
using testing::HasSubstr;

const Knob kIrq{KnobKind::kInterrupt, "24"};
const Knob kQueue{KnobKind::kWorkqueue, "*"};

class QuietOfAgent : public testing::Test {
 protected:
  QuietOfAgent() : before_{{kIrq, "0-7"}, {kQueue, "ff"}} { knobs_.values = before_; }

  [[nodiscard]] NodeAgent open(QuietLevel level) {
    AgentOptions options;
    options.quiet = level;
    options.open_knobs = [this] {
      ++opened_;
      return std::make_unique<test::FakeKnobs>(knobs_);
    };
    return world_.try_open({}, std::move(options)).value();
  }
  /// Admits a pod that gets CPUs 1-3.
  static void admit(NodeAgent& agent) { must_admit(agent, pod("a", {guaranteed("c", 3)})); }

  quiet::KnobValues before_;
  test::KnobWorld knobs_;
  test::World world_;
  int opened_ = 0;
};

TEST_F(QuietOfAgent, CpusAreQuietBeforeTheContainerHasThem) {
  NodeAgent agent = open(QuietLevel::kSystem);
  knobs_.before_write = [this] { EXPECT_EQ(world_.cpus("poda/c"), "gone"); };
  admit(agent);
  EXPECT_EQ(world_.cpus("poda/c"), "1-3");
  EXPECT_EQ(knobs_.values.at(kIrq), "0,4-7");
  EXPECT_EQ(knobs_.values.at(kQueue), "f1");
}

TEST_F(QuietOfAgent, RemovingThePodRestoresEverythingAfterItsGroupIsGone) {
  NodeAgent agent = open(QuietLevel::kSystem);
  admit(agent);
  knobs_.before_write = [this] { EXPECT_EQ(world_.cpus("poda/c"), "gone"); };
  ASSERT_TRUE(agent.remove_pod(PodUid("a"), RunningProcesses::kRefuse));
  EXPECT_EQ(knobs_.values, before_);
}

TEST_F(QuietOfAgent, LevelInterruptsLeavesWorkqueuesAlone) {
  NodeAgent agent = open(QuietLevel::kInterrupts);
  admit(agent);
  EXPECT_EQ(knobs_.values.at(kIrq), "0,4-7");
  EXPECT_EQ(knobs_.values.at(kQueue), "ff");
}

TEST_F(QuietOfAgent, OffDoesNotEvenOpenTheKnobs) {
  NodeAgent agent = open(QuietLevel::kOff);
  admit(agent);
  ASSERT_TRUE(reconcile(agent));
  EXPECT_EQ(opened_, 0);
  EXPECT_EQ(agent.quiet_report(), nullptr);
}

TEST_F(QuietOfAgent, AReconciliationPreparesForTheFirstPod) {
  NodeAgent agent = open(QuietLevel::kSystem);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(reconcile(agent));
  EXPECT_EQ(opened_, 1);
  EXPECT_EQ(knobs_.preparations, 1);
  EXPECT_EQ(knobs_.readings, 0);
  admit(agent);
  EXPECT_EQ(opened_, 1);
  EXPECT_NE(knobs_.values, before_);
}

TEST_F(QuietOfAgent, APodMayAskForAnotherLevel) {
  NodeAgent agent = open(QuietLevel::kOff);
  FromRuntime shown;
  shown.notes[PodUid("a")].quiet = QuietLevel::kInterrupts;
  ASSERT_TRUE(agent.admit({pod("a", {guaranteed("c", 3)})}, nullptr, shown));
  EXPECT_EQ(knobs_.values.at(kIrq), "0,4-7");
  EXPECT_EQ(knobs_.values.at(kQueue), "ff");
}

TEST_F(QuietOfAgent, APodMayAskForNone) {
  NodeAgent agent = open(QuietLevel::kSystem);
  FromRuntime shown;
  shown.notes[PodUid("a")].quiet = QuietLevel::kOff;
  ASSERT_TRUE(agent.admit({pod("a", {guaranteed("c", 3)})}, nullptr, shown));
  EXPECT_EQ(knobs_.values, before_);
}

TEST_F(QuietOfAgent, APodThatDemandsQuietCpusIsNotVerifiedWithoutThem) {
  knobs_.fixed = {kIrq};
  for (const auto level : {QuietLevel::kSystem, QuietLevel::kIsolated}) {
    NodeAgent agent = open(QuietLevel::kOff);
    FromRuntime shown;
    shown.notes[PodUid("a")].quiet = level;
    ASSERT_TRUE(agent.admit({pod("a", {guaranteed("c", 3)})}, nullptr, shown));
    const auto verified = agent.verify({PodUid("a"), "c"});
    EXPECT_EQ(verified.has_value(), level == QuietLevel::kSystem);
    if (!verified) {
      EXPECT_THAT(verified.error().message, HasSubstr("CPUs 1-3: fixed"));
    }
    ASSERT_TRUE(agent.remove_pod(PodUid("a"), RunningProcesses::kRefuse));
  }
}

TEST_F(QuietOfAgent, ASharedContainerChangesNothing) {
  NodeAgent agent = open(QuietLevel::kSystem);
  must_admit(agent, pod("b", {test::half_a_cpu("c")}));
  EXPECT_TRUE(knobs_.written.empty());
}

TEST_F(QuietOfAgent, WhatCannotMoveRefusesNoPodAndIsNamed) {
  knobs_.fixed = {kIrq};
  NodeAgent agent = open(QuietLevel::kSystem);
  admit(agent);
  const auto report = reconcile(agent);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->unquiet, ElementsAre(HasSubstr("fixed")));
  EXPECT_THAT(report->remaining, testing::IsEmpty());
  EXPECT_EQ(to_json(*report).at("unquiet").size(), 1U);
}

TEST_F(QuietOfAgent, ReconcileMovesWhatAnotherProgramHasPutBack) {
  NodeAgent agent = open(QuietLevel::kSystem);
  admit(agent);
  knobs_.values[kIrq] = "2";
  ASSERT_TRUE(reconcile(agent));
  EXPECT_EQ(knobs_.values.at(kIrq), "0,4-7");
  EXPECT_EQ(agent.quiet_report()->taken, 1U);
}

TEST_F(QuietOfAgent, ARestartKnowsWhatWasThereBefore) {
  {
    NodeAgent agent = open(QuietLevel::kSystem);
    admit(agent);
  }
  NodeAgent agent = open(QuietLevel::kSystem);
  ASSERT_TRUE(reconcile(agent));
  EXPECT_EQ(knobs_.values.at(kIrq), "0,4-7");
  ASSERT_TRUE(agent.remove_pod(PodUid("a"), RunningProcesses::kRefuse));
  EXPECT_EQ(knobs_.values, before_);
}

TEST_F(QuietOfAgent, SwitchingItOffRestoresAtTheNextReconciliation) {
  {
    NodeAgent agent = open(QuietLevel::kSystem);
    admit(agent);
  }
  NodeAgent agent = open(QuietLevel::kOff);
  ASSERT_TRUE(reconcile(agent));
  EXPECT_EQ(knobs_.values, before_);
}

TEST_F(QuietOfAgent, SwitchingItOffRestoresAtTheFirstChange) {
  {
    NodeAgent agent = open(QuietLevel::kSystem);
    admit(agent);
  }
  NodeAgent agent = open(QuietLevel::kOff);
  ASSERT_TRUE(agent.remove_pod(PodUid("a"), RunningProcesses::kRefuse));
  EXPECT_EQ(knobs_.values, before_);
}

TEST_F(QuietOfAgent, RestoresWithoutAReconciliation) {
  NodeAgent agent = open(QuietLevel::kSystem);
  admit(agent);
  ASSERT_NE(knobs_.values, before_);
  const auto report = agent.restore_knobs();
  EXPECT_THAT(report.unquiet, testing::IsEmpty());
  EXPECT_EQ(knobs_.values, before_);
  EXPECT_THAT(agent.kept_knobs(), testing::IsEmpty());
  EXPECT_EQ(world_.cpus("poda/c"), "1-3") << "the container keeps its CPUs";
}

/// As `pinfold quiet --restore` does after a service was killed.
TEST_F(QuietOfAgent, RestoresWhatAnotherProcessHasLeft) {
  {
    NodeAgent agent = open(QuietLevel::kSystem);
    admit(agent);
  }
  NodeAgent agent = open(QuietLevel::kOff);
  EXPECT_THAT(agent.kept_knobs(), testing::SizeIs(2));
  (void)agent.restore_knobs();
  EXPECT_EQ(knobs_.values, before_);
  EXPECT_THAT(agent.kept_knobs(), testing::IsEmpty());
}

TEST_F(QuietOfAgent, DoesNotRestoreWhatAnotherProgramHasChanged) {
  {
    NodeAgent agent = open(QuietLevel::kSystem);
    admit(agent);
  }
  knobs_.values[kIrq] = "5";
  NodeAgent agent = open(QuietLevel::kOff);
  (void)agent.restore_knobs();
  EXPECT_EQ(knobs_.values.at(kIrq), "5");
  EXPECT_EQ(knobs_.values.at(kQueue), before_.at(kQueue));
  EXPECT_THAT(agent.kept_knobs(), testing::IsEmpty());
}

TEST_F(QuietOfAgent, NamesWhatItCannotRestoreAndKeepsItsRecord) {
  NodeAgent agent = open(QuietLevel::kSystem);
  admit(agent);
  const std::string quiet = knobs_.values.at(kIrq);
  knobs_.fixed = {kIrq};
  const auto report = agent.restore_knobs();
  EXPECT_THAT(report.unquiet, testing::Contains(testing::Key(kIrq)));
  EXPECT_EQ(knobs_.values.at(kIrq), quiet);
  EXPECT_THAT(agent.kept_knobs(), ElementsAre(testing::Key(kIrq)));
  knobs_.fixed = {};
  (void)agent.restore_knobs();
  EXPECT_EQ(knobs_.values, before_);
}

TEST_F(QuietOfAgent, HasNothingToRestoreIfItNeverChangedAnything) {
  NodeAgent agent = open(QuietLevel::kOff);
  admit(agent);
  EXPECT_THAT(agent.restore_knobs().unquiet, testing::IsEmpty());
  EXPECT_EQ(opened_, 0);
}

TEST_F(QuietOfAgent, AKillInTheMiddleIsRestored) {
  struct Killed {};
  for (int at = 0; at < 2; ++at) {
    int left = at;
    knobs_.before_write = [&left] {
      if (left-- == 0) throw Killed();
    };
    {
      NodeAgent agent = open(QuietLevel::kSystem);
      EXPECT_THROW(admit(agent), Killed) << at;
    }
    knobs_.before_write = nullptr;
    NodeAgent agent = open(QuietLevel::kSystem);
    ASSERT_TRUE(reconcile(agent));
    ASSERT_TRUE(agent.remove_pod(PodUid("a"), RunningProcesses::kRefuse));
    EXPECT_EQ(knobs_.values, before_) << at;
  }
}

TEST_F(QuietOfAgent, IsolatedDesiresPartitions) {
  EXPECT_EQ(open(QuietLevel::kSystem).desired().partition, Partition::kNone);
  EXPECT_EQ(open(QuietLevel::kIsolated).desired().partition, Partition::kIsolated);
}

}  // namespace
}  // namespace pinfold::agent
