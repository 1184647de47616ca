#include "pinfold/quiet/quiet_knobs.hpp"

#include <gtest/gtest.h>

#include <string>

#include "fake_knobs.hpp"

namespace pinfold::quiet {
namespace {

using test::FakeKnobs;
using test::KnobWorld;

const Knob kMovable{KnobKind::kInterrupt, "24"};
const Knob kManaged{KnobKind::kInterrupt, "25"};
const Knob kUnbound{KnobKind::kWorkqueue, "*"};

QuietDesired quiet_system(const CpuSet& cpus) {
  QuietDesired desired{{}, CpuSet::range(0, 7), {}};
  desired.cpus.add(QuietLevel::kSystem, cpus);
  return desired;
}

class QuietKnobsTest : public testing::Test {
 protected:
  QuietKnobsTest() { world_.values = {{kMovable, "0-7"}, {kManaged, "0-7"}, {kUnbound, "ff"}}; }

  /// `is_stored`: whether records can be stored.
  QuietKnobs knobs(bool is_stored = true) {
    return {std::make_unique<FakeKnobs>(world_), record_, [this, is_stored](const KeptKnobs& kept) {
              if (is_stored) record_ = kept;
              return is_stored;
            }};
  }

  void make_quiet(QuietKnobs& knobs, const CpuSet& cpus) {
    knobs.leave(quiet_system(cpus));
    knobs.give_back();
  }

  KnobWorld world_;
  KeptKnobs record_;
};

TEST_F(QuietKnobsTest, StoreWhatIsThereBeforeTheyWrite) {
  world_.before_write = [this] { EXPECT_EQ(record_.size(), 3U); };
  auto quiet = knobs();
  quiet.leave(quiet_system(CpuSet{7}));
  EXPECT_EQ(world_.values.at(kMovable), "0-6");
  EXPECT_EQ(world_.values.at(kUnbound), "7f");
  EXPECT_EQ(quiet.report().written, 3U);
}

/// A driver's interrupt starts with the affinity of new interrupts.
class NewInterrupt : public QuietKnobsTest {
 protected:
  NewInterrupt() {
    world_.values[kNew] = "ff";
    world_.values[kOther] = "0-6";  // the administrator's choice
  }

