#include "pinfold/harness/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinfold::harness {
namespace {

const Unset kUnset{CpuSet{0, 1, 2, 3, 4, 5, 6, 7}, CpuSet{0, 1}};

std::vector<DesiredContainer> two_containers() {
  return {{"a/app", "container", "/cg/a", "2-3", "1"}, {"b/app", "host", "/cg/b", "0-1,4-7", ""}};
}

std::map<std::string, ContainerValues> as_desired() {
  return {{"a/app", {"2-3", "1", true, "2-3", "1", "1"}},
          {"b/app", {"0-1,4-7", "0-1", true, "0-1,4-7", "0-1", "0"}}};
}

TEST(JudgeContainers, PassesIfTheKernelHasTheDesiredValues) {
  const auto rows = judge_containers(two_containers(), as_desired(), kUnset);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].ok());
  EXPECT_TRUE(rows[1].ok());
  EXPECT_EQ(rows[0].checks.size(), 5U);
}

TEST(JudgeContainers, DetectsEveryDrift) {
  struct {
    const char* what;
    void (*spoil)(std::map<std::string, ContainerValues>&);
  } cases[] = {
      {"other CPUs", [](auto& k) { k["a/app"].cpus = "2"; }},
      {"other nodes", [](auto& k) { k["a/app"].mems = "0-1"; }},
      {"process elsewhere", [](auto& k) { k["a/app"].cpus_allowed = "0-7"; }},
      {"process may use other nodes", [](auto& k) { k["a/app"].mems_allowed = "0-1"; }},
      {"pages elsewhere", [](auto& k) { k["a/app"].page_nodes = "0-1"; }},
      {"pages unknown", [](auto& k) { k["a/app"].page_nodes = "1?"; }},
      {"no pages", [](auto& k) { k["a/app"].page_nodes = ""; }},
      {"overlap", [](auto& k) { k["b/app"].cpus = "0-1,3-7"; }},
      {"no cgroup", [](auto& k) { k.erase("a/app"); }},
  };
  for (const auto& c : cases) {
    auto kernel = as_desired();
    c.spoil(kernel);
    EXPECT_FALSE(judge_containers(two_containers(), kernel, kUnset)[0].ok()) << c.what;
  }
}

TEST(JudgeContainers, TreatsAnUnsetCpusetAsAllOnlineCpusAndNodes) {
  const std::vector<DesiredContainer> desired = {{"a/app", "host", "/cg/a", "", ""}};
  EXPECT_TRUE(
      judge_containers(desired, {{"a/app", {"0-7", "0-1", true, "0-7", "0-1", "0"}}}, kUnset)[0]
          .ok());
  EXPECT_FALSE(
      judge_containers(desired, {{"a/app", {"0-6", "0-1", true, "0-6", "0-1", "0"}}}, kUnset)[0]
          .ok());
}

TEST(CheckValue, ComparesListsAsSetsAndTheRestAsText) {
  EXPECT_TRUE(check_value("w", "cpuset.cpus.effective", "0,1,2", "0-2\n").ok);
  EXPECT_TRUE(check_value("w", "pageNodes", "1", "1").ok);
  EXPECT_FALSE(check_value("w", "cpuset.cpus", "0-2", "0-3").ok);
  EXPECT_FALSE(check_value("w", "cpuset.cpus", "0-2", "(ENOENT)").ok);
  EXPECT_TRUE(check_value("w", "cpu.max", "max 100000", " max 100000\n").ok);
  EXPECT_FALSE(check_value("w", "cpu.weight", "1,2", "1-2").ok);
}

TEST(NodesOfPages, ListsNodesAndMarksAbsentPages) {
  EXPECT_EQ(nodes_of_pages({{"0", 3}, {"1", 1}}), "0-1");
  EXPECT_EQ(nodes_of_pages({{"1", 3}, {"ENOENT", 1}}), "1?");
  EXPECT_EQ(nodes_of_pages("none"), "?");
}

