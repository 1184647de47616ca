#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "node_fixture.hpp"
#include "pinfold/explain/explanation.hpp"

/// An explanation names the true cause: the pods that hold what is missing, and the smallest
/// change.
namespace pinfold::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

Amounts with(const char* cpus, const char* memory) { return {{"cpu", cpus}, {"memory", memory}}; }

TestNode node_running(const NodeShape& shape, const Config& config,
                      const std::vector<PodSpec>& pods) {
  TestNode node(shape, config);
  for (const PodSpec& spec : pods) {
    if (!node.admit(spec).empty()) throw std::logic_error("the running pods must be admitted");
  }
  return node;
}

Explanation explained_on(const TestNode& node, const PodSpec& wanted) {
  return explain(node.node(), node.state(), wanted);
}

std::vector<std::string> texts_of(const Explanation& explanation) {
  std::vector<std::string> all;
  for (const Remedy& remedy : explanation.remedies) all.push_back(remedy.text);
  return all;
}

Config with_two_reserved(Config config) {
  config.reserved_system_cpus = "0-1";
  return config;
}

/// Returns a configuration with the memory manager, this topology policy, and CPUs 0-1 reserved.
Config with_memory_policy(const std::string& policy) {
  return with_two_reserved(with_memory_manager(aligning_config(policy)));
}

TEST(Causes, ANumaNodeThatServesAloneDoesNotServeWithOthers) {
  const TestNode node =
      node_running({}, with_memory_policy("none"), {pod("a1", with("500m", "10Gi"))});
  EXPECT_EQ(explained_on(node, pod("web", with("500m", "17Gi"))).summary,
            "Container c of default/web needs 17Gi of memory, which the node has free, but not on "
            "NUMA nodes that may provide it together (NUMA node 1 alone lacks 1Gi): default/a1 has "
            "memory on NUMA node 0 alone; until that ends, a container can get memory only from "
            "NUMA node 0 alone or from others");
}

TEST(Causes, TheFewestNumaNodesAreThoseOfWhatIsAllocatable) {
  Config config = with_memory_policy("none");
  config.kube_reserved["memory"] = "4Gi";
  config.reserved_memory = {{0, {{"memory", "2Gi"}}}, {1, {{"memory", "2Gi"}}}};
  // A NUMA node has 16Gi, of which 14Gi are for pods: 15Gi need two unused NUMA nodes.
  const PodSpec web = pod("web", with("500m", "15Gi"));
  EXPECT_FALSE(explained_on(node_running({}, config, {}), web).rejection);
  const Explanation rejected =
      explained_on(node_running({}, config, {pod("a", with("500m", "1Gi"))}), web);
  EXPECT_THAT(rejected.summary, AllOf(HasSubstr("default/a has memory on NUMA node 0 alone"),
                                      Not(HasSubstr("on one NUMA node"))));
}

TEST(Causes, EachGroupOfNumaNodesHasItsHolder) {
  const TestNode node =
      node_running({.numa = 4, .gib = 32}, with_memory_policy("restricted"),
                   {pod("big1", with("10", "34Gi")), pod("big2", with("9", "36Gi"))});
  EXPECT_THAT(
      explained_on(node, pod("web", with("1", "2Gi"))).summary,
      AllOf(HasSubstr("NUMA node 3 has enough"),
            HasSubstr(
                "but default/big1 has memory on NUMA nodes 0 and 1 together, default/big2 has "
                "memory on NUMA nodes 2 and 3 together; until they end, a container can get memory "
                "only from NUMA nodes 0 and 1 together or from NUMA nodes 2 and 3 together")));
}

TEST(Causes, MemoryOfInitContainersIsUsedAgain) {
  const TestNode node =
      node_running({.cpus = 16, .gib = 64}, with_memory_policy("single-numa-node"),
                   {pod("x", with("5", "30Gi")), pod("y", with("8", "40Gi"))});
  const Explanation rejected = explained_on(
      node, pod_of("etl", {container("load", with("500m", "26Gi"), ContainerKind::kInit),
                           container("work", with("10", "26Gi"))}));
  EXPECT_THAT(rejected.summary,
              HasSubstr("NUMA node 0 lacks 1 CPU (2 CPUs there are reserved), NUMA node 1 lacks 2 "
                        "CPUs and 2Gi of memory"));
  const OccupiedPlace& place = rejected.table.at(1).places.at(0);
  EXPECT_EQ(place.free, Quantity::parse("33Gi").value());
  ASSERT_EQ(place.holders.size(), 1U);
  EXPECT_EQ(to_string(place.holders[0]), "default/x/c");
}

/// Two NUMA nodes of four cores with two threads each.
Node node_with_threads(const Config& config) {
  MachineDescription description = machine_of({}).description();
  for (Cpu& cpu : description.cpus) cpu.core = CoreId{cpu.id.value / 2 * 2};
  return Node::make(Machine::make(std::move(description)).value(), config).value();
}

