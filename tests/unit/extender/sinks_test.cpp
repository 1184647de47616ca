#include "pinfold/cluster/sinks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cluster_objects.hpp"

namespace pinfold::cluster {
namespace {

using kube::Kind;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ViewSinkTest : public testing::Test {
 protected:
  ViewSink sink(Kind kind) {
    return ViewSink(
        kind, view, [] { return kube::Time(5); },
        [this](const std::string& text) { warnings.push_back(text); });
  }
  [[nodiscard]] ClusterView::Counts counts() {
    return view.use([](ClusterView& of) { return of.counts(); });
  }
  /// An item of a list, without kind and API version.
  static json item(const std::string& name) {
    json object = to_json(test::eight_each(name));
    object.erase("kind");
    object.erase("apiVersion");
    return object;
  }

  SharedView view{ClusterOptions{}};
  std::vector<std::string> warnings;
};

TEST_F(ViewSinkTest, WhatAListDoesNotShowIsRemoved) {
  ViewSink topologies = sink(Kind::kNodeTopologies);
  topologies.begin_list();
  topologies.set(item("a"));
  topologies.set(item("b"));
  topologies.end_list();
  EXPECT_EQ(counts().topologies, 2U);
  topologies.begin_list();
  topologies.set(item("b"));
  topologies.begin_list();  // the first list broke off
  topologies.set(item("b"));
  topologies.end_list();
  EXPECT_EQ(counts().topologies, 1U);
  topologies.remove(item("b"));
  EXPECT_EQ(counts().topologies, 0U);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(ViewSinkTest, AnObjectThatCannotBeReadDoesNotStopTheOthers) {
  ViewSink topologies = sink(Kind::kNodeTopologies);
  json broken = item("broken");
  broken["zones"][0]["resources"][0].erase("available");
  topologies.set(broken);
  topologies.set(json::array());
  topologies.set(item("ok"));
  EXPECT_EQ(counts().topologies, 1U);
  EXPECT_EQ(counts().unread, 1U);
  EXPECT_THAT(warnings,
              ElementsAre("node 'broken': nothing is predicted: zones[0].resources[0].available: "
                          "missing: expected a quantity",
                          HasSubstr("noderesourcetopologies: metadata.name")));
}

TEST_F(ViewSinkTest, WhatStaysWrongIsSaidOnce) {
  ViewSink topologies = sink(Kind::kNodeTopologies);
  ViewSink pods = sink(Kind::kPods);
  json broken = item("broken");
  broken["zones"] = 5;
  json strange = item("strange");
  strange["attributes"][0]["value"] = "strict";
  json pod = to_json(test::pod("u1", {{"cpu", "1"}}));
  pod["spec"]["nodeName"] = "a";
  pod["metadata"]["annotations"][std::string(kube::kObservedAnnotation)] = "5";
  for (int i = 0; i < 3; ++i) {
    topologies.set(broken);
    topologies.set(strange);
    pods.set(pod);
  }
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("node 'broken'"), HasSubstr("node 'strange'"),
                                    HasSubstr("pod 'default/u1'")));
  pod["metadata"]["annotations"].clear();
  pods.set(pod);
  EXPECT_EQ(warnings.size(), 3U);
}

TEST_F(ViewSinkTest, APodThatCannotBeReadIsNamed) {
  ViewSink pods = sink(Kind::kPods);
  json pod = to_json(test::pod("u1", {{"cpu", "1"}}));
  pod["metadata"]["name"] = "web";
  pod["metadata"]["namespace"] = "shop";
  pod["spec"]["containers"] = 5;
  pods.set(pod);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("pod 'shop/web' does not count: ")));
}

TEST_F(ViewSinkTest, PodsAreKnownByTheirUids) {
  ViewSink pods = sink(Kind::kPods);
  json pod = to_json(test::pod("u1", {{"cpu", "1"}}));
  pod["spec"]["nodeName"] = "a";
  pods.begin_list();
  pods.set(pod);
  pods.end_list();
  EXPECT_EQ(counts().pods, 1U);
  pods.begin_list();
  pods.end_list();
  EXPECT_EQ(counts().pods, 0U);
}

TEST_F(ViewSinkTest, TimesOfObjectsAreRead) {
  ViewSink nodes = sink(Kind::kNodes);
  ViewSink topologies = sink(Kind::kNodeTopologies);
  nodes.set({{"metadata", {{"name", "a"}, {"creationTimestamp", "2026-01-31T12:00:00Z"}}}});
  json object = item("a");
  object["metadata"]["managedFields"] = {{{"time", "2026-01-31T11:00:00Z"}}, {{"manager", "x"}}};
  topologies.set(object);
  const auto number = [&] { return view.use([](ClusterView& of) { return of.number_of("a"); }); };
  EXPECT_EQ(number(), std::nullopt);
  object["metadata"]["managedFields"][1]["time"] = "2026-01-31T12:00:00Z";
  topologies.set(object);
  EXPECT_EQ(number(), 0U);
}

TEST_F(ViewSinkTest, NodesAreCounted) {
  ViewSink nodes = sink(Kind::kNodes);
  nodes.set({{"metadata", {{"name", "a"}}}});
  EXPECT_EQ(counts().nodes, 1U);
  nodes.remove({{"metadata", {{"name", "a"}}}});
  EXPECT_EQ(counts().nodes, 0U);
}

}  // namespace
}  // namespace pinfold::cluster
