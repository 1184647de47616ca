#include "pinfold/predict/node_topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "node_fixture.hpp"
#include "node_topology_schema.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold {
namespace {

using test::node_topology_schema;
using test::schema_problem;
using ::testing::HasSubstr;

constexpr const char* kWorker = R"(
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: worker-1, generation: 7}
attributes:
- {name: topologyManagerPolicy, value: single-numa-node}
- {name: topologyManagerScope, value: pod}
topologyPolicies: [Restricted]
zones:
- name: node-0
  type: Node
  parent: package-0
  costs: [{name: node-0, value: 10}, {name: node-1, value: 21}]
  attributes: [{name: color, value: red}]
  resources:
  - {name: cpu, capacity: "8", allocatable: 7, available: 1500m}
  - {name: memory, capacity: 16Gi, allocatable: 15Gi, available: "267242119168"}
)";

std::string parse_error(std::string_view text) {
  const auto parsed = parse_node_topologies(text);
  return parsed ? "no error" : parsed.error().message;
}

std::string with_policy(const std::string& attributes, const std::string& legacy) {
  return "---\n{apiVersion: topology.node.k8s.io/v1alpha2, kind: NodeResourceTopology, metadata: "
         "{name: n}, attributes: [" +
         attributes + "], topologyPolicies: [" + legacy + "], zones: []}";
}

TEST(NodeTopologyParse, ReadsEveryFieldOfAZone) {
  const auto parsed = parse_node_topologies(kWorker);
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->nodes.size(), 1U);
  const NodeTopology& topology = parsed->nodes.front();
  EXPECT_EQ(topology.name, "worker-1");
  EXPECT_EQ(topology.policy(), TopologyPolicy::kSingleNumaNode);
  EXPECT_EQ(topology.scope(), TopologyScope::kPod);
  ASSERT_EQ(topology.zones.size(), 1U);
  const Zone& zone = topology.zones.front();
  EXPECT_EQ(zone.name, "node-0");
  EXPECT_EQ(zone.type, "Node");
  EXPECT_EQ(zone.parent, "package-0");
  EXPECT_EQ(zone.costs, (std::vector<ZoneCost>{{"node-0", 10}, {"node-1", 21}}));
  EXPECT_EQ(zone.attributes, (std::vector<TopologyAttribute>{{"color", "red"}}));
  ASSERT_EQ(zone.resources.size(), 2U);
  EXPECT_EQ(zone.resources[0].allocatable.value(), 7);
  EXPECT_EQ(zone.resources[0].available.milli_value(), 1500);
  EXPECT_EQ(zone.resources[1].capacity.value(), std::int64_t{16} << 30U);
}

TEST(NodeTopologyParse, PolicyAndScopeComeFromAttributesBeforeLegacyPolicies) {
  struct Case {
    std::string attributes;
    std::string legacy;
    TopologyPolicy policy;
    TopologyScope scope;
  };
  const std::vector<Case> cases = {
      {"", "", TopologyPolicy::kNone, TopologyScope::kContainer},
      {"", "None", TopologyPolicy::kNone, TopologyScope::kContainer},
      {"", "BestEffort", TopologyPolicy::kBestEffort, TopologyScope::kContainer},
      {"", "BestEffortContainerLevel", TopologyPolicy::kBestEffort, TopologyScope::kContainer},
      {"", "BestEffortPodLevel", TopologyPolicy::kBestEffort, TopologyScope::kPod},
      {"", "Restricted", TopologyPolicy::kRestricted, TopologyScope::kContainer},
      {"", "RestrictedContainerLevel", TopologyPolicy::kRestricted, TopologyScope::kContainer},
      {"", "RestrictedPodLevel", TopologyPolicy::kRestricted, TopologyScope::kPod},
      {"", "SingleNUMANodeContainerLevel", TopologyPolicy::kSingleNumaNode,
       TopologyScope::kContainer},
      {"", "SingleNUMANodePodLevel", TopologyPolicy::kSingleNumaNode, TopologyScope::kPod},
      {"{name: topologyManagerPolicy, value: restricted}", "SingleNUMANodePodLevel",
       TopologyPolicy::kRestricted, TopologyScope::kPod},
      {"{name: topologyManagerScope, value: container}", "SingleNUMANodePodLevel",
       TopologyPolicy::kSingleNumaNode, TopologyScope::kContainer},
      {"{name: topologyManagerPolicy, value: best-effort}", "", TopologyPolicy::kBestEffort,
       TopologyScope::kContainer},
      {"{name: topologyManagerPolicy, value: none}", "Restricted", TopologyPolicy::kNone,
       TopologyScope::kContainer},
  };
  for (const Case& c : cases) {
    const auto parsed = parse_node_topologies(with_policy(c.attributes, c.legacy));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->nodes.front().policy(), c.policy) << c.attributes << " / " << c.legacy;
    EXPECT_EQ(parsed->nodes.front().scope(), c.scope) << c.attributes << " / " << c.legacy;
  }
}

