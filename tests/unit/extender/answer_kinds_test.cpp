// What the calls of a scheduler say of every kind of request and node that predict knows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "cluster_objects.hpp"
#include "pinfold/scheduling/answers.hpp"

namespace pinfold::scheduling {
namespace {

using cluster::ClusterView;
using test::OnZones;
using test::zones_of;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kGpu = "example.com/gpu";
constexpr const char* kPages = "hugepages-2Mi";

/// One view, one node "a" and one pod.
class ScheduleOneNode : public testing::Test {
 protected:
  /// Sets the node: what is allocatable, and what is available of it.
  void set(const std::string& policy, const std::string& scope,
           const std::vector<OnZones>& allocatable, const std::vector<OnZones>& available) {
    NodeTopology node = zones_of("a", policy, scope, allocatable);
    for (const OnZones& row : available) {
      for (std::size_t zone = 0; zone < row.amounts.size(); ++zone) {
        test::set_available(node, zone, row.resource, row.amounts[zone]);
      }
    }
    view->set_topology(node);
  }
  /// Returns the reason for which the node fails; "" if it passes.
  std::string why_not(const PodSpec& pod) {
    const FilterResult result = filter(*view, {pod, {"a"}, {}, ""}, now);
    view->remove_pod(pod.uid);  // no longer in flight
    EXPECT_EQ(result.passed.size() + result.failed.size(), 1U);
    return result.failed.empty() ? "" : result.failed.at("a");
  }
  std::int64_t score(const PodSpec& pod) {
    return prioritize(*view, {pod, {"a"}, {}, ""}, ScoringStrategy::kLeastNumaNodes, now)
        .at(0)
        .score;
  }
  /// Binds a pod that an exporter has observed. If there are only such pods, the rest of what is
  /// allocatable is available.
  void bind(const std::string& uid, std::vector<ZoneAmount> amounts) {
    view->set_pod(test::observed(test::watched(uid, "1", "a"), std::move(amounts)), now);
  }
  /// Returns whether the node stays a candidate if the victim is evicted.
  bool helps(const PodSpec& pod, const std::string& victim) {
    return preempt(*view, {pod, {{"a", {{PodUid(victim)}, 0}}}}, now).contains("a");
  }

  void ignore(std::vector<std::string> resources) {
    view.emplace(cluster::ClusterOptions{std::move(resources), std::chrono::seconds(15),
                                         std::chrono::seconds(30)});
  }