TEST(CheckWanted, AcceptsNumbersWithinBounds) {
  const struct {
    ExpectedValue expected_value;
    const char* observed;
    bool ok;
  } cases[] = {
      {{"", 1, {}}, "1", true},        {{"", 1, {}}, "0", false},        {{"", {}, 3}, "3", true},
      {{"", {}, 3}, "4", false},       {{"", 1, 3}, "2", true},          {{"", 1, 3}, "", false},
      {{"", 1, 3}, "2 apples", false}, {{"", {}, 3}, "(ENOENT)", false}, {{"5", {}, {}}, "5", true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(check_expected("x", "cpu.weight", c.expected_value, c.observed).ok, c.ok)
        << c.observed;
  }
  EXPECT_EQ(check_expected("x", "y", {"", 1, 3}, "9").expected, "at least 1 and at most 3");
}

TEST(LineValue, FindsTheWholeKey) {
  const std::string text = "nr_periods 3\nnr_throttled 2\nnr 1";
  EXPECT_EQ(line_value(text, "nr_throttled"), "2");
  EXPECT_EQ(line_value(text, "nr"), "1");
  EXPECT_EQ(line_value(text, "nr_"), "(no such line)");
}

TEST(PagesOn, CountsAndShares) {
  const nlohmann::json pages = {{"0", 1}, {"1", 2}};
  EXPECT_EQ(pages_on(pages, "1", false), "2");
  EXPECT_EQ(pages_on(pages, "1", true), "67");
  EXPECT_EQ(pages_on(pages, "2", true), "0");
  EXPECT_EQ(pages_on(nlohmann::json::object(), "0", true), "?");
  EXPECT_EQ(pages_on(nullptr, "0", false), "?");
}

TEST(CommonValue, NamesTheThreadThatDiffers) {
  const nlohmann::json threads = {{{"tid", "7"}, {"name", "a"}, {"cpus", "0-1"}},
                                  {{"tid", "8"}, {"name", "b"}, {"cpus", "1"}}};
  EXPECT_EQ(common_value(threads, "cpus", "0-1"), "1 (8 b)");
  EXPECT_EQ(common_value(nlohmann::json::array(), "cpus", "0-1"), "(no process)");
}

TEST(CheckDisjoint, ChecksEveryPair) {
  const auto checks = check_disjoint({{"a", "0-1"}, {"b", "2-3"}, {"c", "3"}, {"d", "(ENOENT)"}});
  ASSERT_EQ(checks.size(), 6U);
  EXPECT_TRUE(checks[0].ok);
  EXPECT_FALSE(checks[3].ok);
  EXPECT_EQ(checks[3].observed, "3");
  EXPECT_FALSE(checks[5].ok);
}

TEST(OverlapsSeen, FindsExclusiveCpusInOtherContainersOnly) {
  const ExclusiveCpus exclusive = {{"podA/c", CpuSet{2, 3}}};
  const struct {
    const char* what;
    const char* groups;
    std::size_t overlaps;
  } cases[] = {
      {"its own alone", "podA 2-3\npodA/c 2-3\npodB/d 0-1\n", 0},
      {"pod groups count for nothing", "podB 0-3\npodA/c 2-3\n", 0},
      {"not yet its own", "podA/c 0\npodB/d 0-3\n", 0},
      {"shared ones overlap", "podB/d 0-1\npodB/e 0-1\n", 0},
      {"one CPU", "podA/c 2-3\npodB/d 0-2\n", 1},
      {"two others", "podA/c 2-3\npodB/d 0-2\npodB/e 3\n", 2},
      {"no list", "podA/c\npodB/d x\n", 0},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(overlaps_seen(c.groups + std::string("\n"), exclusive).size(), c.overlaps) << c.what;
  }
}

TEST(OverlapsSeen, FollowsTheChangesFromStateToState) {
  const ExclusiveCpus exclusive = {{"podA/c", CpuSet{2, 3}}};
  EXPECT_TRUE(overlaps_seen("podB/d 0-3\n\npodB/d 0-1\npodA/c 2-3\n\n", exclusive).empty());
  EXPECT_TRUE(overlaps_seen("podA/c 2-3\n\npodA/c\npodB/d 0-3\n\n", exclusive).empty());
  EXPECT_TRUE(overlaps_seen("podB/d 0-3\npodA/c 2-3\n", exclusive).empty()) << "no whole state";
  EXPECT_THAT(overlaps_seen("podB/d 0-2\n\npodA/c 2-3\n\npodB/e 1\n\n", exclusive),
              testing::ElementsAre("podB/d had CPUs 2 of podA/c"));
}

TEST(OverlapsSeen, CpusThatAPodSharesBelongToItsContainers) {
  const ExclusiveCpus exclusive = {{"podA", CpuSet{2, 3}}, {"podA/x", CpuSet{1}}};
  EXPECT_TRUE(overlaps_seen("podA/c 2-3\npodA/d 2-3\npodA/x 1\npodB/e 0\n\n", exclusive).empty());
  EXPECT_THAT(overlaps_seen("podA/c 2-3\npodA/x 1\npodAB/e 3\n\n", exclusive),
              testing::ElementsAre("podAB/e had CPUs 3 of podA"));
  EXPECT_THAT(overlaps_seen("podA/c 1-3\npodA/x 1\n\n", exclusive),
              testing::ElementsAre("podA/c had CPUs 1 of podA/x"));
}

/// Returns the overlaps with the container c of pod B, which has CPUs 2-3.
std::vector<std::string> overlaps_of_runtime(const std::string& changes,
                                             NeverPinned never_pinned = NeverPinned::kCount) {
  const ExclusiveCpus exclusive = {{"podB/c", CpuSet{2, 3}}};
  return overlaps_seen(changes_of_runtime(changes, exclusive, never_pinned), exclusive);
}

TEST(ChangesOfRuntime, CountsAGroupFromWhenItHasACpuset) {
  // The sandbox s is on all CPUs until the container c of another pod starts.
  EXPECT_EQ(changes_of_runtime("podA 0-7\npodA/s 0-7\n\n"
                               "podB 0-7\npodB/c 0-7\n\n"
                               "podB/c 2-3\n\n"
                               "podA/s 0-1\n\n",
                               {}, NeverPinned::kCount),
            "\n\npodB/c 2-3\n\npodA/s 0-1\npodB/c 2-3\n\n");
}

/// While a container is being created, the service may confine its group to the shared pool, whose
/// CPUs may later be the container's.
TEST(ChangesOfRuntime, CountsAnExclusiveGroupFromWhenItHasOnlyItsOwnCpus) {
  const ExclusiveCpus exclusive = {{"podB/c", CpuSet{1, 2, 3}}};
  const auto overlaps = [&exclusive](const std::string& changes) {
    return overlaps_seen(changes_of_runtime(changes, exclusive, NeverPinned::kCount), exclusive);
  };
  const std::string created = "podA 0-7\npodA/s 0,3-7\npodB 0-7\npodB/c 0-7\n\npodB/c 0,3-7\n\n";
  EXPECT_TRUE(overlaps(created + "podB/c 1-2\n\npodA/s 0,4-7\n\npodB/c 1-3\n\n").empty());
  const auto found = testing::ElementsAre("podA/s had CPUs 3 of podB/c");
  EXPECT_THAT(overlaps(created), found) << "it never gets its CPUs";
  EXPECT_THAT(overlaps(created + "podB/c 1-2\n\npodB/c 0,3-7\n\n"), found) << "it loses them";
}

TEST(ChangesOfRuntime, KeepsCountingAGroupThatLosesItsCpuset) {
  const std::string before = "podB 0-7\npodB/c 2-3\nburstable 0-7\nburstable/podA 0-7\n";
  EXPECT_TRUE(overlaps_of_runtime(before + "burstable/podA/d 0-1\n\n").empty());
  EXPECT_THAT(overlaps_of_runtime(before + "burstable/podA/d 0-1\n\n"
                                           "burstable/podA/d 0-7\n\n"
                                           "burstable/podA/d\n\n"),
              testing::ElementsAre("burstable/podA/d had CPUs 2-3 of podB/c"));
}

/// The file for a pod's group appears a little before that of the sandbox in it.
TEST(ChangesOfRuntime, CountsNoGroupBeforeTheOneAboveIsSeen) {
  EXPECT_TRUE(overlaps_of_runtime("podB 0-7\npodB/c 2-3\npodA/s 0-7\n\n"
                                  "podA 0-7\npodA/s 0-1\n\n")
                  .empty());
}

/// A program that was never pinned, because the plugin was dead or did not see it.
TEST(ChangesOfRuntime, CountsAGroupThatNeverHasACpuset) {
  const std::string changes = "podA 0-7\npodA/d 0-7\npodB 0-7\npodB/c 2-3\n\n";
  const auto found = testing::ElementsAre("podA/d had CPUs 2-3 of podB/c");
  EXPECT_THAT(overlaps_of_runtime(changes), found) << "it runs";
  EXPECT_THAT(overlaps_of_runtime(changes + "podA/d\n\n"), found) << "it has ended";
  EXPECT_THAT(overlaps_of_runtime(changes + "podB/c\n\n"), found) << "the other one has ended";
  EXPECT_THAT(overlaps_of_runtime(changes + "podA\npodA/d\n\npodA 0-7\npodA/d 0-1\n\n"), found)
      << "a later one of its name is pinned";
  EXPECT_TRUE(overlaps_of_runtime(changes + "podA/d 0-1\n\n").empty()) << "runc has just made it";
}

/// Groups left by a killed runtime are empty: no process can use their CPUs.
TEST(ChangesOfRuntime, CountsNoGroupWithoutProcesses) {
  const std::string before = "podA 0-7\npodA/d 0-1\npodB 0-7\npodB/c 4-5\n\n";
  const std::string empty = before + "podA/d \n\npodB/c 0-1\n\n";
  const ExclusiveCpus exclusive = {{"podB/c", CpuSet{0, 1}}};
  const auto overlaps = [&exclusive](const std::string& changes) {
    return overlaps_seen(changes_of_runtime(changes, exclusive, NeverPinned::kCount), exclusive);
  };
  EXPECT_TRUE(overlaps(empty).empty());
  const auto found = testing::ElementsAre("podA/d had CPUs 0-1 of podB/c");
  EXPECT_THAT(overlaps(before + "podB/c 0-1\n\n"), found) << "it has processes";
  EXPECT_THAT(overlaps(empty + "podA/d 0-1\n\n"), found) << "it has some again";
}

TEST(ChangesOfRuntime, WithoutExclusiveCpusAGroupNeedsNoCpuset) {
  EXPECT_TRUE(overlaps_of_runtime("podA 0-7\npodA/d 0-7\n\n"
                                  "podA/d\n\n"
                                  "podB 0-7\npodB/c 2-3\n\n")
                  .empty());
}

TEST(ChangesOfRuntime, SkipsOnlyWhatHasEndedUnpinned) {
  const std::string changes = "podA 0-7\npodA/d 0-7\npodB 0-7\npodB/c 2-3\n\n";
  const auto skipping = [](const std::string& all) {
    return overlaps_of_runtime(all, NeverPinned::kSkipEnded);
  };
  EXPECT_TRUE(skipping(changes + "podA/d\n\n").empty());
  EXPECT_THAT(skipping(changes), testing::SizeIs(1)) << "it still runs";
  EXPECT_THAT(skipping(changes + "podA/d\n\npodA/d 0-7\n\n"), testing::SizeIs(1)) << "again";
  EXPECT_THAT(skipping(changes + "podA/d 0-1\n\npodA/d 0-7\n\npodA/d\n\n"), testing::SizeIs(1))
      << "it has had a cpuset";
}

TEST(ParseExclusive, ReadsGroupsAndLists) {
  const auto read = parse_exclusive("podA/c 2-3\npodB 4\npodA/c 5\n");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, (ExclusiveCpus{{"podA/c", CpuSet{2, 3, 5}}, {"podB", CpuSet{4}}}));
  EXPECT_FALSE(parse_exclusive("podA/c\n"));
  EXPECT_FALSE(parse_exclusive("podA/c x\n"));
}

TEST(AdmitAnswer, TellsARejectedPodFromOneThatIsNotEnforced) {
  const char* const plain = R"({"pods": [{"name": "a", "notEnforced": null}]})";
  const char* const unenforced = R"({"pods": [{}, {"notEnforced": {"message": "EACCES"}}]})";
  EXPECT_EQ(admit_answer(0, plain), "admitted");
  EXPECT_EQ(admit_answer(1, plain), "rejected");
  EXPECT_EQ(admit_answer(2, "no JSON"), "error");
  EXPECT_EQ(admit_answer(1, "no JSON"), "rejected");
  EXPECT_EQ(admit_answer(1, unenforced), "admitted, but not enforced");
  EXPECT_EQ(admit_answer(137, plain), "");
  EXPECT_EQ(admit_answer(-1, plain), "");
}

}  // namespace
}  // namespace pinfold::harness