TEST(Causes, HalfACoreIsNotReserved) {
  Config config = aligning_config("single-numa-node");
  config.reserved_system_cpus = "0,8";
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  const Node node = node_with_threads(config);
  NodeState state = empty_state(node);
  for (const char* const name : {"x", "y"}) {
    state = std::get<Admitted>(decide(node, state, pod(name, with("2", "1Gi")))).next;
  }
  const Explanation rejected = explain(node, state, pod("web", with("8", "1Gi")));
  EXPECT_THAT(rejected.summary,
              HasSubstr("NUMA node 1 lacks 2 CPUs (1 CPU there is reserved, and CPU 9 shares a "
                        "core with reserved CPUs)"));
  EXPECT_THAT(texts_of(rejected),
              Contains("reservedSystemCPUs: 0,8 -> 0-1 (as many, in whole cores)"));
}

TEST(Causes, AStaticPodIsTheLastChoice) {
  PodSpec etcd = pod("etcd", with("10", "1Gi"));
  etcd.is_static = true;
  PodSpec ceph = pod("ceph", with("12", "1Gi"));
  ceph.is_node_critical = true;
  const TestNode node = node_running(
      {.cpus = 16}, with_two_reserved(aligning_config("single-numa-node")), {etcd, ceph});
  EXPECT_THAT(texts_of(explained_on(node, pod("web", with("10", "1Gi")))),
              Contains("default/ceph (12 CPUs on NUMA node 1; node-critical) is removed"));
}

TEST(Causes, OnlyWhatIsMissingDecidesWhichPodIsSmall) {
  const TestNode node =
      node_running({.numa = 1, .cpus = 16, .gib = 64}, with_two_reserved(aligning_config("none")),
                   {pod("x", with("4", "30Gi")), pod("one", with("6", "3Gi"))});
  EXPECT_THAT(texts_of(explained_on(node, pod("web", with("5", "3Gi")))),
              Contains("default/x (4 CPUs on NUMA node 0) is removed"));
}

TEST(Causes, AmountsAreInWholeMebibytes) {
  Config config = aligning_config("none");
  config.kube_reserved["memory"] = "2Gi";
  const TestNode node = node_running({}, config, {pod("a", {{"memory", "25Gi"}})});
  EXPECT_THAT(texts_of(explained_on(node, pod("web", {{"memory", "5500000000"}}))),
              AllOf(Contains("kubeReserved: memory 2Gi -> 1922Mi"),
                    Contains("container c: memory 5500M (5246Mi) -> 5Gi (requests and limits)")));
}

TEST(Causes, EachTermOfAReservationIsNamed) {
  Config config = aligning_config("none");
  config.kube_reserved["memory"] = "2Gi";
  config.system_reserved["memory"] = "1Gi";
  (*config.eviction_hard)["memory.available"] = "5%";
  const TestNode node = node_running({}, config, {pod("a", {{"memory", "25Gi"}})});
  EXPECT_THAT(
      texts_of(explained_on(node, pod("web", {{"memory", "3Gi"}}))),
      IsSupersetOf({"kubeReserved: memory 2Gi -> 1433Mi", "systemReserved: memory 1Gi -> 409Mi",
                    "evictionHard: memory.available 5% (1639Mi) -> 1023Mi"}));
}

TEST(Causes, ARequestMayAlsoNeedMoreNumaNodes) {
  const TestNode node = node_running({.numa = 4, .gib = 32}, with_memory_policy("restricted"), {});
  EXPECT_THAT(texts_of(explained_on(node, pod("web", with("4", "60Gi")))),
              Contains("container c: cpu 4 -> 9 (requests and limits)"));
}

TEST(Causes, AContainerMayDoWithoutExclusiveCpus) {
  const TestNode node = node_running({.numa = 4, .gib = 32}, with_memory_policy("restricted"), {});
  const auto texts = texts_of(explained_on(node, pod("web", with("4", "60Gi"))));
  EXPECT_THAT(
      texts,
      Contains("container c: cpu 4 -> 3999m (requests and limits; it then has no exclusive CPUs)"));
}

TEST(Causes, AContainerMayMakeItsPodNeedMoreNumaNodes) {
  const TestNode node = node_running({.numa = 4, .devices = {{"example.com/gpu", {1, 1, 1, 1}}}},
                                     with_two_reserved(aligning_config("restricted", "pod")), {});
  const Amounts worker = {{"cpu", "4"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}};
  EXPECT_THAT(texts_of(explained_on(
                  node, pod_of("web", {container("w0", worker), container("w1", worker)}))),
              Contains("container w0: cpu 4 -> 5 (requests and limits)"));
}

TEST(Causes, TheNextObstacleIsNamedWithItsHolders) {
  PodSpec z = pod("z", {{"cpu", "1500m"}});
  z.containers[0].resources.limits.clear();
  const TestNode node =
      node_running({.numa = 1, .cpus = 16}, with_two_reserved(aligning_config("none")),
                   {pod("x", with("8", "1Gi")), pod("y", with("3", "1Gi")), z});
  EXPECT_THAT(explained_on(node, pod("web", with("4", "1Gi"))).notes,
              Contains(AllOf(HasSubstr("Even with container c: cpu 4 -> 3 (requests and limits) it "
                                       "would be rejected, OutOfcpu: default/web requests 3 CPUs"),
                             HasSubstr("default/z 1500m"))));
  EXPECT_THAT(explained_on(node, pod("web", with("4", "1Gi"))).notes,
              Not(Contains(HasSubstr(" and container c: cpu 3"))));
  EXPECT_THAT(explained_on(node, pod("web", with("3", "1Gi"))).notes,
              Not(Contains(HasSubstr("Even with"))))
      << "one CPU fits";
}