  std::optional<ClusterView> view{cluster::ClusterOptions{}};
  kube::Time now{1'000};
};

PodSpec wanting(const test::Amounts& amounts) { return test::pod("p", amounts); }

TEST_F(ScheduleOneNode, DevicesCountWithCpusOfTheirZone) {
  const std::vector<OnZones> all = {{"cpu", {"8", "8"}}, {kGpu, {"2", "2"}}};
  const PodSpec pod = wanting({{"cpu", "4"}, {"memory", "1Mi"}, {kGpu, "1"}});
  set("single-numa-node", "pod", all, {{"cpu", {"8", "2"}}, {kGpu, {"0", "2"}}});
  EXPECT_EQ(why_not(pod),
            "no NUMA node has cpu 4 and example.com/gpu 1 free (nearest: a: node-1 lacks cpu 2)");
  EXPECT_EQ(score(pod), 0);
  set("single-numa-node", "pod", all, {{"cpu", {"8", "2"}}, {kGpu, {"1", "2"}}});
  EXPECT_EQ(why_not(pod), "");
  EXPECT_EQ(score(pod), 10);
  const PodSpec many = wanting({{"cpu", "3"}, {"memory", "1Mi"}, {kGpu, "20"}});
  EXPECT_EQ(why_not(many),
            "all NUMA nodes together have less than example.com/gpu 20 allocatable (nearest: a: it "
            "has example.com/gpu 4 of 20)");
}

TEST_F(ScheduleOneNode, AVictimHelpsWithItsDevicesInItsZone) {
  set("single-numa-node", "pod", {{"cpu", {"8", "8"}}, {kGpu, {"2", "2"}}}, {});
  const PodSpec pod = wanting({{"cpu", "4"}, {"memory", "1Mi"}, {kGpu, "2"}});
  bind("two", {{"node-0", "cpu", 1000}, {"node-0", kGpu, 2}});
  bind("one", {{"node-1", "cpu", 1000}, {"node-1", kGpu, 1}});
  EXPECT_NE(why_not(pod), "");
  EXPECT_TRUE(helps(pod, "two"));
  EXPECT_TRUE(helps(pod, "one"));
  bind("third", {{"node-1", "cpu", 1000}, {"node-1", kGpu, 1}});
  EXPECT_FALSE(helps(pod, "one"));  // leaves one GPU to another on each zone
  EXPECT_TRUE(helps(pod, "two"));
}

TEST_F(ScheduleOneNode, HugePagesCountInTheirZone) {
  const std::vector<OnZones> all = {
      {"cpu", {"8", "8"}}, {"memory", {"4Gi", "4Gi"}}, {kPages, {"1Gi", "1Gi"}}};
  const PodSpec pod = wanting({{"cpu", "2"}, {"memory", "1Gi"}, {kPages, "768Mi"}});
  set("single-numa-node", "pod", all, {{kPages, {"512Mi", "640Mi"}}});
  EXPECT_EQ(why_not(pod),
            "no NUMA node has cpu 2 and hugepages-2Mi 768Mi and memory 1Gi free (nearest: a: "
            "node-1 lacks hugepages-2Mi 128Mi)");
  set("single-numa-node", "pod", all, {{kPages, {"512Mi", "1Gi"}}});
  EXPECT_EQ(why_not(pod), "");
  EXPECT_EQ(score(pod), 10);
  constexpr std::int64_t kHalf = std::int64_t{512} << 20U;
  bind("other", {{"node-0", kPages, kHalf}, {"node-1", kPages, kHalf}});
  EXPECT_NE(why_not(pod), "");
  EXPECT_TRUE(helps(pod, "other"));
}

TEST_F(ScheduleOneNode, IgnoredResourcesDecideNothing) {
  const std::vector<OnZones> all = {{"cpu", {"8", "8"}}, {"memory", {"1Gi", "1Gi"}}};
  const PodSpec pod = wanting({{"cpu", "6"}, {"memory", "1536Mi"}});
  set("single-numa-node", "pod", all, {});
  EXPECT_NE(why_not(pod), "");
  EXPECT_EQ(score(pod), 0);
  EXPECT_FALSE(helps(pod, "none"));
  ignore({"memory"});
  set("single-numa-node", "pod", all, {});
  EXPECT_EQ(why_not(pod), "");
  EXPECT_EQ(score(pod), 10);
  EXPECT_TRUE(helps(pod, "none"));
  set("single-numa-node", "pod", all, {{"cpu", {"5", "5"}}});
  EXPECT_EQ(why_not(pod), "no NUMA node has cpu 6 free (nearest: a: node-0 lacks cpu 1)");
  ignore({"memory", "cpu"});
  set("single-numa-node", "pod", all, {{"cpu", {"5", "5"}}});
  EXPECT_EQ(why_not(pod), "");
}

PodSpec two_containers(const char* first, const char* second) {
  return test::pod_of("p", {test::container("a", {{"cpu", first}, {"memory", "1Mi"}}),
                            test::container("b", {{"cpu", second}, {"memory", "1Mi"}})});
}

TEST_F(ScheduleOneNode, TheScopeDecidesWhatIsAlignedTogether) {
  const std::vector<OnZones> all = {{"cpu", {"8", "8"}}};
  const PodSpec pod = two_containers("5", "6");
  set("single-numa-node", "pod", all, {});
  EXPECT_EQ(why_not(pod), "no NUMA node has cpu 11 free (nearest: a: node-0 lacks cpu 3)");
  EXPECT_EQ(score(pod), 0);
  set("single-numa-node", "container", all, {});
  EXPECT_EQ(why_not(pod), "");
  EXPECT_EQ(score(pod), 5);  // two zones
  set("single-numa-node", "container", all, {{"cpu", {"7", "5"}}});
  EXPECT_EQ(why_not(pod),
            "container 'b': no NUMA node has cpu 6 free (nearest: a: node-1 lacks cpu 1)");
  bind("left", {{"node-0", "cpu", 1000}});
  bind("right", {{"node-1", "cpu", 3000}});
  EXPECT_FALSE(helps(pod, "left"));
  EXPECT_TRUE(helps(pod, "right"));
}

TEST_F(ScheduleOneNode, APodInFlightCountsInTheZonesOfEachContainer) {
  set("single-numa-node", "container", {{"cpu", {"8", "8"}}}, {});
  EXPECT_THAT(filter(*view, {two_containers("5", "6"), {"a"}, {}, ""}, now).passed, ElementsAre(0));
  const auto later = [&](const char* cpus) {
    return filter(*view, {test::watched("q", cpus).spec, {"a"}, {}, ""}, now).failed;
  };
  EXPECT_THAT(
      later("4"),
      ElementsAre(Pair(
          "a", "container 'c': no NUMA node has cpu 4 free (nearest: a: node-0 lacks cpu 1)")));
  EXPECT_THAT(later("3"), IsEmpty());
}

TEST_F(ScheduleOneNode, RestrictedTakesTheFewestZonesThatCouldHoldThePod) {
  const std::vector<OnZones> all = {{"cpu", {"8", "8"}}, {kGpu, {"2", "2"}}};
  const PodSpec wide = wanting({{"cpu", "12"}, {"memory", "1Mi"}, {kGpu, "4"}});
  const PodSpec mixed = wanting({{"cpu", "12"}, {"memory", "1Mi"}, {kGpu, "1"}});
  const PodSpec narrow = wanting({{"cpu", "6"}, {"memory", "1Mi"}});
  set("restricted", "pod", all, {});
  EXPECT_EQ(why_not(wide), "");
  EXPECT_EQ(score(wide), 5);
  EXPECT_EQ(score(narrow), 10);
  EXPECT_EQ(why_not(mixed),
            "cpu 12 prefers 2 zones, example.com/gpu 1 prefers 1 zone: the resources prefer "
            "different numbers of zones");
  EXPECT_FALSE(helps(mixed, "none"));
  bind("left", {{"node-0", "cpu", 3000}});
  bind("right", {{"node-1", "cpu", 3000}});
  EXPECT_EQ(why_not(narrow), "no NUMA node has cpu 6 free (nearest: a: node-0 lacks cpu 1)");
  EXPECT_FALSE(helps(narrow, "none"));
  EXPECT_TRUE(helps(narrow, "right"));
  EXPECT_EQ(why_not(wide),
            "all NUMA nodes together have less than cpu 12 free (nearest: a: it has cpu 10 of 12)");
  EXPECT_TRUE(helps(wide, "right"));
}

TEST_F(ScheduleOneNode, BestEffortRejectsOnlyWhatItLacksInTotal) {
  const std::vector<OnZones> all = {{"cpu", {"8", "8"}}};
  const PodSpec pod = wanting({{"cpu", "6"}, {"memory", "1Mi"}});
  set("best-effort", "pod", all, {{"cpu", {"5", "5"}}});
  EXPECT_EQ(why_not(pod), "");
  EXPECT_EQ(score(pod), 0);
  EXPECT_TRUE(helps(pod, "none"));
  set("best-effort", "pod", all, {});
  EXPECT_EQ(score(pod), 10);
  set("best-effort", "pod", all, {{"cpu", {"2", "3"}}});
  EXPECT_EQ(why_not(pod),
            "all NUMA nodes together have less than cpu 6 free (nearest: a: it has cpu 5 of 6)");
  EXPECT_FALSE(helps(pod, "none"));
}

}  // namespace
}  // namespace pinfold::scheduling
