#include "pinfold/quiet/plan_quiet.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace pinfold::quiet {
namespace {

const Knob kIrq{KnobKind::kInterrupt, "24"};
const Knob kUnitKnob{KnobKind::kUnit, "system.slice"};
const Knob kBan{KnobKind::kIrqbalance, ""};

QuietCpus quiet_at(QuietLevel level, const CpuSet& cpus) {
  QuietCpus quiet;
  quiet.add(level, cpus);
  return quiet;
}

QuietRequest request_of(const Knob& knob, const std::string& value, const CpuSet& before,
                        const CpuSet& after) {
  return {{{knob, value}},
          {},
          {},
          quiet_at(QuietLevel::kSystem, before),
          {quiet_at(QuietLevel::kSystem, after), CpuSet::range(0, 7), {}}};
}

/// Returns "leave; give back" of a plan with at most one step each.
std::string steps_of(const QuietRequest& request) {
  const QuietPlan plan = plan_quiet(request);
  std::string text = plan.leave.empty() ? "-" : plan.leave[0].value;
  return text + "; " + (plan.give_back.empty() ? "-" : plan.give_back[0].value);
}

struct PlanCase {
  const char* name;
  Knob knob;
  const char* value;
  CpuSet before;
  CpuSet after;
  const char* steps;
};

TEST(PlanQuiet, WritesOnlyWhatChanges) {
  const std::vector<PlanCase> cases = {
      {"leaves", kIrq, "0-7", {}, {2, 3}, "0-1,4-7; -"},
      {"is elsewhere", kIrq, "0-1", {}, {2, 3}, "-; -"},
      {"would have none", kIrq, "2", {}, {2, 3}, "0-1,4-7; -"},
      {"no housekeeping", kIrq, "0-7", {}, {0, 1, 2, 3, 4, 5, 6, 7}, "-; -"},
      {"only offline ones left", kIrq, "3,60", {}, {3}, "0-2,4-7; -"},
      {"was never off", kIrq, "0-7", {2}, {3}, "0-2,4-7; -"},
      {"a unit with any CPU", kUnitKnob, "", {}, {7}, "0-6; -"},
      {"bans more", kBan, "1", {}, {2, 3}, "1-3; -"},
      {"is banned already", kBan, "1-3", {}, {2, 3}, "-; -"},
      {"a mask", {KnobKind::kReceive, "e/rx-0"}, "0f", {}, {0}, "0e; -"},
      {"a mask that is off", {KnobKind::kReceive, "e/rx-0"}, "00", {}, {0}, "-; -"},
      {"no CPUs", kIrq, "x", {}, {0}, "-; -"},
  };
  for (const auto& [name, knob, value, before, after, steps] : cases) {
    EXPECT_EQ(steps_of(request_of(knob, value, before, after)), steps) << name;
  }
}

/// CPU 2 is quiet no longer, and CPU 3 becomes quiet.
QuietRequest swap_request() {
  QuietRequest request = request_of(kIrq, "0-1,3-7", {2}, {3});
  request.kept = {{kIrq, {"0-7", {"0-1,3-7"}}}};
  return request;
}

TEST(PlanQuiet, KeepsOffBothCpusWhileTheyAreSwapped) {
  EXPECT_EQ(steps_of(swap_request()), "0-1,4-7; 0-2,4-7");
}

TEST(PlanQuiet, KeepsWhatWasThereBeforeTheFirstStep) {
  const QuietPlan plan = plan_quiet(request_of(kIrq, "0-7", {}, {2}));
  EXPECT_EQ(plan.kept, (KeptKnobs{{kIrq, {"0-7", {"0-1,3-7"}}}}));
  EXPECT_EQ(plan.kept_after, plan.kept);
}

TEST(PlanQuiet, RestoresWhatIsKeptAndForgetsIt) {
  QuietRequest request = request_of(kUnitKnob, "0-6", {7}, {});
  request.kept = {{kUnitKnob, {"", {"0-6"}}}};
  EXPECT_EQ(steps_of(request), "-; ");
  const QuietPlan plan = plan_quiet(request);
  EXPECT_EQ(plan.kept, request.kept);
  EXPECT_TRUE(plan.kept_after.empty());
}

TEST(PlanQuiet, LeavesTheChangeOfAnotherProgram) {
  QuietRequest request = request_of(kIrq, "1", {2}, {});
  request.kept = {{kIrq, {"0-7", {"0-1,3-7"}}}};
  const QuietPlan plan = plan_quiet(request);
  EXPECT_EQ(steps_of(request), "-; -");
  EXPECT_EQ(plan.taken, std::vector{kIrq});
  EXPECT_TRUE(plan.kept.empty());
}

TEST(PlanQuiet, MovesWhatAnotherProgramHasPutBackAndKeepsItsValue) {
  QuietRequest request = request_of(kIrq, "2-3", {2}, {2});
  request.kept = {{kIrq, {"0-7", {"0-1,3-7"}}}};
  EXPECT_EQ(steps_of(request), "3; -");
  EXPECT_EQ(plan_quiet(request).kept, (KeptKnobs{{kIrq, {"2-3", {"3"}}}}));
}

TEST(PlanQuiet, RecognizesEachValueOfAnInterruptedPlan) {
  const KeptKnobs kept = plan_quiet(swap_request()).kept;
  for (const char* const value : {"0-7", "0-1,3-7", "0-1,4-7", "0-2,4-7"}) {
    QuietRequest again = request_of(kIrq, value, {}, {});
    again.kept = kept;
    const QuietPlan plan = plan_quiet(again);
    EXPECT_TRUE(plan.taken.empty()) << value;
    EXPECT_TRUE(plan.kept_after.empty()) << value;
    const std::string last = plan.leave.empty() ? std::string(value) : plan.leave[0].value;
    EXPECT_EQ(last, "0-7") << value;
  }
}

TEST(PlanQuiet, KeepsKnobsThatCouldNotBeRead) {
  QuietRequest request = request_of(kIrq, "0-7", {}, {});
  request.kept = {{kUnitKnob, {"", {"0-6"}}}, {kBan, {"", {"3"}}}};
  request.unread = {KnobKind::kUnit};
  const QuietPlan plan = plan_quiet(request);
  EXPECT_EQ(plan.kept_after, (KeptKnobs{{kUnitKnob, {"", {"0-6"}}}})) << "irqbalance has ended";
}

TEST(PlanQuiet, LeavesKnobsOfTheSystemToLevelSystem) {
  for (const auto& [level, steps] :
       {std::pair(QuietLevel::kInterrupts, "-; -"), std::pair(QuietLevel::kSystem, "0-6; -"),
        std::pair(QuietLevel::kIsolated, "0-6; -"), std::pair(QuietLevel::kOff, "-; -")}) {
    QuietRequest request = request_of(kUnitKnob, "", {}, {});
    request.after.cpus = quiet_at(level, CpuSet{7});
    EXPECT_EQ(steps_of(request), steps) << to_string(level);
  }
}

TEST(PlanQuiet, KeepsBothValuesOfAStepThatFailed) {
  const QuietPlan plan = plan_quiet(swap_request());
  EXPECT_EQ(kept_after(plan.kept_after, plan.kept, {}), (KeptKnobs{{kIrq, {"0-7", {"0-2,4-7"}}}}));
  EXPECT_EQ(kept_after(plan.kept_after, plan.kept, {kIrq}), plan.kept);
}

TEST(PlanQuiet, LeavesUnitsThatHoldContainersAlone) {
  struct Row {
    const char* directory;
    const char* steps;
  };
  for (const auto& [directory, steps] :
       {Row{"/sys/fs/cgroup/pinfold", "0-6; -"}, Row{"/sys/fs/cgroup/system.slice", "-; -"},
        Row{"/sys/fs/cgroup/system.slice/docker-1.scope", "-; -"},
        Row{"/sys/fs/cgroup/my-system.slice/c", "0-6; -"}}) {
    QuietRequest request = request_of(kUnitKnob, "", {}, {7});
    request.after.containers = {directory};
    EXPECT_EQ(steps_of(request), steps) << directory;
  }
}

TEST(PlanQuiet, RestoresAUnitThatHoldsContainersFromNowOn) {
  QuietRequest request = request_of(kUnitKnob, "0-6", {7}, {7});
  request.kept = {{kUnitKnob, {"", {"0-6"}}}};
  request.after.containers = {"/sys/fs/cgroup/system.slice/docker-1.scope"};
  EXPECT_EQ(plan_quiet(request).leave, (std::vector<QuietStep>{{kUnitKnob, ""}}));
}

const std::string kPods = "/sys/fs/cgroup/kubepods";
const std::string kFirst = kPods + "/pod1/c";
const std::string kSecond = kPods + "/pod2/c";

/// A request to isolate containers, given by directory, with their CPUs.
QuietRequest isolation_request(const KnobValues& observed,
                               const std::map<std::string, CpuSet>& partitions) {
  QuietRequest request{observed, {}, {}, {}, {{}, CpuSet::range(0, 7), {}}};
  request.after.cpus.partitions = partitions;
  for (const auto& [directory, cpus] : partitions) {
    request.after.cpus.add(QuietLevel::kIsolated, cpus);
  }
  return request;
}

/// Returns "KIND VALUE, ..." of steps.
std::string values_of(const std::vector<QuietStep>& steps) {
  std::string text;
  for (const QuietStep& step : steps) {
    const std::string name = step.knob.name.substr(kPods.size());
    text += (text.empty() ? "" : ", ") + name + "=" + step.value;
  }
  return text;
}

const KnobValues kOneIsIsolated = {{{KnobKind::kExclusive, kPods}, "2-3"},
                                   {{KnobKind::kExclusive, kFirst}, "2-3"},
                                   {{KnobKind::kExclusive, kSecond}, ""},
                                   {{KnobKind::kPartition, kFirst}, "isolated"},
                                   {{KnobKind::kPartition, kSecond}, "member"}};
const KeptKnobs kOneIsKept = {{{KnobKind::kExclusive, kPods}, {"", {"2-3"}}},
                              {{KnobKind::kExclusive, kFirst}, {"", {"2-3"}}},
                              {{KnobKind::kPartition, kFirst}, {"member", {"isolated"}}}};

TEST(PlanQuiet, BeginsAPartitionAfterTheContainerHasMoved) {
  const QuietPlan plan = plan_quiet(isolation_request({{{KnobKind::kExclusive, kPods}, ""},
                                                       {{KnobKind::kExclusive, kFirst}, ""},
                                                       {{KnobKind::kPartition, kFirst}, "member"}},
                                                      {{kFirst, {2, 3}}}));
  EXPECT_EQ(values_of(plan.leave), "");
  EXPECT_EQ(values_of(plan.give_back), "=2-3, /pod1/c=2-3, /pod1/c=isolated");
  EXPECT_EQ(plan.kept_after, kOneIsKept);
}

TEST(PlanQuiet, EndsAPartitionBeforeAnotherOneHasItsCpus) {
  QuietRequest request = isolation_request(kOneIsIsolated, {{kSecond, {3, 4}}});
  request.kept = kOneIsKept;
  const QuietPlan plan = plan_quiet(request);
  EXPECT_EQ(values_of(plan.leave), "/pod1/c=member, =3, /pod1/c=");
  EXPECT_EQ(values_of(plan.give_back), "=3-4, /pod2/c=3-4, /pod2/c=isolated");
  EXPECT_FALSE(plan.kept_after.contains({KnobKind::kPartition, kFirst}));
}

TEST(PlanQuiet, EndsAPartitionThatGetsMoreCpusAndBeginsItAgain) {
  QuietRequest request = isolation_request(kOneIsIsolated, {{kFirst, {2, 3, 4}}});
  request.kept = kOneIsKept;
  const QuietPlan plan = plan_quiet(request);
  EXPECT_EQ(values_of(plan.leave), "/pod1/c=member");
  EXPECT_EQ(values_of(plan.give_back), "=2-4, /pod1/c=2-4, /pod1/c=isolated");
}

TEST(PlanQuiet, LeavesPartitionsThatAreAsDesired) {
  QuietRequest request = isolation_request(kOneIsIsolated, {{kFirst, {2, 3}}});
  request.kept = kOneIsKept;
  const QuietPlan plan = plan_quiet(request);
  EXPECT_EQ(values_of(plan.leave) + values_of(plan.give_back), "")
      << "a new process does not know what was quiet before";
  EXPECT_EQ(plan.kept_after, kOneIsKept);
}

TEST(PlanQuiet, LeavesThePartitionsOfOthersAndTheirCpusOnTheLists) {
  const KnobValues theirs = {{{KnobKind::kExclusive, kPods}, "6"},
                             {{KnobKind::kPartition, kFirst}, "root"}};
  QuietRequest request = isolation_request(theirs, {{kFirst, {2}}});
  const QuietPlan plan = plan_quiet(request);
  EXPECT_EQ(values_of(plan.give_back), "=2,6");
  request.observed = {{{KnobKind::kExclusive, kPods}, "2,6"},
                      {{KnobKind::kPartition, kFirst}, "root"}};
  request.kept = plan.kept;
  request.after.cpus = {};
  EXPECT_EQ(values_of(plan_quiet(request).leave), "=6");
}

TEST(PlanQuiet, TakesWhatTheKernelDoesToItsThreadsForNoOtherProgram) {
  const Knob thread{KnobKind::kKernelThread, "9 kswapd0"};
  QuietRequest request = isolation_request(kOneIsIsolated, {{kFirst, {2, 3}}});
  request.kept = kOneIsKept;
  request.kept[thread] = {"0-3", {"0-1"}};
  for (const char* const value : {"0-1,4-7", "0-1,4-63", "0-7"}) {
    request.observed[thread] = value;
    const QuietPlan plan = plan_quiet(request);
    EXPECT_TRUE(plan.taken.empty()) << value;
    EXPECT_EQ(plan.leave, (std::vector<QuietStep>{{thread, "0-1"}})) << value;
    EXPECT_EQ(plan.kept_after.at(thread).before, "0-3") << value;
  }
  request.observed[thread] = "0,4";
  EXPECT_EQ(plan_quiet(request).taken, std::vector{thread});
}

TEST(PlanQuiet, RestoresAThreadThatTheKernelHasMovedToo) {
  const Knob thread{KnobKind::kKernelThread, "9 kswapd0"};
  QuietRequest request = isolation_request(kOneIsIsolated, {});  // from a new process
  request.kept = kOneIsKept;
  request.kept[thread] = {"0-3", {"0-1"}};
  request.observed[thread] = "0-1,4-7";
  const QuietPlan plan = plan_quiet(request);
  EXPECT_TRUE(plan.taken.empty());
  EXPECT_FALSE(plan.kept_after.contains(thread));
}

TEST(PlanQuiet, KnowsWhichCgroupsMakeOneIsolated) {
  QuietCpus cpus;
  cpus.partitions = {{"/sys/fs/cgroup/c", {2}}};
  EXPECT_EQ(isolation_knobs(cpus), (std::set<Knob>{{KnobKind::kExclusive, "/sys"},
                                                   {KnobKind::kExclusive, "/sys/fs"},
                                                   {KnobKind::kExclusive, "/sys/fs/cgroup"},
                                                   {KnobKind::kExclusive, "/sys/fs/cgroup/c"},
                                                   {KnobKind::kPartition, "/sys/fs/cgroup/c"}}));
  EXPECT_EQ(cpus.of({KnobKind::kExclusive, "/sys/fs"}), CpuSet{2});
  EXPECT_EQ(cpus.of({KnobKind::kExclusive, "/sys/fs/cgroup/cc"}), CpuSet{});
  EXPECT_EQ(cpus.of({KnobKind::kPartition, "/sys/fs"}), CpuSet{});
}

TEST(QuietLevel, IsReadAsItIsWritten) {
  for (const auto level :
       {QuietLevel::kOff, QuietLevel::kInterrupts, QuietLevel::kSystem, QuietLevel::kIsolated}) {
    EXPECT_EQ(parse_quiet_level(to_string(level)).value(), level);
  }
  const auto wrong = parse_quiet_level("silent");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "'silent': expected off, interrupts, system or isolated");
}

}  // namespace
}  // namespace pinfold::quiet