TEST(Causes, OnlyWhatIsMissingHasHolders) {
  const TestNode node =
      node_running({}, with_memory_policy("none"), {pod("a1", with("2", "10Gi"))});
  EXPECT_THAT(explained_on(node, pod("web", with("2", "30Gi"))).notes,
              Contains(AllOf(HasSubstr("memory 30Gi -> 21Gi (requests and limits) it would be"),
                             HasSubstr("default/a1 has memory on NUMA node 0 alone"),
                             Not(HasSubstr("held by")))));
}

TEST(Causes, TwoSmallChangesComeBeforeALargeOne) {
  const TestNode node =
      node_running({.cpus = 16, .gib = 64}, with_memory_policy("single-numa-node"),
                   {pod("x", with("8", "30Gi")), pod("y", with("8", "40Gi"))});
  const std::vector<std::string> all = texts_of(explained_on(node, pod("web", with("9", "26Gi"))));
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all[0],
            "container c: cpu 9 -> 8 (requests and limits) and container c: memory 26Gi -> 24Gi "
            "(requests and limits)");
  EXPECT_EQ(all[1], "container c: cpu 9 -> 6 (requests and limits)");
}

TEST(Causes, SeveralNumaNodesLackTogether) {
  const TestNode node =
      node_running({}, aligning_config("restricted"), {pod("a", with("4", "1Gi"))});
  EXPECT_THAT(explained_on(node, pod("web", with("12", "1Gi"))).summary,
              HasSubstr("NUMA nodes 0 and 1 together lack 1 CPU"));
}

/// Without it the amounts of the NUMA nodes do not seem to add up.
TEST(Causes, ASiblingOfAReservedCpuIsNamedWhereOnlyWholeCoresCount) {
  for (const bool only_whole : {true, false}) {
    Config config = aligning_config("restricted");
    config.cpu_manager_policy_options["full-pcpus-only"] = only_whole ? "true" : "false";
    const Node node = node_with_threads(config);
    Decision decision = decide(node, empty_state(node), pod("a", with("2", "1Gi")));
    auto* const admitted = std::get_if<Admitted>(&decision);
    ASSERT_NE(admitted, nullptr);
    const std::string summary =
        explain(node, admitted->next, pod("web", with("14", "1Gi"))).summary;
    EXPECT_THAT(summary, HasSubstr("NUMA nodes 0 and 1 together lack "));
    EXPECT_EQ(summary.find(" (CPU 1 is not reserved, but full-pcpus-only assigns whole cores, and "
                           "it shares its core with a reserved CPU)") != std::string::npos,
              only_whole)
        << summary;
  }
}

TEST(Causes, WhatTheNodeDoesNotHaveIsCalledSo) {
  const TestNode node = node_running({}, aligning_config("none"), {});
  const Explanation rejected =
      explained_on(node, pod("web", {{"cpu", "1"}, {"memory", "1Gi"}, {"hugepages-1Gi", "1Gi"}}));
  EXPECT_EQ(rejected.summary,
            "default/web requests 1Gi of hugepages-1Gi, but this node has none for pods");
  EXPECT_EQ(rejected.limit, "this machine has no hugepages-1Gi for pods");
  const TestNode aligning = node_running({}, with_memory_policy("single-numa-node"), {});
  EXPECT_EQ(explained_on(aligning, rejected.pod).limit,
            "this machine has no hugepages-1Gi for pods");
}

TEST(Causes, AnEmptyNodeIsCalledSo) {
  Config config = aligning_config("none");
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  const Node node = node_with_threads(config);
  EXPECT_EQ(explain(node, empty_state(node), pod("web", with("3", "1Gi"))).limit,
            "the node runs none");
}

TEST(Causes, OverheadIsPartOfWhatAPodRequests) {
  const TestNode node = node_running({}, aligning_config("none"), {pod("a", with("14", "1Gi"))});
  PodSpec web = pod("web", {{"cpu", "2"}});
  web.containers[0].resources.limits.clear();
  web.overhead["cpu"] = Quantity::milli(250);
  EXPECT_THAT(
      explained_on(node, web).summary,
      HasSubstr("requests 2250m CPU (250m of it overhead), but the requests of other pods"));
}

TEST(Causes, OneCpuIsSingular) {
  const TestNode node = node_running({}, aligning_config("none"), {});
  EXPECT_EQ(explained_on(node, pod("web", with("1", "1Gi"))).summary,
            "default/web is admitted: container c has exclusive CPU 1");
}

}  // namespace
}  // namespace pinfold::test
