#include "pinfold/quiet/quiet_knobs.hpp"

#include <gtest/gtest.h>

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

TEST_F(QuietKnobsTest, ReadNothingIfNothingWasEverQuiet) {
  world_.silent = {KnobKind::kInterrupt};
  auto quiet = knobs();
  quiet.reconcile(quiet_system({}));
  EXPECT_TRUE(quiet.report().unread.empty());
}

}  // namespace
}  // namespace pinfold::quiet
