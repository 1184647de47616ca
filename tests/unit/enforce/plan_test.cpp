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

/// Another CPU is reserved on a full node: there is no CPU to wait on.
TEST(Plan, MovesTheSharedContainersOnceTheirNewCpusAreFree) {
  const auto full = [](const char* shared, const char* exclusive) {
    Layout layout = shared_pod(shared);
    layout[{PodUid("x"), ""}] = group(exclusive);
    layout[{PodUid("x"), "c"}] = group(exclusive, Isolation::kContainer);
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

/// Nothing but an overlap leads there: each would have to move first.
TEST(Plan, NamesAContainerThatNoOrderCanMove) {
  const auto full = [](const char* x, const char* y) {
    Layout layout;
    layout[{PodUid("x"), ""}] = group(x);
    layout[{PodUid("x"), "c"}] = group(x, Isolation::kContainer);
    layout[{PodUid("y"), ""}] = group(y);
    layout[{PodUid("y"), "c"}] = group(y, Isolation::kContainer);
    return layout;
  };
  const auto steps = plan(full("0-3", "4-7"), full("4-7", "0-3"), kMachine);
  ASSERT_FALSE(steps.has_value());
  EXPECT_EQ(steps.error().message,
            "no CPU of '0-7' is free of exclusive containers, so 'podx/c' cannot get its CPUs "
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
  EXPECT_EQ(
      steps.error().message,
      "no CPU of '0-7' is free of exclusive containers, so 'podp' cannot get its CPUs without "
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

TEST(Plan, HasNothingToDoForTheSameLayout) {
  const Layout layout = with_exclusive(shared_pod("0-1,4-7"));
  EXPECT_EQ(plan(layout, layout, kMachine).value(), Plan{});
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

}  // namespace
}  // namespace pinfold::enforce
