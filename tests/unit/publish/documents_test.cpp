#include "pinfold/publish/documents.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "node_fixture.hpp"
#include "node_topology_schema.hpp"
#include "pinfold/kube/watched_pod.hpp"
#include "pinfold/predict/node_topology.hpp"

namespace pinfold::publish {
namespace {

using nlohmann::json;

const NodeIdentity kWorker = {"worker-1", "uid-of-node"};

test::TestNode managed_node() {
  return {{}, test::with_memory_manager(test::aligning_config("single-numa-node"))};
}

std::vector<Document> documents(const test::TestNode& node,
                                Placements placements = Placements::kOn) {
  return documents_of(node.node(), node.state(), kWorker, placements);
}

json annotations(const Document& document) {
  return json::parse(document.patch).at("metadata").at("annotations");
}

TEST(PublishDocuments, TheTopologyIsFirstAndConformsToTheCrd) {
  test::TestNode node = managed_node();
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "2"}, {"memory", "1Gi"}})), "");
  const Document topology = documents(node).front();
  EXPECT_EQ(topology.kind, PublishedKind::kTopology);
  EXPECT_EQ(topology.target,
            "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/worker-1"
            "?fieldManager=pinfold");
  json object = json::parse(topology.patch);
  EXPECT_EQ(object.at("metadata").at("ownerReferences"),
            json::parse(R"([{"apiVersion":"v1","kind":"Node","name":"worker-1",
                             "uid":"uid-of-node"}])"));
  EXPECT_EQ(node_topology_from_json(object).value(),
            describe(node.node(), node.state(), "worker-1"));
  object["metadata"].erase("ownerReferences");  // in all objects, so not in this CRD's rules
  EXPECT_EQ(test::schema_problem(object, test::node_topology_schema()), "");
}

TEST(PublishDocuments, APlacementNamesThePodItsUidAndWhatItHolds) {
  test::TestNode node = managed_node();
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "2"}, {"memory", "1Gi"}})), "");
  const auto all = documents(node);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].kind, PublishedKind::kPlacement);
  EXPECT_EQ(all[1].target, "/api/v1/namespaces/default/pods/p?fieldManager=pinfold");
  EXPECT_EQ(json::parse(all[1].patch).at("metadata").at("uid"), "p");
  const json written = annotations(all[1]);
  const auto observed =
      kube::parse_observed(written.at("kai.scheduler/numa-placement-observed").get<std::string>());
  EXPECT_EQ(observed.value(),
            (std::vector<ZoneAmount>{{"node-0", "cpu", 2000},
                                     {"node-0", "memory", std::int64_t{1} << 30U}}));
  EXPECT_EQ(written.at("kai.scheduler/numa-memory-groups-observed"),
            R"([{"amount":{"memory":"1073741824"},"memoryNodes":["node-0"]}])");
}

TEST(PublishDocuments, AGuaranteedPodThatHoldsNothingSaysSo) {
  test::TestNode node({}, test::aligning_config("none"));
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "500m"}, {"memory", "1Gi"}})), "");
  const auto all = documents(node);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(annotations(all[1]), json({{"kai.scheduler/numa-placement-observed", "[]"}}));
}

PodSpec burstable_pod() {
  PodSpec pod = test::pod("p", {{"cpu", "2"}, {"memory", "1Gi"}});
  pod.containers.front().resources.limits.clear();
  return pod;
}

TEST(PublishDocuments, OtherPodsHaveMemoryGroupsIfTheMemoryManagerIsStatic) {
  test::TestNode node = managed_node();
  ASSERT_EQ(node.admit(burstable_pod()), "");
  const auto all = documents(node);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(annotations(all[1]), json({{"kai.scheduler/numa-memory-groups-observed", "[]"}}));
}

TEST(PublishDocuments, OtherPodsHaveNoneIfItIsNot) {
  test::TestNode node({}, test::aligning_config("none"));
  ASSERT_EQ(node.admit(burstable_pod()), "");
  EXPECT_EQ(documents(node).size(), 1U);
}

TEST(PublishDocuments, WithoutPlacementsOnlyTheTopologyIsPublished) {
  test::TestNode node = managed_node();
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "2"}, {"memory", "1Gi"}})), "");
  EXPECT_EQ(documents(node, Placements::kOff), std::vector<Document>{documents(node).front()});
}

TEST(PublishDocuments, ARemovedPodChangesTheTopologyAndLeaves) {
  test::TestNode node = managed_node();
  const auto empty = documents(node);
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "2"}, {"memory", "1Gi"}})), "");
  EXPECT_NE(documents(node).front(), empty.front());
  node.remove("p");
  EXPECT_EQ(documents(node), empty);
}

TEST(PublishDocuments, HaveNames) {
  test::TestNode node = managed_node();
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "2"}, {"memory", "1Gi"}})), "");
  const auto all = documents(node);
  EXPECT_EQ(name_of(all[0]), "noderesourcetopologies 'worker-1'");
  EXPECT_EQ(name_of(all[1]), "pods 'default/p'");
}

}  // namespace
}  // namespace pinfold::publish
