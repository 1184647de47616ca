#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "node_topology_schema.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

namespace pinfold {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_shell;
using test::TempDir;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kNodes = R"(
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: split}
attributes: [{name: topologyManagerPolicy, value: single-numa-node}]
zones:
- name: node-0
  type: Node
  resources:
  - {name: cpu, capacity: 16, allocatable: 16, available: 2}
  - {name: example.com/gpu, capacity: 4, allocatable: 4, available: 4}
- name: node-1
  type: Node
  resources:
  - {name: cpu, capacity: 16, allocatable: 16, available: 14}
  - {name: example.com/gpu, capacity: 4, allocatable: 4, available: 0}
---
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: free}
topologyPolicies: [RestrictedPodLevel]
zones:
- name: node-0
  type: Node
  resources:
  - {name: cpu, capacity: 8, allocatable: 8, available: 8}
  - {name: example.com/gpu, capacity: 1, allocatable: 1, available: 1}
)";

std::string pod(const std::string& name,
                const std::string& limits = "cpu: 4, memory: 1Gi, example.com/gpu: 1") {
  return fmt::format(
      "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\n"
      "spec: {{containers: [{{name: main, resources: {{limits: {{{}}}}}}}]}}\n",
      name, limits);
}

class PredictCommand : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(dir_.path() + "/" + name) << text;
  }
  Outcome run(const std::string& arguments) {
    return run_shell(fmt::format("cd '{}' && env -i LANG=C.UTF-8 '{}' {}", dir_.path(),
                                 PINFOLD_COMMAND, arguments));
  }

  TempDir dir_;
};

TEST_F(PredictCommand, TableHasTheBestNodeFirstAndReasons) {
  write("nodes.yaml", kNodes);
  write("pod.yaml", pod("train"));
  const Outcome outcome = run("predict --nodes nodes.yaml --pod pod.yaml");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "default/train: 1 of 2 nodes admit it (1 aligned, 0 not aligned); 1 cannot align it\n"
            "  nearest miss: split: node-0 lacks cpu 2\n"
            "  NODE   OUTCOME   SCORE  POLICY            WHERE, OR WHY NOT\n"
            "  free   fits        100  restricted        node-0\n"
            "  split  rejected         single-numa-node  container 'main': no zone has cpu 4 and "
            "example.com/gpu 1: cpu fits node-1, example.com/gpu fits node-0\n");
}

TEST_F(PredictCommand, EqualAnswersShareALine) {
  std::string nodes = kNodes;
  const std::string split = nodes.substr(0, nodes.find("---"));
  for (const char* const name : {"other", "third", "fourth"}) {
    std::string copy = split;
    copy.replace(copy.find("name: split"), 11, std::string("name: ") + name);
    nodes += "---" + copy;
  }
  write("nodes.yaml", nodes);
  write("pod.yaml", pod("train"));
  const Outcome outcome = run("predict --nodes nodes.yaml --pod pod.yaml");
  EXPECT_THAT(outcome.out, HasSubstr("1 of 5 nodes admit it (1 aligned, 0 not aligned); 4 cannot "
                                     "align it\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  split, other and 2 more  rejected"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 5);
}

TEST_F(PredictCommand, NodesThatHaveTooLittleInTotalAreCounted) {
  write("nodes.yaml", kNodes);
  write("pod.yaml", pod("train", "cpu: 17, memory: 1Gi"));
  const Outcome outcome = run("predict --nodes nodes.yaml --pod pod.yaml");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out,
              testing::StartsWith("default/train: 0 of 2 nodes admit it; 2 have too little in "
                                  "total\n  nearest miss: split: it has cpu 16 of 17\n"));
}

/// One zone with so many CPUs.
std::string one_zone(const std::string& name, const char* cpus, const char* zone_1 = nullptr) {
  const auto zone = [](int number, const char* amount) {
    return fmt::format(
        "- {{name: node-{0}, type: Node, resources: [{{name: cpu, capacity: {1}, allocatable: {1}, "
        "available: {1}}}]}}\n",
        number, amount);
  };
  return fmt::format(
      "---\napiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\n"
      "metadata: {{name: {}}}\nattributes: [{{name: topologyManagerPolicy, value: "
      "single-numa-node}}]\nzones:\n{}{}",
      name, zone(0, cpus), zone_1 == nullptr ? "" : zone(1, zone_1));
}