  const Knob kNew{KnobKind::kNewInterrupts, ""};
  const Knob kOther{KnobKind::kInterrupt, "29"};
  const Knob kBegun{KnobKind::kInterrupt, "30"};
};

TEST_F(NewInterrupt, HasWhatItWouldHaveHadAfterwards) {
  auto quiet = knobs();
  make_quiet(quiet, CpuSet{7});
  EXPECT_EQ(world_.values.at(kNew), "7f");
  world_.values[kBegun] = "0-6";
  make_quiet(quiet, {});
  EXPECT_EQ(world_.values.at(kNew), "ff");
  EXPECT_EQ(world_.values.at(kBegun), "0-7");
  EXPECT_EQ(world_.values.at(kOther), "0-6");
  EXPECT_TRUE(record_.empty());
}

TEST_F(NewInterrupt, IsRestoredEachTime) {
  auto quiet = knobs();
  make_quiet(quiet, CpuSet{7});
  make_quiet(quiet, {});
  make_quiet(quiet, CpuSet{7});
  world_.values[kBegun] = "0-6";
  make_quiet(quiet, {});
  EXPECT_EQ(world_.values.at(kBegun), "0-7");
}

TEST_F(NewInterrupt, ThatIsGivenTheSameCpusAfterwardsKeepsThem) {
  auto quiet = knobs();
  make_quiet(quiet, CpuSet{7});
  world_.values[kBegun] = "0-6";
  make_quiet(quiet, {});
  world_.values[kBegun] = "0-6";  // now the administrator's choice
  make_quiet(quiet, CpuSet{7});
  make_quiet(quiet, {});
  EXPECT_EQ(world_.values.at(kBegun), "0-6");
}

TEST_F(NewInterrupt, IsKnownToTheNextProcessOnceItWasSeen) {
  {
    auto earlier = knobs();
    make_quiet(earlier, CpuSet{7});
    world_.values[kBegun] = "0-6";
    earlier.reconcile(quiet_system(CpuSet{7}));
  }
  auto quiet = knobs();
  quiet.reconcile(quiet_system({}));
  EXPECT_EQ(world_.values.at(kBegun), "0-7");
  EXPECT_EQ(world_.values.at(kOther), "0-6");
}

TEST_F(NewInterrupt, CanHaveTheNumberOfOneThatEnded) {
  world_.values[kBegun] = "0-3,7";
  auto quiet = knobs();
  make_quiet(quiet, CpuSet{7});
  EXPECT_EQ(world_.values.at(kBegun), "0-3");
  world_.values[kBegun] = "0-6";
  make_quiet(quiet, {});
  EXPECT_EQ(world_.values.at(kBegun), "0-7");
  EXPECT_EQ(quiet.report().taken, 0U);
}

TEST_F(NewInterrupt, ThatItsDriverPinsIsLeftAlone) {
  auto quiet = knobs();
  make_quiet(quiet, CpuSet{7});
  world_.values[kBegun] = "0-2";
  make_quiet(quiet, {});
  EXPECT_EQ(world_.values.at(kBegun), "0-2");
}

TEST_F(QuietKnobsTest, WriteNothingIfItCannotBeStored) {
  auto quiet = knobs(false);
  quiet.leave(quiet_system(CpuSet{7}));
  quiet.give_back();
  EXPECT_TRUE(world_.written.empty());
}

TEST_F(QuietKnobsTest, ReadNothingIfNothingChanges) {
  auto quiet = knobs();
  quiet.leave(quiet_system(CpuSet{7}));
  quiet.give_back();
  world_.values[kMovable] = "0-7";  // another program
  quiet.leave(quiet_system(CpuSet{7}));
  quiet.give_back();
  EXPECT_EQ(world_.values.at(kMovable), "0-7");
  quiet.reconcile(quiet_system(CpuSet{7}));
  EXPECT_EQ(world_.values.at(kMovable), "0-6");
}

TEST_F(QuietKnobsTest, ReadOnlyWhatChangesTheSecondTime) {
  auto quiet = knobs();
  quiet.reconcile(quiet_system(CpuSet{7}));
  const int readings = world_.readings;
  quiet.leave(quiet_system(CpuSet{6, 7}));
  quiet.give_back();
  EXPECT_EQ(world_.readings, readings);
  EXPECT_EQ(world_.values.at(kMovable), "0-5");
}

TEST_F(QuietKnobsTest, ReadEverythingIfAnotherProgramHasChangedSomethingSince) {
  auto quiet = knobs();
  quiet.reconcile(quiet_system(CpuSet{7}));
  world_.values[kMovable] = "3,6";
  quiet.leave(quiet_system(CpuSet{6, 7}));
  quiet.give_back();
  EXPECT_EQ(world_.values.at(kMovable), "3");
  quiet.reconcile(quiet_system({}));
  EXPECT_EQ(world_.values.at(kMovable), "3,6") << "the other program's value is the one of before";
}

TEST_F(QuietKnobsTest, RestoreAUnitBeforeAContainerInItGetsItsCpus) {
  const Knob unit{KnobKind::kUnit, "system.slice"};
  world_.values[unit] = "";
  auto quiet = knobs();
  quiet.leave(quiet_system(CpuSet{7}));
  quiet.give_back();
  EXPECT_EQ(world_.values.at(unit), "0-6");
  QuietDesired desired = quiet_system(CpuSet{7});
  desired.containers = {"/sys/fs/cgroup/system.slice/docker-1.scope"};
  quiet.leave(desired);
  EXPECT_EQ(world_.values.at(unit), "");
}

TEST_F(QuietKnobsTest, NameWhatCannotMoveAndGoOn) {
  world_.fixed = {kManaged};
  auto quiet = knobs();
  quiet.leave(quiet_system(CpuSet{7}));
  quiet.give_back();
  EXPECT_EQ(world_.values.at(kMovable), "0-6");
  ASSERT_EQ(quiet.report().unquiet.size(), 1U);
  EXPECT_EQ(quiet.report().unquiet.begin()->first, kManaged);
  EXPECT_EQ(quiet.report().unquiet.begin()->second.cpus, CpuSet{7});
  quiet.reconcile(quiet_system({}));
  EXPECT_TRUE(record_.empty());
  EXPECT_EQ(world_.values.at(kMovable), "0-7");
}

TEST_F(QuietKnobsTest, LeaveAloneWhatCannotMoveAndIsSentElsewhere) {
  world_.fixed = {kManaged};
  world_.effective = {{kManaged, "0"}};
  auto quiet = knobs();
  quiet.reconcile(quiet_system(CpuSet{7}));
  EXPECT_TRUE(quiet.report().unquiet.empty());
  world_.effective = {{kManaged, "7"}};
  quiet.reconcile(quiet_system(CpuSet{7}));
  EXPECT_EQ(quiet.report().unquiet.count(kManaged), 1U);
  world_.effective = {{kManaged, ""}};  // an interrupt that no CPU handles
  quiet.reconcile(quiet_system(CpuSet{7}));
  EXPECT_TRUE(quiet.report().unquiet.empty());
}

/// A machine with 500 interrupts and 200 network queues. Up to `wide` of each may be handled by
/// every CPU; the others already avoid the quiet CPUs.
class BigMachine : public QuietKnobsTest {
 protected:
  static constexpr int kInterrupts = 500;
  static constexpr int kQueues = 200;

