#include "pinfold/enforce/plan.hpp"

#include <gtest/gtest.h>

namespace pinfold::enforce {
namespace {

GroupSettings group(const char* cpus, Isolation isolation = Isolation::kHost,
                    const char* mems = "") {
  return {CpuSet::parse(cpus).value(), CpuSet::parse(mems).value(), {}, isolation};
}

std::string text(const Plan& plan) {
  std::string out;
  for (const Step& step : plan) out += to_string(step) + "\n";
  return out;
}

const CpuSet kMachine = CpuSet::range(0, 7);

Layout shared_pod(const char* cpus) {
  return {{{PodUid("s"), ""}, group(cpus)}, {{PodUid("s"), "c"}, group(cpus)}};
}
/// Adds pod `pod` with the container "c", which has these exclusive CPUs.
void add_exclusive(Layout& layout, const char* pod, const char* cpus) {
  layout[{PodUid(pod), ""}] = group(cpus);
  layout[{PodUid(pod), "c"}] = group(cpus, Isolation::kContainer);
}
Layout with_exclusive(Layout layout) {
  layout[{PodUid("x"), ""}] = group("2-3", Isolation::kHost, "1");
  layout[{PodUid("x"), "c"}] = group("2-3", Isolation::kContainer, "1");
  return layout;
}

TEST(Plan, ShrinksSharedContainersBeforeAnExclusiveOneIsPlaced) {
  const auto steps = plan(shared_pod("0-7"), with_exclusive(shared_pod("0-1,4-7")), kMachine);
  ASSERT_TRUE(steps.has_value()) << steps.error().message;
  EXPECT_EQ(text(*steps),
            "pods/c: cpuset.cpus := 0-1,4-7\n"
            "pods: cpuset.cpus := 0-1,4-7\n"
            "podx: create\n"
            "podx: cpuset.cpus := 0-1,4-7\n"
            "podx/c: create\n"
            "podx/c: cpuset.cpus := 0-1,4-7\n"
            "podx: cpuset.mems := 1\n"
            "podx/c: cpuset.mems := 1\n"
            "podx: cpuset.cpus := 0-7\n"
            "podx/c: cpuset.cpus := 2-3\n"
            "podx: cpuset.cpus := 2-3\n"
            "pods/c: verify that it runs on 0-1,4-7\n"
            "podx/c: verify that it runs on 2-3\n");
}

TEST(Plan, RemovesAnExclusiveContainerBeforeTheSharedOnesGrow) {
  const auto steps = plan(with_exclusive(shared_pod("0-1,4-7")), shared_pod("0-7"), kMachine);
  ASSERT_TRUE(steps.has_value()) << steps.error().message;
  EXPECT_EQ(text(*steps),
            "podx/c: remove\n"
            "podx: remove\n"
            "pods: cpuset.cpus := 0-7\n"
            "pods/c: cpuset.cpus := 0-7\n"
            "pods/c: verify that it runs on 0-7\n");
}

/// A full node reserves another CPU, so no CPU is free to wait on.
TEST(Plan, MovesTheSharedContainersOnceTheirNewCpusAreFree) {
  const auto full = [](const char* shared, const char* exclusive) {
    Layout layout = shared_pod(shared);
    add_exclusive(layout, "x", exclusive);
    return layout;
  };
  const auto steps = plan(full("0", "1-7"), full("7", "0-6"), kMachine);
  ASSERT_TRUE(steps.has_value()) << steps.error().message;
  EXPECT_EQ(text(*steps),
            "podx/c: cpuset.cpus := 1-6\n"
            "pods: cpuset.cpus := 0,7\n"
            "pods/c: cpuset.cpus := 7\n"
            "pods: cpuset.cpus := 7\n"
            "podx: cpuset.cpus := 1-6\n"
            "podx: cpuset.cpus := 0-6\n"
            "podx/c: cpuset.cpus := 0-6\n"
            "pods/c: verify that it runs on 7\n"
            "podx/c: verify that it runs on 0-6\n");
}

/// Every order overlaps, since each container would have to move first.
TEST(Plan, NamesAContainerThatNoOrderCanMove) {
  const auto full = [](const char* x, const char* y) {
    Layout layout;
    add_exclusive(layout, "x", x);
    add_exclusive(layout, "y", y);
    return layout;
  };
  const auto steps = plan(full("0-3", "4-7"), full("4-7", "0-3"), kMachine);
  ASSERT_FALSE(steps.has_value());
  EXPECT_EQ(steps.error().message,
            "every CPU of '0-7' is exclusive to a container, so 'podx/c' cannot get its CPUs "
            "without an overlap: reserve at least one CPU");
}

TEST(Plan, SwapsTwoExclusiveContainersOverSharedCpus) {
  const auto pair = [](const char* a, const char* b) {
    return Layout{{{PodUid("p"), ""}, group("2-5")},
                  {{PodUid("p"), "a"}, group(a, Isolation::kContainer)},
                  {{PodUid("p"), "b"}, group(b, Isolation::kContainer)}};
  };
  const auto steps = plan(pair("2-3", "4-5"), pair("4-5", "2-3"), kMachine);
  ASSERT_TRUE(steps.has_value()) << steps.error().message;
  EXPECT_EQ(text(*steps),
            "podp: cpuset.cpus := 0-7\n"
            "podp/a: cpuset.cpus := 0-1,6-7\n"
            "podp/b: cpuset.cpus := 0-1,6-7\n"
            "podp: cpuset.cpus := 0-1,6-7\n"
            "podp: cpuset.cpus := 0-7\n"
            "podp/a: cpuset.cpus := 4-5\n"
            "podp/b: cpuset.cpus := 2-3\n"
            "podp: cpuset.cpus := 2-5\n"
            "podp/a: verify that it runs on 4-5\n"
            "podp/b: verify that it runs on 2-3\n");
}

TEST(Plan, FailsIfNoCpuIsFreeForASwap) {
  const Layout after = {{{PodUid("p"), ""}, group("0-7")},
                        {{PodUid("p"), "c"}, group("0-7", Isolation::kContainer)}};
  const auto steps = plan({}, after, kMachine);
  ASSERT_FALSE(steps.has_value());
  EXPECT_EQ(steps.error().message,
            "every CPU of '0-7' is exclusive to a container, so 'podp' cannot get its CPUs without "
            "an overlap: reserve at least one CPU");
}

/// On cgroup v1 a cpuset must be within its parent's, even where no container has exclusive CPUs.
TEST(Plan, WidensANarrowedPodBeforeItMakesAContainer) {
  EXPECT_EQ(text(plan({{{PodUid("s"), ""}, group("0")}}, shared_pod("0-7"), kMachine).value()),
            "pods: cpuset.cpus := 0-7\n"
            "pods/c: create\n"
            "pods/c: cpuset.cpus := 0-7\n"
            "pods/c: cpuset.mems := (as its parent)\n"
            "pods/c: verify that it runs on 0-7\n");
}

TEST(Plan, ShrinksSharedContainersBeforeAnExclusiveOne) {
  const auto both = [](const char* exclusive, const char* shared) {
    Layout layout = shared_pod(shared);
    add_exclusive(layout, "a", exclusive);
    return layout;
  };
  EXPECT_EQ(text(plan(both("2-5", "0-1,6-7"), both("2-3", "0-1"), kMachine).value()),
            "pods/c: cpuset.cpus := 0-1\n"
            "poda/c: cpuset.cpus := 2-3\n"
            "poda: cpuset.cpus := 2-3\n"
            "pods: cpuset.cpus := 0-1\n"
            "poda/c: verify that it runs on 2-3\n"
            "pods/c: verify that it runs on 0-1\n");
}

/// Another program has put two containers on CPUs of an exclusive one, each on the CPU that the
/// other one gets. Shared containers may overlap there.
TEST(Plan, OnlyExclusiveContainersAreInEachOthersWay) {
  const auto layout = [](const char* s, const char* t, Isolation of_t, const char* x) {
    return Layout{
        {{PodUid("s"), ""}, group(s)}, {{PodUid("s"), "c"}, group(s)},
        {{PodUid("t"), ""}, group(t)}, {{PodUid("t"), "c"}, group(t, of_t)},
        {{PodUid("x"), ""}, group(x)}, {{PodUid("x"), "c"}, group(x, Isolation::kContainer)}};
  };
  constexpr Isolation kShared = Isolation::kHost;
  constexpr Isolation kAlone = Isolation::kContainer;
  const auto steps = [&](Isolation before, Isolation after) {
    return plan(layout("0", "1", before, "0-7"), layout("1", "0", after, "2-7"), kMachine);
  };
  const auto shared = steps(kShared, kShared);
  ASSERT_TRUE(shared.has_value()) << shared.error().message;
  EXPECT_EQ(text(*shared),
            "podx/c: cpuset.cpus := 2-7\n"
            "pods: cpuset.cpus := 0-1\n"
            "pods/c: cpuset.cpus := 1\n"
            "podt: cpuset.cpus := 0-1\n"
            "podt/c: cpuset.cpus := 0\n"
            "pods: cpuset.cpus := 1\n"
            "podt: cpuset.cpus := 0\n"
            "podx: cpuset.cpus := 2-7\n"
            "pods/c: verify that it runs on 1\n"
            "podt/c: verify that it runs on 0\n"
            "podx/c: verify that it runs on 2-7\n");
  EXPECT_FALSE(steps(kShared, kAlone).has_value());
  EXPECT_FALSE(steps(kAlone, kShared).has_value());
}

TEST(Plan, CompletesAGroupOfWhichAPartIsMissing) {
  Layout before = shared_pod("0-7");
  before[{PodUid("s"), "c"}].is_complete = false;
  EXPECT_EQ(text(plan(before, shared_pod("0-7"), kMachine).value()), "pods/c: create\n");
}

TEST(Plan, TakesTheSetOfAPodAwayBeforeItsContainersGrow) {
  EXPECT_EQ(text(plan(shared_pod("0-1"), shared_pod(""), kMachine).value()),
            "pods: cpuset.cpus := (as its parent)\n"
            "pods/c: cpuset.cpus := (as its parent)\n"
            "pods/c: verify that it runs on 0-7\n");
}

/// Each move frees the CPU for which the previous container, in order of names, waits.
TEST(Plan, MovesAgainWhatAMoveHasFreed) {
  const auto full = [](const char* a, const char* b) {
    Layout layout;
    for (const auto& [name, cpus] : {std::pair("a", a), std::pair("b", b), std::pair("z", "0-4")}) {
      add_exclusive(layout, name, cpus);
    }
    return layout;
  };
  Layout before = full("5", "6");
  add_exclusive(before, "g", "7");
  EXPECT_EQ(text(plan(before, full("6", "7"), kMachine).value()),
            "podg/c: remove\n"
            "podg: remove\n"
            "podb: cpuset.cpus := 6-7\n"
            "podb/c: cpuset.cpus := 7\n"
            "poda: cpuset.cpus := 5-6\n"
            "poda/c: cpuset.cpus := 6\n"
            "poda: cpuset.cpus := 6\n"
            "podb: cpuset.cpus := 7\n"
            "poda/c: verify that it runs on 6\n"
            "podb/c: verify that it runs on 7\n");
}

TEST(Plan, MakesGroupsOnTheirCpusWhereNoneIsExclusive) {
  EXPECT_EQ(text(plan({}, shared_pod("2-3"), kMachine).value()),
            "pods: create\n"
            "pods: cpuset.cpus := 2-3\n"
            "pods/c: create\n"
            "pods/c: cpuset.cpus := 2-3\n"
            "pods: cpuset.mems := (as its parent)\n"
            "pods/c: cpuset.mems := (as its parent)\n"
            "pods/c: verify that it runs on 2-3\n");
}

TEST(Plan, ShrinksAPodToTheContainersThatStay) {
  Layout before = shared_pod("0-1");
  before[{PodUid("s"), ""}] = group("0-3");
  before[{PodUid("s"), "x"}] = group("2-3", Isolation::kContainer);
  EXPECT_EQ(text(plan(before, shared_pod("0-1"), kMachine).value()),
            "pods/x: remove\n"
            "pods: cpuset.cpus := 0-1\n");
}

TEST(Plan, HasNothingToDoForTheSameLayout) {
  const Layout layout = with_exclusive(shared_pod("0-1,4-7"));
  EXPECT_EQ(plan(layout, layout, kMachine).value(), Plan{});
}

/// Pods before, between and after those that change; the cpuset of one is larger than needed.
TEST(Plan, LeavesOutPodsThatStayTheSame) {
  Layout before = shared_pod("0-1");
  add_exclusive(before, "a", "4");
  add_exclusive(before, "r", "5");
  add_exclusive(before, "z", "6");
  before[{PodUid("r"), ""}] = group("0-7");
  Layout after = before;
  after[{PodUid("s"), "c"}] = group("0");
  before[{PodUid("q"), ""}] = group("0");
  after[{PodUid("t"), ""}] = group("0");
  EXPECT_EQ(text(plan(before, after, kMachine).value()),
            "podq: remove\n"
            "pods/c: cpuset.cpus := 0\n"
            "pods: cpuset.cpus := 0\n"
            "podt: create\n"
            "podt: cpuset.cpus := 0-3,7\n"
            "podt: cpuset.mems := (as its parent)\n"
            "pods: cpuset.cpus := 0-1\n"
            "podt: cpuset.cpus := 0\n"
            "pods/c: verify that it runs on 0\n");
}

TEST(Plan, WritesOnlyValuesThatDiffer) {
  Layout before = shared_pod("0-7");
  before[{PodUid("s"), "c"}].values = {{"cpu.max", "max 100000"}, {"cpu.weight", "100"}};
  Layout after = before;
  after[{PodUid("s"), "c"}].values["cpu.weight"] = "20";
  EXPECT_EQ(text(plan(before, after, kMachine).value()), "pods/c: cpu.weight := 20\n");
}

/// cgroup v1 checks the ratio of quota and period at every write, for the pod and its containers.
TEST(Plan, LiftsAQuotaOfCgroupV1BeforeItIsChanged) {
  const auto with_quota = [](const char* pod, const char* container) {
    Layout layout = shared_pod("0-7");
    layout[{PodUid("s"), ""}].values = {{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", pod}};
    layout[{PodUid("s"), "c"}].values = {{"cpu.cfs_period_us", "100000"},
                                         {"cpu.cfs_quota_us", container}};
    return layout;
  };
  EXPECT_EQ(
      text(plan(with_quota("50000", "50000"), with_quota("20000", "20000"), kMachine).value()),
      "pods: cpu.cfs_quota_us := -1\n"
      "pods/c: cpu.cfs_quota_us := -1\n"
      "pods/c: cpu.cfs_quota_us := 20000\n"
      "pods: cpu.cfs_quota_us := 20000\n");
}

TEST(Plan, LeavesAQuotaThatStays) {
  Layout before = shared_pod("0-7");
  before[{PodUid("s"), "c"}].values = {
      {"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", "50000"}, {"cpu.shares", "2"}};
  Layout after = before;
  after[{PodUid("s"), "c"}].values["cpu.shares"] = "512";
  EXPECT_EQ(text(plan(before, after, kMachine).value()), "pods/c: cpu.shares := 512\n");
}

TEST(Plan, NarrowsAPodsMemoryNodesAfterItsContainers) {
  const auto on = [](const char* mems) {
    return Layout{{{PodUid("s"), ""}, group("0-7", Isolation::kHost, mems)},
                  {{PodUid("s"), "c"}, group("0-7", Isolation::kHost, mems)}};
  };
  EXPECT_EQ(text(plan(on("0"), on("1"), kMachine).value()),
            "pods: cpuset.mems := 0-1\n"
            "pods/c: cpuset.mems := 1\n"
            "pods: cpuset.mems := 1\n");
}

TEST(ApplyTo, ChangesWhatTheStepIsAbout) {
  using Kind = Step::Kind;
  const GroupName name{PodUid("s"), "c"};
  const GroupSettings incomplete = {{0}, {0}, {{"cpu.weight", "1"}}, Isolation::kHost, false};
  const auto after = [&](const Step& step) {
    Layout layout = {{name, incomplete}};
    apply_to(layout, step);
    return layout;
  };
  const auto with = [&](auto change) {
    GroupSettings settings = incomplete;
    change(settings);
    return Layout{{name, settings}};
  };
  EXPECT_EQ(after({Kind::kRemove, name, {}, "", ""}), Layout{});
  EXPECT_EQ(after({Kind::kCreate, name, {}, "", ""}),
            with([](auto& it) { it.is_complete = true; }));
  EXPECT_EQ(after({Kind::kCpus, name, {3}, "", ""}), with([](auto& it) { it.cpus = {3}; }));
  EXPECT_EQ(after({Kind::kMems, name, {1}, "", ""}), with([](auto& it) { it.mems = {1}; }));
  EXPECT_EQ(after({Kind::kValue, name, {}, "cpu.weight", "9"}),
            with([](auto& it) { it.values["cpu.weight"] = "9"; }));
  EXPECT_EQ(after({Kind::kVerify, name, {3}, "", ""}), with([](auto&) {}));
}

ForeignGroup foreign(const char* directory, const char* cpus, const char* chosen = "") {
  ForeignGroup group{directory, CpuSet::parse(cpus).value(), CpuSet::parse(chosen).value()};
  group.processes = 1;
  return group;
}

/// Returns the plan's steps for foreign groups and its changes of containers' CPUs.
std::string text_with(const Layout& before, const Layout& after, ForeignGroups groups) {
  const auto steps = plan(before, after, kMachine, groups);
  if (!steps) return steps.error().message;
  std::string out;
  for (const Step& step : *steps) {
    const bool is_cpus = step.kind == Step::Kind::kCpus && !step.group.is_pod();
    if (step.is_foreign() || is_cpus) out += to_string(step) + "\n";
  }
  return out;
}

TEST(PlanForeign, LeavesTheCpusBeforeAContainerGetsThem) {
  EXPECT_EQ(text_with(shared_pod("0-7"), with_exclusive(shared_pod("0-1,4-7")),
                      {{foreign("/k/other", "0-7")}, CpuSet::parse("0-1,4-7").value(), {}}),
            "pods/c: cpuset.cpus := 0-1,4-7\n"
            "'/k/other': cpuset.cpus := 0-1,4-7\n"
            "podx/c: cpuset.cpus := 0-1,4-7\n"
            "podx/c: cpuset.cpus := 2-3\n");
}

TEST(PlanForeign, KeepsWhatItChoseAndIsLeftAloneWhereItHarmsNobody) {
  EXPECT_EQ(text_with(shared_pod("0-7"), with_exclusive(shared_pod("0-1,4-7")),
                      {{foreign("/k/a", "3-4", "3-4"), foreign("/k/b", "5-6", "5-6")},
                       CpuSet::parse("0-1,4-7").value(),
                       {}}),
            "pods/c: cpuset.cpus := 0-1,4-7\n"
            "'/k/a': cpuset.cpus := 4\n"
            "podx/c: cpuset.cpus := 0-1,4-7\n"
            "podx/c: cpuset.cpus := 2-3\n");
}

TEST(PlanForeign, GroupsInAGroupComeFirst) {
  EXPECT_EQ(text_with(shared_pod("0-7"), with_exclusive(shared_pod("0-1,4-7")),
                      {{foreign("/k/a", "0-7"), foreign("/k/a/b", "2-3", "2-3")},
                       CpuSet::parse("0-1,4-7").value(),
                       {},
                       true}),
            "pods/c: cpuset.cpus := 0-1,4-7\n"
            "'/k/a/b': cpuset.cpus := 0-1,4-7\n"
            "'/k/a': cpuset.cpus := 0-1,4-7\n"
            "podx/c: cpuset.cpus := 0-1,4-7\n"
            "podx/c: cpuset.cpus := 2-3\n");
}

TEST(PlanForeign, FollowsThePoolWithinWhatItChose) {
  ForeignGroup all = foreign("/k/all", "0-1,4-7", "0-1,4-7");
  all.before = CpuSet();
  ForeignGroup some = foreign("/k/some", "4", "4");
  some.before = CpuSet{3, 4};
  EXPECT_EQ(text_with(with_exclusive(shared_pod("0-1,4-7")), shared_pod("0-7"),
                      {{all, some}, kMachine, {}}),
            "pods/c: cpuset.cpus := 0-7\n"
            "'/k/all': cpuset.cpus := 0-7\n"
            "'/k/some': cpuset.cpus := 3-4\n");
}

/// Another agent confines the groups above these to CPUs that are exclusive to no container, and
/// may lift that at any moment.
TEST(PlanForeign, ConfinesWhatIsOnlyHeldNarrower) {
  ForeignGroup follows = foreign("/k/follows", "0-1");
  ForeignGroup chose = foreign("/k/chose", "0-1", "0-3");
  follows.can_grow = chose.can_grow = true;
  ForeignGroup has_pool = foreign("/k/pool", "0-1", "0-1,4-7");
  has_pool.can_grow = true;
  EXPECT_EQ(text_with(shared_pod("0-7"), with_exclusive(shared_pod("0-1,4-7")),
                      {{chose, follows, has_pool}, CpuSet::parse("0-1,4-7").value(), {}}),
            "pods/c: cpuset.cpus := 0-1,4-7\n"
            "'/k/follows': cpuset.cpus := 0-1,4-7\n"
            "'/k/chose': cpuset.cpus := 0-1\n"
            "podx/c: cpuset.cpus := 0-1,4-7\n"
            "podx/c: cpuset.cpus := 2-3\n");
}

/// The only CPU that the group can have becomes free while the plan runs.
TEST(PlanForeign, WaitsForACpuThatIsStillExclusive) {
  const auto full = [](const char* shared, const char* exclusive) {
    Layout layout = shared_pod(shared);
    add_exclusive(layout, "x", exclusive);
    return layout;
  };
  EXPECT_EQ(text_with(full("0", "1-7"), full("7", "0-6"), {{foreign("/k/a", "0")}, CpuSet{7}, {}}),
            "podx/c: cpuset.cpus := 1-6\n"
            "pods/c: cpuset.cpus := 7\n"
            "'/k/a': cpuset.cpus := 7\n"
            "podx/c: cpuset.cpus := 0-6\n");
}

TEST(PlanForeign, LeavesOtherExclusiveCpusToo) {
  EXPECT_EQ(text_with(shared_pod("0-7"), shared_pod("0-7"),
                      {{foreign("/k/a", "0-7")}, CpuSet::parse("0-5").value(), CpuSet{6, 7}}),
            "'/k/a': cpuset.cpus := 0-5\n");
}

/// The check before a commit plans without them.
TEST(PlanForeign, NoForeignGroupMakesAPlanImpossible) {
  const auto full = [](const char* shared, const char* exclusive) {
    Layout layout = shared_pod(shared);
    add_exclusive(layout, "x", exclusive);
    return layout;
  };
  // The only CPU to wait on is the one that every foreign group and no group above has.
  const Layout before = full("0", "1-3");
  const Layout after = full("0", "4-6");
  ForeignGroups hostile{{foreign("/k/a", "0-7"), foreign("/k/b", "0", "0")}, CpuSet{0}, CpuSet{0}};
  hostile.is_v1 = true;
  hostile.lost = kMachine;
  EXPECT_TRUE(plan(before, after, kMachine, hostile).has_value());
  // Without a CPU to wait on both fail alike.
  const auto alone = plan(full("0-3", "4-7"), full("4-7", "0-3"), kMachine);
  const auto among = plan(full("0-3", "4-7"), full("4-7", "0-3"), kMachine, hostile);
  ASSERT_FALSE(alone.has_value());
  ASSERT_FALSE(among.has_value());
  EXPECT_EQ(among.error().message, alone.error().message);
}

/// Processes in the root or in a pod's own group cannot be confined.
TEST(PlanForeign, OwnGroupsStay) {
  ForeignGroup own = foreign("/k", "0-7");
  own.is_own = true;
  EXPECT_EQ(text_with(shared_pod("0-7"), with_exclusive(shared_pod("0-1,4-7")),
                      {{own}, CpuSet::parse("0-1,4-7").value(), {}}),
            "pods/c: cpuset.cpus := 0-1,4-7\n"
            "podx/c: cpuset.cpus := 0-1,4-7\n"
            "podx/c: cpuset.cpus := 2-3\n");
}

}  // namespace
}  // namespace pinfold::enforce