TEST_F(PredictCommand, TheTableShowsWhichNodesEachNumberMeans) {
  write("nodes.yaml", one_zone("small-1", "4") + one_zone("split-1", "4", "4") +
                          one_zone("small-2", "4") + one_zone("split-2", "4", "4") +
                          one_zone("large", "8"));
  write("pod.yaml", pod("train", "cpu: 7, memory: 1Gi"));
  const Outcome text = run("predict --nodes nodes.yaml --pod pod.yaml");
  EXPECT_EQ(text.out,
            "default/train: 1 of 5 nodes admit it (1 aligned, 0 not aligned); 2 cannot align it; "
            "2 have too little in total\n"
            "  nearest miss: small-1: it has cpu 4 of 7\n"
            "  NODE              OUTCOME   SCORE  POLICY            WHERE, OR WHY NOT\n"
            "  large             fits        100  single-numa-node  container 'main': node-0\n"
            "  split-1, split-2  rejected         single-numa-node  container 'main': no zone has "
            "cpu 7: cpu fits none\n"
            "  small-1, small-2  rejected         single-numa-node  all zones together have 4 cpu "
            "allocatable, 7 requested\n");
  const json nodes =
      json::parse(run("predict --nodes nodes.yaml --pod pod.yaml -o json").out)[0]["nodes"];
  using GroupAndLack = std::pair<std::string, std::string>;
  std::map<std::string, GroupAndLack> found;
  for (const json& node : nodes) found[node["node"]] = {node["group"], node["lacks"]};
  EXPECT_EQ(found["large"], (GroupAndLack{"aligned", ""}));
  EXPECT_EQ(found["split-2"], (GroupAndLack{"cannotAlign", "node-0 lacks cpu 3"}));
  EXPECT_EQ(found["small-2"], (GroupAndLack{"tooLittle", "it has cpu 4 of 7"}));
}

TEST_F(PredictCommand, ANodeWithoutZonesIsNotCountedAsAdmitting) {
  const std::string bare =
      "apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\n"
      "metadata: {name: bare}\nzones: []\n";
  write("bare.yaml", bare);
  write("nodes.yaml", bare + "---" + kNodes);
  write("pod.yaml", pod("train"));
  EXPECT_THAT(run("predict --nodes nodes.yaml --pod pod.yaml").out,
              testing::StartsWith("default/train: 1 of 3 nodes admit it (1 aligned, 0 not "
                                  "aligned); 1 cannot align it; 1 reports no zones\n"));
  const Outcome alone = run("predict --nodes bare.yaml --pod pod.yaml");
  EXPECT_EQ(alone.status, 1) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("0 of 1 node admits it; 1 reports no zones\n"));
}

TEST_F(PredictCommand, OneBadObjectDoesNotStopTheOthers) {
  std::string bad = std::string(kNodes).substr(0, std::string(kNodes).find("---"));
  bad.replace(bad.find("name: split"), 11, "name: bad");
  bad.replace(bad.find(", available: 2"), 14, "");
  write("nodes.yaml", bad + "---" + kNodes);
  write("pod.yaml", pod("train"));
  const std::string why = "document 1: zones[0].resources[0].available: missing";
  const Outcome text = run("predict --nodes nodes.yaml --pod pod.yaml");
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out,
              HasSubstr("default/train: 1 of 3 nodes admit it (1 aligned, 0 not aligned); 1 "
                        "cannot align it; 1 unknown\n"));
  EXPECT_THAT(text.out, HasSubstr("\n  bad    unknown"));
  EXPECT_THAT(text.err, HasSubstr("nodes.yaml: node 'bad': nothing is predicted: " + why));
  const json nodes =
      json::parse(run("predict --nodes nodes.yaml --pod pod.yaml -o json").out)[0]["nodes"];
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[2]["node"], "bad");
  EXPECT_EQ(nodes[2]["outcome"], "unknown");
  EXPECT_THAT(nodes[2]["why"], testing::StartsWith(why));
}

TEST_F(PredictCommand, NodesThatLackCpusInTotalDoNotAdmit) {
  for (const char* policy : {"none", "best-effort", "restricted", "single-numa-node"}) {
    std::string nodes = kNodes;
    nodes.replace(nodes.find("single-numa-node"), 16, policy);
    write("nodes.yaml", nodes);
    for (const char* resources : {"{limits: {cpu: 40, memory: 1Gi}}", "{requests: {cpu: 33}}"}) {
      write("pod.yaml",
            fmt::format("kind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{{name: "
                        "c, resources: {}}}]}}\n",
                        resources));
      const Outcome outcome = run("predict --nodes nodes.yaml --pod pod.yaml");
      EXPECT_EQ(outcome.status, 1) << policy << resources;
      EXPECT_THAT(outcome.out, HasSubstr("0 of 2 nodes admit it")) << policy << resources;
    }
  }
}