TEST(NodeTopologyParse, ReadsListsStreamsAndLines) {
  auto object = [](const std::string& name) {
    return R"({"apiVersion":"topology.node.k8s.io/v1alpha2","kind":"NodeResourceTopology",)"
           R"("metadata":{"name":")" +
           name + R"("},"zones":[]})";
  };
  const std::string two = object("a") + "," + object("b");
  const std::vector<std::string> texts = {
      object("a") + "\n" + object("b") + "\n",
      "\n  " + object("a") + "\r\n\n" + object("b"),
      "---\n" + object("a") + "\n---\n" + object("b") + "\n",
      R"({"apiVersion":"v1","kind":"List","items":[)" + two + "]}",
      R"({"apiVersion":"topology.node.k8s.io/v1alpha2","kind":"NodeResourceTopologyList",)"
      R"("items":[)" +
          two + "]}",
      "apiVersion: v1\nkind: List\nitems: [" + two + "]",
  };
  for (const std::string& text : texts) {
    const auto parsed = parse_node_topologies(text);
    ASSERT_TRUE(parsed) << text << "\n" << parsed.error().message;
    ASSERT_EQ(parsed->nodes.size(), 2U) << text;
    EXPECT_EQ(parsed->nodes[0].name, "a");
    EXPECT_EQ(parsed->nodes[1].name, "b");
  }
  EXPECT_EQ(parse_node_topologies(nlohmann::json::parse(object("a")).dump(2))->nodes.size(), 1U);
}

TEST(NodeTopologyParse, ErrorsNameTheFieldItsValueAndWhatWasExpected) {
  auto worker_with = [](std::string from, const std::string& to) {
    std::string text = kWorker;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[1]", "document: a list: expected an object"},
      {"kind: Node", "kind: 'Node': expected 'NodeResourceTopology'"},
      {worker_with("v1alpha2", "v2"), "apiVersion: 'topology.node.k8s.io/v2': expected"},
      {worker_with("worker-1", "../etc"), "metadata.name: '../etc': expected a node's name"},
      {worker_with("type: Node", "kind: Node"), "zones[0].type: missing: expected a string"},
      {worker_with("value: 21", "value: far"), "zones[0].costs[1].value: 'far': expected a whole"},
      {worker_with("1500m", "-1"),
       "node 'worker-1': zones[0].resources[0].available: -1: expected 0 or more"},
      {worker_with("16Gi", "lots"), "zones[0].resources[1].capacity: 'lots': expected an amount"},
      {worker_with("name: memory", "name: cpu"),
       "zones[0].resources: 'cpu': expected a unique name"},
      {"items: []", "kind: null: expected 'NodeResourceTopologyList' or 'List'"},
      {"kind: PodList\nitems: []",
       "kind: 'PodList': expected 'NodeResourceTopologyList' or 'List'"},
      {"kind: List\nitems: 1", "items: 1: expected a list"},
      {"kind: List\nitems: [{kind: Pod}]", "items[0]: kind: 'Pod': expected"},
      {"a: 1\n---\nb: 2\n", "document 1: kind: null: expected"},
      {"{}\n{}", "line 1: kind: null: expected 'NodeResourceTopology'"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(parse_error(text), HasSubstr(expected)) << text;
  }
}

TEST(NodeTopologyParse, WarnsIfNoZoneIsANumaNode) {
  std::string text = kWorker;
  for (auto at = text.find("type: Node"); at != std::string::npos; at = text.find("type: Node")) {
    text.replace(at, 10, "type: Socket");
  }
  const auto parsed = parse_node_topologies(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_THAT(parsed->nodes.front().warnings,
              testing::Contains("zones: none has the type Node, the first is a 'Socket'"));
}

TEST(NodeTopologyParse, TakesUnknownPoliciesForNoneWithAWarning) {
  const struct {
    const char* attributes;
    const char* legacy;
    const char* warning;
  } cases[] = {
      {"", "SingleNUMANode", "topologyPolicies[0]: 'SingleNUMANode': expected None, BestEffort"},
      {"{name: topologyManagerPolicy, value: numa}", "",
       "attributes[0].value: 'numa': expected none, best-effort"},
      {"{name: topologyManagerScope, value: node}", "",
       "attributes[0].value: 'node': expected container or pod"},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_node_topologies(with_policy(c.attributes, c.legacy));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->nodes.front().policy(), TopologyPolicy::kNone);
    EXPECT_EQ(parsed->nodes.front().scope(), TopologyScope::kContainer);
    ASSERT_EQ(parsed->nodes.front().warnings.size(), 1U);
    EXPECT_THAT(parsed->nodes.front().warnings.front(), HasSubstr(c.warning));
  }
}

TEST(NodeTopologyParse, SaysWhichPoliciesHaveNoEffect) {
  for (const auto& [attributes, legacy, warning] :
       {std::tuple("{name: topologyManagerPolicy, value: restricted}", "1",
                   "no effect, because the attributes name the policy"),
        {"", "RestrictedContainerLevel, x", "topologyPolicies[1]: 'x'"}}) {
    const auto parsed = parse_node_topologies(with_policy(attributes, legacy));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->nodes.front().policy(), TopologyPolicy::kRestricted);
    ASSERT_EQ(parsed->nodes.front().warnings.size(), 1U);
    EXPECT_THAT(parsed->nodes.front().warnings.front(), HasSubstr(warning));
  }
}