  void set_up(int wide) {
    world_.values.clear();
    for (int i = 0; i < kInterrupts; ++i) {
      world_.values[{KnobKind::kInterrupt, std::to_string(i)}] = i < wide ? "0-7" : "0-1";
    }
    for (int i = 0; i < kQueues; ++i) {
      world_.values[{KnobKind::kReceive, "eth0/rx-" + std::to_string(i)}] = i < wide ? "ff" : "03";
    }
  }
  /// Starts a second container with exclusive CPUs and counts the accesses.
  void start_second(QuietKnobs& quiet) {
    quiet.reconcile(quiet_system(CpuSet{7}));
    world_.readings = world_.single_readings = world_.writes = 0;
    quiet.leave(quiet_system(CpuSet{6, 7}));
    quiet.give_back();
  }
};

TEST_F(BigMachine, CostsAStartOnlyWhatChanges) {
  for (const int wide : {0, 20, 200}) {
    set_up(wide);
    record_.clear();
    auto quiet = knobs();
    start_second(quiet);
    EXPECT_EQ(world_.readings, 0) << wide;
    EXPECT_EQ(world_.single_readings, 2 * wide) << wide;
    EXPECT_EQ(world_.writes, 2 * wide) << wide;
  }
}

TEST_F(BigMachine, CostsAStartNothingForWhatCannotMove) {
  set_up(200);
  for (const auto& [knob, value] : world_.values) world_.fixed.insert(knob);
  auto quiet = knobs();
  start_second(quiet);
  EXPECT_EQ(world_.readings + world_.single_readings + world_.writes, 0);
  EXPECT_EQ(quiet.report().unquiet.size(), 400U);
  EXPECT_EQ(quiet.report().unquiet.begin()->second.cpus, (CpuSet{6, 7}));
  world_.fixed.clear();
  quiet.reconcile(quiet_system(CpuSet{6, 7}));
  EXPECT_TRUE(quiet.report().unquiet.empty());
}

TEST_F(BigMachine, CostsAStartNothingForAProgramThatDoesNotAnswer) {
  set_up(0);
  world_.silent = {KnobKind::kIrqbalance};
  auto quiet = knobs();
  start_second(quiet);
  EXPECT_EQ(world_.readings, 0);
  EXPECT_EQ(quiet.report().unread.count(KnobKind::kIrqbalance), 1U);
  world_.silent.clear();
  quiet.reconcile(quiet_system(CpuSet{6, 7}));
  EXPECT_TRUE(quiet.report().unread.empty());
}

TEST_F(QuietKnobsTest, NameKindsThatCannotBeRead) {
  world_.silent = {KnobKind::kWorkqueue};
  auto quiet = knobs();
  quiet.reconcile(quiet_system(CpuSet{7}));
  EXPECT_EQ(world_.values.at(kMovable), "0-6");
  EXPECT_EQ(quiet.report().unread.count(KnobKind::kWorkqueue), 1U);
}

TEST_F(QuietKnobsTest, ForgetAKnobThatHasGone) {
  auto quiet = knobs();
  quiet.reconcile(quiet_system(CpuSet{7}));
  world_.values.erase(kMovable);
  quiet.reconcile(quiet_system(CpuSet{7}));
  EXPECT_FALSE(record_.contains(kMovable));
  EXPECT_TRUE(quiet.report().unquiet.empty());
}

TEST_F(QuietKnobsTest, CountWhatOthersHaveTaken) {
  auto quiet = knobs();
  quiet.reconcile(quiet_system(CpuSet{7}));
  world_.values[kMovable] = "3-7";
  quiet.reconcile(quiet_system(CpuSet{7}));
  EXPECT_EQ(quiet.report().taken, 1U);
  quiet.reconcile(quiet_system({}));
  EXPECT_EQ(world_.values.at(kMovable), "3-7") << "as the other program has left it";
}

TEST_F(QuietKnobsTest, RestoreWhatAnEarlierProcessHasChanged) {
  {
    auto earlier = knobs();
    earlier.leave(quiet_system(CpuSet{7}));  // and is killed
  }
  auto quiet = knobs();
  quiet.reconcile(quiet_system({}));
  EXPECT_EQ(world_.values.at(kMovable), "0-7");
  EXPECT_EQ(world_.values.at(kUnbound), "ff");
  EXPECT_TRUE(record_.empty());
}

TEST_F(QuietKnobsTest, RestoreItAtTheFirstChange) {
  {
    auto earlier = knobs();
    earlier.leave(quiet_system(CpuSet{7}));
  }
  auto quiet = knobs();
  quiet.leave(quiet_system({}));
  quiet.give_back();
  EXPECT_EQ(world_.values.at(kMovable), "0-7");
  EXPECT_TRUE(record_.empty());
}

TEST_F(QuietKnobsTest, NameWhatIsNotChangedBecauseItCannotBeStored) {
  auto quiet = knobs(false);
  quiet.leave(quiet_system(CpuSet{7}));
  quiet.give_back();
  ASSERT_EQ(quiet.report().unquiet.size(), 3U);
  const auto& [knob, unquiet] = *quiet.report().unquiet.begin();
  EXPECT_EQ(unquiet.cpus, CpuSet{7});
  EXPECT_EQ(unquiet.error.message,
            "interrupt '24': not set to '0-6', because its value '0-7' cannot be kept: the state "
            "directory cannot be written");
}

TEST_F(QuietKnobsTest, NameUnitsThatStayBecauseTheyHoldContainers) {
  const Knob unit{KnobKind::kUnit, "system.slice"};
  world_.values[unit] = "";
  QuietDesired desired = quiet_system(CpuSet{7});
  desired.containers = {"/sys/fs/cgroup/system.slice/docker-1.scope"};
  auto quiet = knobs();
  quiet.reconcile(desired);
  ASSERT_EQ(quiet.report().unquiet.count(unit), 1U);
  EXPECT_EQ(quiet.report().unquiet.at(unit).cpus, CpuSet{7});
  EXPECT_EQ(quiet.report().unquiet.at(unit).error.message,
            "unit 'system.slice': stays on CPU 7, because it holds containers: give them a group "
            "outside of it, such as 'kubepods.slice'");
  desired.cpus = {};
  quiet.reconcile(desired);
  EXPECT_TRUE(quiet.report().unquiet.empty());
}

/// irqbalance, which shows a new list only after its next balancing.
class LateIrqbalance : public QuietKnobsTest {
 protected:
  LateIrqbalance() {
    world_.values = {{kBan, "0"}};
    world_.shows_late = true;
  }
  /// Checks that irqbalance has its original list, and that no record of it remains.
  void expect_restored(QuietKnobs& knobs) {
    world_.balance();
    knobs.reconcile(quiet_system({}));
    world_.balance();
    EXPECT_EQ(world_.values.at(kBan), "0");
    EXPECT_TRUE(record_.empty());
  }