TEST_F(PredictCommand, JsonHasThePlacement) {
  write("nodes.yaml", kNodes);
  write("pod.yaml", pod("train"));
  const Outcome outcome = run("predict --nodes nodes.yaml --pod pod.yaml -o json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json answers = json::parse(outcome.out);
  EXPECT_EQ(answers[0]["nodes"][0]["node"], "free");
  EXPECT_EQ(answers[0]["nodes"][0]["admits"], true);
  const json& placement = answers[0]["nodes"][0]["placement"];
  const json cpus = {{"zone", "node-0"}, {"resource", "cpu"}, {"amount", 4000}};
  EXPECT_EQ(std::count(placement.begin(), placement.end(), cpus), 1) << placement;
  EXPECT_EQ(answers[0]["nodes"][1]["admits"], false);
}

TEST_F(PredictCommand, CycleSubtractsPlacedPodsAndBoundReadsItsResult) {
  write("nodes.yaml", kNodes);
  write("pods.yaml", pod("one") + pod("two"));
  const Outcome cycle = run("predict --nodes nodes.yaml --pod pods.yaml --cycle");
  EXPECT_EQ(cycle.status, 1);
  EXPECT_THAT(cycle.out, HasSubstr("default/one  free       100  node-0\n"));
  EXPECT_THAT(cycle.out,
              HasSubstr("default/two  nowhere         split: container 'main': no zone"));
  write("bound.json", run("predict --nodes nodes.yaml --pod pods.yaml --cycle -o json").out);
  write("pod.yaml", pod("three"));
  const Outcome bound = run("predict --nodes nodes.yaml --pod pod.yaml --bound bound.json -o json");
  ASSERT_EQ(bound.status, 0) << bound.err;
  // The free node is full now; the other one is reconstructed as empty.
  const json nodes = json::parse(bound.out)[0]["nodes"];
  EXPECT_EQ(nodes[0]["node"], "split");
  EXPECT_EQ(nodes[1]["outcome"], "rejected");
}

TEST_F(PredictCommand, ExitStatusIsOneIfNoNodeAdmitsAndTwoForBadInput) {
  write("nodes.yaml", kNodes);
  write("pod.yaml", pod("train"));
  EXPECT_EQ(run("predict --nodes nodes.yaml --pod pod.yaml --ignore example.com/gpu").status, 0);
  write("full.yaml", std::string(kNodes).substr(0, std::string(kNodes).find("---")));
  EXPECT_EQ(run("predict --nodes full.yaml --pod pod.yaml").status, 1);
  Outcome outcome = run("predict --nodes nodes.yaml --pod pod.yaml --scoring Best");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--scoring: 'Best': expected LeastNUMANodes"));
  outcome = run("predict --nodes pod.yaml --pod pod.yaml");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err, "pinfold: pod.yaml: kind: 'Pod': expected 'NodeResourceTopology'\n");
}

TEST_F(PredictCommand, NoNodesAreAnError) {
  write("pod.yaml", pod("train"));
  write("none.yaml", "apiVersion: v1\nkind: List\nitems: []\n");
  const Outcome outcome = run("predict --nodes none.yaml --pod pod.yaml");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err,
            "pinfold: no NodeResourceTopology in none.yaml: expected at least one, as 'kubectl get "
            "noderesourcetopologies -o yaml' prints them\n");
}

constexpr const char* kConfig =
    "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\ntopologyManagerPolicy: restricted\n"
    "topologyManagerScope: pod\n";
constexpr const char* kSynthetic =
    "topology --synthetic 'pack:2 [numa(memory=1GiB)] pu:4' --name n1";