TEST(NodeTopologyParse, WarnsOfMoreThanThereIs) {
  const auto parsed = parse_node_topologies(
      "apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\n"
      "metadata: {name: a}\nzones:\n- name: node-0\n  type: Node\n  resources:\n"
      "  - {name: cpu, capacity: 10, allocatable: 32, available: 1000}\n");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->nodes.front().warnings.size(), 1U);
  EXPECT_THAT(parsed->nodes.front().warnings.front(),
              HasSubstr("zone 'node-0': available '1k' of 'cpu': expected at most"));
}

TEST(NodeTopologyParse, OneBadObjectDoesNotStopTheOthers) {
  const std::string good =
      R"({"apiVersion":"topology.node.k8s.io/v1alpha2","kind":"NodeResourceTopology",)"
      R"("metadata":{"name":"good"},"zones":[]})";
  const std::string bad =
      R"({"apiVersion":"topology.node.k8s.io/v1alpha2","kind":"NodeResourceTopology",)"
      R"("metadata":{"name":"bad"},"zones":1})";
  const std::string why = "zones: 1: expected a list";
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {good + "\n" + bad, "bad", "line 2: " + why},
      {good + "\n{cut", "line 2", "line 2: "},
      {"---\n" + bad + "\n---\n" + good, "bad", "document 1: " + why},
      {"---\nkind: [\n---\n" + good, "document 1", "document 1: line "},
      {good + "\n---\na: b: c\n", "document 2", "document 2: line "},
      {R"({"kind":"List","items":[)" + good + "," + bad + "]}", "bad", "items[1]: " + why},
      {R"({"kind":"List","items":[{"kind":"Pod"},)" + good + "]}", "items[0]", "items[0]: kind"},
  };
  for (const auto& [text, name, message] : cases) {
    const auto parsed = parse_node_topologies(text);
    ASSERT_TRUE(parsed) << text << "\n" << parsed.error().message;
    ASSERT_EQ(parsed->nodes.size(), 1U) << text;
    ASSERT_EQ(parsed->unread.size(), 1U) << text;
    EXPECT_EQ(parsed->unread.front().name, name);
    EXPECT_EQ(parsed->unread.front().why.substr(0, message.size()), message);
  }
}

TEST(NodeTopologyParse, RejectsMoreNumaNodesThanAMaskHolds) {
  std::string zones;
  for (int i = 0; i < 65; ++i) zones += "{name: node-" + std::to_string(i) + ", type: Node},";
  EXPECT_THAT(
      parse_error("---\n{apiVersion: topology.node.k8s.io/v1alpha2, kind: NodeResourceTopology, "
                  "metadata: {name: n}, zones: [" +
                  zones + "]}"),
      HasSubstr("zones: 65: expected at most 64"));
}