  const Knob kBan{KnobKind::kIrqbalance, ""};
};

TEST_F(LateIrqbalance, HasWhatItHadAfterPodsThatComeAndGoQuickly) {
  auto quiet = knobs();
  make_quiet(quiet, CpuSet{6});
  world_.balance();
  make_quiet(quiet, {});
  make_quiet(quiet, CpuSet{7});  // still shows 0,6
  world_.balance();
  EXPECT_EQ(world_.values.at(kBan), "0,7");
  make_quiet(quiet, CpuSet{5});
  make_quiet(quiet, CpuSet{5, 6});
  make_quiet(quiet, {});
  expect_restored(quiet);
  EXPECT_EQ(quiet.report().taken, 0U);
}

TEST_F(LateIrqbalance, IsKnownToTheNextProcess) {
  {
    auto earlier = knobs();
    make_quiet(earlier, CpuSet{6});
    world_.balance();
    make_quiet(earlier, CpuSet{7});
    make_quiet(earlier, CpuSet{5});
  }
  auto quiet = knobs();
  quiet.reconcile(quiet_system(CpuSet{6}));  // shows 0,6, but will show 0,5
  world_.balance();
  EXPECT_EQ(world_.values.at(kBan), "0,6");
  make_quiet(quiet, {});
  expect_restored(quiet);
}

TEST_F(LateIrqbalance, IsToldAgainAfterAKillBeforeIt) {
  struct Killed {};
  auto earlier = knobs();
  make_quiet(earlier, CpuSet{6});  // which it does not show yet
  world_.before_write = [] { throw Killed(); };
  EXPECT_THROW(earlier.leave(quiet_system({})), Killed);
  world_.before_write = nullptr;
  auto quiet = knobs();
  quiet.reconcile(quiet_system({}));
  expect_restored(quiet);
}

TEST_F(LateIrqbalance, IsNotToldAgainOnceItShowsItsList) {
  auto quiet = knobs();
  quiet.reconcile(quiet_system(CpuSet{6}));
  world_.balance();
  quiet.reconcile(quiet_system(CpuSet{6}));
  EXPECT_EQ(world_.written.size(), 1U);
}

TEST_F(LateIrqbalance, KeepsTheListOfAnotherProgram) {
  auto quiet = knobs();
  quiet.reconcile(quiet_system(CpuSet{6}));
  world_.late.clear();
  world_.values[kBan] = "1";
  quiet.reconcile(quiet_system(CpuSet{6}));
  world_.balance();
  EXPECT_EQ(world_.values.at(kBan), "1,6");
  quiet.reconcile(quiet_system({}));
  world_.balance();
  EXPECT_EQ(world_.values.at(kBan), "1");
}

/// A container to be isolated.
class IsolatedContainer : public QuietKnobsTest {
 protected:
  IsolatedContainer() { world_.values = {{kList, ""}, {kPartition, "member"}}; }