TEST_F(PredictCommand, TopologyWritesAnObjectThatPredictReads) {
  write("config.yaml", kConfig);
  const Outcome written = run(fmt::format("{} -o nrt --config config.yaml", kSynthetic));
  ASSERT_EQ(written.status, 0) << written.err;
  const json object = json::parse(written.out);
  EXPECT_EQ(test::schema_problem(object, test::node_topology_schema()), "");
  EXPECT_EQ(object["metadata"]["name"], "n1");
  EXPECT_EQ(object["zones"][0]["resources"][0].dump(),
            R"({"allocatable":"3","available":"3","capacity":"4","name":"cpu"})");
  write("node.json", written.out);
  write("pod.yaml",
        "metadata: {name: p}\nspec: {containers: [{name: c, resources: {limits: {cpu: 4, memory: "
        "1Mi}}}]}\n");
  EXPECT_THAT(run("predict --nodes node.json --pod pod.yaml").out, HasSubstr("node-1\n"));
}

TEST_F(PredictCommand, DryRunDecidesAndStoresNothing) {
  write("config.yaml", kConfig);
  write("two.yaml", pod("a", "cpu: 3, memory: 1Mi") + pod("b", "cpu: 4, memory: 1Mi") +
                        pod("c", "cpu: 2, memory: 1Mi"));
  write("machine.json",
        run("topology --synthetic 'pack:2 [numa(memory=1GiB)] pu:4' --name n1 -o json").out);
  const std::string node = "--state-dir . --machine machine.json";
  const Outcome dry = run("admit --dry-run two.yaml " + node);
  EXPECT_EQ(dry.status, 1) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("default/a: admitted\ndefault/b: admitted\ndefault/c: rej"));
  EXPECT_THAT(dry.out, HasSubstr("nothing stored (--dry-run)\n"));
  EXPECT_EQ(json::parse(run("status --no-enforce -o json " + node).out)["pods"].size(), 0);
  EXPECT_FALSE(std::ifstream(dir_.path() + "/cpu_manager_state"));

  // The same decisions without --dry-run; remove also has a dry run.
  const Outcome done = run("admit --no-enforce two.yaml " + node);
  std::string same = dry.out;
  same.erase(same.find("nothing stored (--dry-run)\n"),
             std::string("nothing stored (--dry-run)\n").size());
  EXPECT_EQ(done.out, same);
  const Outcome removed = run("remove --dry-run --pod a -o json " + node);
  EXPECT_EQ(json::parse(removed.out)["sharedPool"], "0-3");
  EXPECT_EQ(json::parse(removed.out)["stored"], false);
  EXPECT_EQ(json::parse(run("status --no-enforce -o json " + node).out)["sharedPool"], "0");
}

TEST_F(PredictCommand, TopologyCountsTheAssignmentsOfAStateDirectory) {
  write("config.yaml", kConfig);
  write("cpu_manager_state",
        R"({"policyName":"static","defaultCpuSet":"0-1,4-7","entries":{"p":{"c":"2-3"}}})");
  const Outcome written = run(fmt::format("{} -o nrt --state-dir .", kSynthetic));
  ASSERT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(json::parse(written.out)["zones"][0]["resources"][0]["available"], "1");
  EXPECT_EQ(run(fmt::format("{} -o nrt --state-dir /nowhere", kSynthetic)).status, 2);
}

TEST_F(PredictCommand, TopologyNamesTheConfigurationThatIsMissingAndDeletesNothing) {
  write("cpu_manager_state",
        R"({"policyName":"static","defaultCpuSet":"0-1,4-7","entries":{"p":{"c":"2-3"}}})");
  const Outcome refused = run(fmt::format("{} -o nrt --state-dir .", kSynthetic));
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("name the configuration of the state with --config"));
  EXPECT_THAT(refused.err, Not(HasSubstr("drain")));
}

TEST_F(PredictCommand, TopologyAnswersFromAFileWithAWrongChecksum) {
  write("config.yaml", kConfig);
  const auto state = [&](const char* sum, const char* pool) {
    write("cpu_manager_state",
          fmt::format(R"({{"policyName":"static","defaultCpuSet":"{}","entries":{{"p":)"
                      R"({{"c":"2-3"}}}},"checksum":{}}})",
                      pool, sum));
    return run(fmt::format("{} -o nrt --state-dir .", kSynthetic));
  };
  const Outcome written = state("1", "0-1,4-7");
  ASSERT_EQ(written.status, 0) << written.err;
  EXPECT_THAT(written.err, HasSubstr("wrong checksum: 1 in the file"));
  EXPECT_THAT(written.err, HasSubstr("no kubelet would start from it"));
  EXPECT_EQ(json::parse(written.out)["zones"][0]["resources"][0]["available"], "1");
  EXPECT_EQ(state("1", "0-1").status, 2);  // and CPUs are in no set
}

}  // namespace
}  // namespace pinfold