TEST(NodeTopologyWrite, IsValidAgainstThePublishedSchemaAndReadsBack) {
  const auto parsed = parse_node_topologies(kWorker);
  ASSERT_TRUE(parsed);
  const nlohmann::json written = to_json(parsed->nodes.front());
  EXPECT_EQ(schema_problem(written, node_topology_schema()), "");
  const auto again = node_topology_from_json(written);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, parsed->nodes.front());
}

TEST(NodeTopologySchema, RejectsInvalidObjects) {
  nlohmann::json object = to_json(parse_node_topologies(kWorker)->nodes.front());
  object["zones"][0]["resources"][0]["available"] = "1.5 cores";
  EXPECT_EQ(schema_problem(object, node_topology_schema()),
            ".zones[0].resources[0].available: \"1.5 cores\": expected quantity");
  object["zones"][0]["resources"][0].erase("available");
  EXPECT_EQ(schema_problem(object, node_topology_schema()),
            ".zones[0].resources[0].available: missing");
  object["zones"][0].erase("resources");
  object["zones"][0]["cost"] = 1;
  EXPECT_EQ(schema_problem(object, node_topology_schema()), ".zones[0].cost: not in the CRD");
}

const ZoneResource* find(const Zone& zone, const std::string& name) {
  for (const ZoneResource& resource : zone.resources) {
    if (resource.name == name) return &resource;
  }
  return nullptr;
}

/// Returns capacity/allocatable/available, or "" for a resource that the zone does not have.
std::string amounts(const Zone& zone, const std::string& name) {
  const ZoneResource* const found = find(zone, name);
  if (found == nullptr) return "";
  return found->capacity.to_string() + "/" + found->allocatable.to_string() + "/" +
         found->available.to_string();
}

TEST(NodeTopologyDescribe, SubtractsReservedAndAssignedResources) {
  const test::NodeShape shape{.devices = {{"example.com/gpu", {2, 0}}},
                              .distances = {{10, 21}, {21, 10}}};
  test::TestNode node(shape, test::with_memory_manager(test::aligning_config("restricted", "pod")));
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "3"}, {"memory", "2Gi"}, {"example.com/gpu", "1"}})),
            "");
  const NodeTopology topology = describe(node.node(), node.state(), "worker-1");
  EXPECT_EQ(topology.name, "worker-1");
  EXPECT_EQ(topology.policy(), TopologyPolicy::kRestricted);
  EXPECT_EQ(topology.scope(), TopologyScope::kPod);
  EXPECT_EQ(topology.attributes,
            (std::vector<TopologyAttribute>{{"topologyManagerPolicy", "restricted"},
                                            {"topologyManagerScope", "pod"},
                                            {"cpuManagerPolicy", "static"},
                                            {"memoryManagerPolicy", "Static"}}));
  ASSERT_EQ(topology.zones.size(), 2U);
  EXPECT_EQ(topology.zones[0].name, "node-0");
  EXPECT_TRUE(topology.zones[0].is_numa_node());
  EXPECT_EQ(topology.zones[0].costs, (std::vector<ZoneCost>{{"node-0", 10}, {"node-1", 21}}));
  EXPECT_EQ(amounts(topology.zones[0], "cpu"), "8/7/4");
  EXPECT_EQ(amounts(topology.zones[1], "cpu"), "8/8/8");
  EXPECT_EQ(amounts(topology.zones[0], "memory"), "16Gi/15Gi/13Gi");
  EXPECT_EQ(amounts(topology.zones[0], "example.com/gpu"), "2/2/1");
  EXPECT_EQ(amounts(topology.zones[1], "example.com/gpu"), "");
  EXPECT_EQ(schema_problem(to_json(topology), node_topology_schema()), "");
}

TEST(NodeTopologyDescribe, UnmanagedMemoryIsAllAvailable) {
  test::TestNode node({}, test::aligning_config("single-numa-node"));
  ASSERT_EQ(node.admit(test::pod("p", {{"cpu", "1"}, {"memory", "2Gi"}})), "");
  const NodeTopology topology = describe(node.node(), node.state(), "n");
  EXPECT_EQ(amounts(topology.zones[0], "memory"), "16Gi/16Gi/16Gi");
}

}  // namespace
}  // namespace pinfold