  static QuietDesired isolated() {
    QuietDesired desired = quiet_system(CpuSet{6, 7});
    desired.cpus.partitions = {{"/cgroup/c", {6, 7}}};
    return desired;
  }

  const Knob kList{KnobKind::kExclusive, "/cgroup/c"};
  const Knob kPartition{KnobKind::kPartition, "/cgroup/c"};
};

TEST_F(IsolatedContainer, BecomesAPartitionWithTheSecondHalf) {
  auto quiet = knobs();
  quiet.leave(isolated());
  EXPECT_EQ(world_.values.at(kPartition), "member");
  quiet.give_back();
  EXPECT_EQ(world_.values.at(kList), "6-7");
  EXPECT_EQ(world_.values.at(kPartition), "isolated");
  EXPECT_TRUE(quiet.report().unquiet.empty());
  quiet.leave(quiet_system({}));
  EXPECT_EQ(world_.values.at(kPartition), "member");
  EXPECT_EQ(world_.values.at(kList), "");
  quiet.give_back();
  EXPECT_TRUE(record_.empty());
}

TEST_F(IsolatedContainer, IsNamedIfTheKernelDoesNotIsolateIt) {
  world_.fixed = {kPartition};
  auto quiet = knobs();
  quiet.leave(isolated());
  quiet.give_back();
  ASSERT_EQ(quiet.report().unquiet.count(kPartition), 1U);
  EXPECT_EQ(quiet.report().unquiet.at(kPartition).cpus, (CpuSet{6, 7}));
  world_.fixed.clear();
  quiet.reconcile(isolated());
  EXPECT_TRUE(quiet.report().unquiet.empty());
}

TEST_F(IsolatedContainer, IsNamedWithoutCgroupV2) {
  world_.values.clear();
  auto quiet = knobs();
  quiet.reconcile(isolated());
  ASSERT_EQ(quiet.report().unquiet.count(kPartition), 1U);
  EXPECT_EQ(quiet.report().unquiet.at(kPartition).error.message,
            "partition '/cgroup/c': it has no 'cpuset.cpus.partition': expected cgroup v2");
}

TEST_F(IsolatedContainer, MayEndWithItsRecord) {
  auto quiet = knobs();
  quiet.reconcile(isolated());
  world_.values.clear();  // its runtime has removed the group
  const int readings = world_.readings;
  quiet.leave(quiet_system(CpuSet{5}));
  quiet.give_back();
  EXPECT_TRUE(record_.empty());
  EXPECT_EQ(world_.readings, readings) << "other knobs are not read again for it";
  EXPECT_TRUE(quiet.report().unquiet.empty());
}

TEST_F(IsolatedContainer, IsRestoredByTheNextProcess) {
  {
    auto earlier = knobs();
    earlier.reconcile(isolated());
  }
  auto quiet = knobs();
  world_.written.clear();
  quiet.reconcile(isolated());
  EXPECT_TRUE(world_.written.empty());
  quiet.reconcile(quiet_system({}));
  EXPECT_EQ(world_.values, (KnobValues{{kList, ""}, {kPartition, "member"}}));
  EXPECT_TRUE(record_.empty());
}

TEST_F(QuietKnobsTest, ReadNothingIfNothingWasEverQuiet) {
  world_.silent = {KnobKind::kInterrupt};
  auto quiet = knobs();
  quiet.reconcile(quiet_system({}));
  EXPECT_TRUE(quiet.report().unread.empty());
}

}  // namespace
}  // namespace pinfold::quiet
