#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "node_fixture.hpp"
#include "pinfold/explain/amount_text.hpp"
#include "pinfold/explain/explanation.hpp"
#include "pinfold/explain/remedies.hpp"
#include "provider_without_hints.hpp"

namespace pinfold::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> texts(const Trace& trace) {
  std::vector<std::string> all;
  for (const TraceFact& fact : trace.facts) all.push_back(fact.source + ": " + fact.text);
  return all;
}

std::vector<std::string> texts(const std::vector<Remedy>& remedies) {
  std::vector<std::string> all;
  for (const Remedy& remedy : remedies) all.push_back(remedy.text);
  return all;
}

TEST(Explain, AnAdmissionNamesTheWinnerAndTheRunnerUp) {
  TestNode node({}, with_memory_manager(aligning_config("single-numa-node")));
  const PodSpec web = pod("web", {{"cpu", "4"}, {"memory", "2Gi"}});
  const Explanation both = explain(node.node(), node.state(), web);
  EXPECT_FALSE(both.rejection);
  EXPECT_EQ(both.summary,
            "default/web is admitted: container c has exclusive CPUs 1-4 and memory of NUMA 0");
  EXPECT_THAT(
      texts(both.trace),
      ElementsAre("topology: cpu fits on NUMA 0 or 1", "topology: memory fits on NUMA 0 or 1",
                  "topology: aligned on NUMA 0, the best of 2 choices that suit every "
                  "resource",
                  "topology: runner-up: NUMA node 1, which also has enough of everything; on a tie "
                  "the lower number wins",
                  HasSubstr("cpu: took CPUs 1-4 (4 of 15 free)"),
                  HasSubstr("memory: takes 2Gi of memory")));
  ASSERT_EQ(node.admit(web), "");
  const PodSpec db = pod("db", {{"cpu", "6"}, {"memory", "15Gi"}});
  EXPECT_THAT(texts(explain(node.node(), node.state(), db).trace),
              Contains("topology: runner-up: none; NUMA node 0 would have needed 3 CPUs more and "
                       "2Gi of memory more"));
}

TEST(Explain, AnAdmissionNamesTheNextCpusAndTheRuleBeforeThem) {
  const auto next = [](int numa, const char* cpus) {
    const TestNode node({.numa = numa}, aligning_config("none"));
    const PodSpec web = pod("web", {{"cpu", cpus}, {"memory", "1Gi"}});
    std::vector<std::string> all = texts(explain(node.node(), node.state(), web).trace);
    std::erase_if(all, [](const std::string& text) { return !text.starts_with("cpu: "); });
    return all.empty() ? "" : all.back();
  };
  EXPECT_EQ(next(2, "2"),
            "cpu: next would have been CPUs 3-4: cores 1 and 3 have 1 free CPU each, and the lower "
            "number comes first");
  EXPECT_EQ(next(2, "7"),
            "cpu: next would have been CPUs 8-14: NUMA node 0 has 7 free CPUs, NUMA node 1 has 8, "
            "and the one with fewer is used first");
  EXPECT_EQ(next(3, "8"),
            "cpu: next would have been CPUs 16-23: NUMA nodes 1 and 2 have 8 free CPUs each, and "
            "the lower number comes first");
  EXPECT_EQ(next(2, "1"),
            "cpu: next would have been CPU 2: cores 1 and 2 have 1 free CPU each, and the lower "
            "number comes first");
  EXPECT_EQ(next(2, "6"), "cpu: next would have been CPUs 7-12");
  EXPECT_THAT(next(2, "8"), HasSubstr("cpu: took CPUs 8-15 (8 of 15 free)")) << "no other choice";
}

TEST(Explain, SaysWhichKindsOfCoresAContainerHas) {
  MachineDescription description = machine_of({}).description();
  description.core_kinds = {{"performance", CpuSet{0, 1, 2, 5}},
                            {"efficiency", CpuSet::range(3, 4) | CpuSet::range(6, 15)}};
  const Node node =
      Node::make(Machine::make(std::move(description)).value(), aligning_config("none")).value();
  const auto with = [&](const char* cpus) {
    return explain(node, empty_state(node), pod("web", {{"cpu", cpus}, {"memory", "1Gi"}}));
  };
  EXPECT_EQ(with("2").containers.at(0).cpus, "exclusive CPUs 1-2 (performance 1-2)");
  EXPECT_THAT(with("2").notes, Not(Contains(HasSubstr("kinds of cores"))));
  description = machine_of({}).description();
  description.core_kinds = {{"performance", CpuSet::range(5, 15)},
                            {"efficiency", CpuSet::range(0, 4)}};
  const Node slow_first =
      Node::make(Machine::make(std::move(description)).value(), aligning_config("none")).value();
  EXPECT_THAT(explain(slow_first, empty_state(slow_first), pod("web", {{"cpu", "2"}})).notes,
              Not(Contains(HasSubstr("kinds of cores"))))
      << "it has no exclusive CPUs";
  EXPECT_THAT(
      explain(slow_first, empty_state(slow_first), pod("web", {{"cpu", "2"}, {"memory", "1Gi"}}))
          .notes,
      Contains(HasSubstr("Container c has CPUs of the kind efficiency although CPUs 5-15 of "
                         "the kind performance are free")));
  const Explanation mixed = with("5");
  EXPECT_EQ(mixed.containers.at(0).cpus, "exclusive CPUs 1-5 (performance 1-2,5, efficiency 3-4)");
  EXPECT_THAT(mixed.notes,
              Contains("Container c has CPUs of several kinds of cores, which the CPU manager does "
                       "not distinguish: performance 1-2,5 and efficiency 3-4"));
}

TEST(Explain, TheNextCpusOfEachContainerAreThoseAtItsTurn) {
  const TestNode node({}, aligning_config("none"));
  const Amounts three = {{"cpu", "3"}, {"memory", "1Gi"}};
  const PodSpec web =
      pod_of("web", {container("first", three, ContainerKind::kInit), container("main", three)});
  // main reuses CPUs 1-3; 4-6 are free.
  EXPECT_THAT(texts(explain(node.node(), node.state(), web).trace),
              AllOf(Contains(HasSubstr("took CPUs 1-3 (3 of 15 free)")),
                    Contains(HasSubstr("next would have been CPUs 4-6"))));
}

TEST(Explain, ContainersHaveTheReasonOfTheirIsolationAndQuota) {
  TestNode node({}, aligning_config("none"));
  const PodSpec web = pod_of("web", {container("main", {{"cpu", "2"}, {"memory", "1Gi"}}),
                                     container("log", {{"cpu", "1500m"}, {"memory", "1Gi"}})});
  const Explanation explained = explain(node.node(), node.state(), web);
  ASSERT_EQ(explained.containers.size(), 2U);
  EXPECT_EQ(explained.containers[0].cpus, "exclusive CPUs 1-2");
  EXPECT_EQ(explained.containers[0].quota, "no CPU quota: its CPUs are exclusive");
  EXPECT_EQ(explained.containers[1].cpus,
            "shared pool, CPUs 0,3-15: its limit of 1500m is not a whole number of CPUs");
  EXPECT_EQ(explained.containers[1].quota,
            "CPU quota 150000 of 100000 microseconds: its limit is 1500m");
  EXPECT_EQ(
      explained.summary,
      "default/web is admitted: container main has exclusive CPUs 1-2; log runs in the shared "
      "pool");
}

TEST(Explain, ContainersOfAPolicyThatGivesNoExclusiveCpus) {
  Config config = aligning_config("none");
  config.cpu_manager_policy = "none";
  config.cpu_cfs_quota = false;
  const TestNode node({}, config);
  const Explanation explained =
      explain(node.node(), node.state(), pod("web", {{"cpu", "2"}, {"memory", "1Gi"}}));
  EXPECT_EQ(explained.containers.at(0).cpus,
            "shared pool, any CPU: the CPU manager policy is none");
  EXPECT_EQ(explained.containers.at(0).quota, "no CPU quota: cpuCFSQuota is off");
}

TEST(Explain, AnActivePodIsExplainedByItsAdmission) {
  TestNode node({}, aligning_config("single-numa-node"));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "4"}, {"memory", "1Gi"}})), "");
  ASSERT_EQ(node.admit(pod("b", {{"cpu", "4"}, {"memory", "1Gi"}})), "");
  const Explanation now = explain_active(node.node(), node.state(), PodUid("b")).value();
  EXPECT_EQ(now.summary, "default/b is active: container c has exclusive CPUs 8-11");
  EXPECT_THAT(texts(now.trace), Contains("topology: cpu fits on NUMA 1"));
  node.remove("a");
  const Explanation later = explain_active(node.node(), node.state(), PodUid("b")).value();
  EXPECT_EQ(later.summary, now.summary);
  EXPECT_EQ(later.trace.facts.at(0).text,
            "it was admitted when other pods ran, and keeps its resources; if admitted now, it "
            "would get the following");
  EXPECT_EQ(explain_active(node.node(), node.state(), PodUid("a")).error().code,
            ErrorCode::kNotFound);
}

TEST(Explain, ThePodsInTheWayAreTheFewest) {
  TestNode node({}, aligning_config("single-numa-node"));
  for (const char* const name : {"a", "b", "c", "d"}) {
    ASSERT_EQ(node.admit(pod(name, {{"cpu", "3"}, {"memory", "1Gi"}})), "");
  }
  // NUMA node 0 runs a and b and has one free CPU; NUMA node 1 runs c and d and has two.
  const auto remedies =
      find_remedies(node.node(), node.state(), pod("web", {{"cpu", "5"}, {"memory", "1Gi"}}));
  EXPECT_THAT(texts(remedies), Contains("default/c (3 CPUs on NUMA node 1) is removed"));
  const auto more =
      find_remedies(node.node(), node.state(), pod("web", {{"cpu", "8"}, {"memory", "1Gi"}}));
  EXPECT_THAT(texts(more), Contains("default/c (3 CPUs on NUMA node 1) and default/d (3 CPUs on "
                                    "NUMA node 1) are removed"));
}

/// Admits the pods. a to d have 3 CPUs each: one is free on NUMA node 0, two on NUMA node 1.
TestNode node_with(std::vector<PodSpec> pods) {
  TestNode node({}, aligning_config("single-numa-node"));
  for (PodSpec& pod : pods) {
    if (!node.admit(pod).empty()) throw std::logic_error("the running pods must be admitted");
  }
  return node;
}

TEST(Explain, StaticAndCriticalPodsAreNamedLast) {
  const Amounts three = {{"cpu", "3"}, {"memory", "1Gi"}};
  PodSpec c = pod("c", three);
  PodSpec d = pod("d", three);
  c.is_node_critical = true;
  d.is_static = true;
  const TestNode node = node_with({pod("a", three), pod("b", three), c, d});
  const auto without = [&](const char* cpus) {
    return texts(
        find_remedies(node.node(), node.state(), pod("web", {{"cpu", cpus}, {"memory", "1Gi"}})));
  };
  EXPECT_THAT(without("5"), Contains("default/a (3 CPUs on NUMA node 0) and default/b (3 CPUs on "
                                     "NUMA node 0) are removed"));
  EXPECT_THAT(without("8"),
              Contains("default/c (3 CPUs on NUMA node 1; node-critical) and default/d (3 CPUs on "
                       "NUMA node 1; static) are removed"));
}

TEST(Explain, NoPodOfAHigherPriorityThanNecessaryIsNamed) {
  std::vector<PodSpec> pods;
  for (const auto& [name, priority] : {std::pair{"a", 2000}, {"b", 2000}, {"c", 1000}, {"d", 10}}) {
    pods.push_back(pod(name, {{"cpu", "3"}, {"memory", "1Gi"}}));
    pods.back().priority.value = priority;
  }
  const TestNode node = node_with(std::move(pods));
  EXPECT_THAT(texts(find_remedies(node.node(), node.state(),
                                  pod("web", {{"cpu", "5"}, {"memory", "1Gi"}}))),
              Contains("default/d (3 CPUs on NUMA node 1; priority 10) is removed"));
}

TEST(Explain, APodMayTakeAnotherDevice) {
  const char* const gpu = "example.com/gpu";
  TestNode node({.devices = {{gpu, {1, 1}}}}, aligning_config("single-numa-node"));
  ASSERT_EQ(node.admit(pod("x", {{"cpu", "7"}, {"memory", "1Gi"}})), "");
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "1"}, {"memory", "1Gi"}, {gpu, "1"}})), "");
  node.remove("x");
  ASSERT_EQ(node.admit(pod("b", {{"cpu", "4"}, {"memory", "1Gi"}})), "");
  // NUMA node 0 has a device and 3 CPUs free, NUMA node 1 has 7 CPUs and the device of a.
  const PodSpec web = pod("web", {{"cpu", "6"}, {"memory", "1Gi"}, {gpu, "1"}});
  EXPECT_THAT(
      texts(find_remedies(node.node(), node.state(), web)),
      Contains("default/a (1 example.com/gpu and 1 CPU on NUMA node 1) is removed and recreated "
               "after default/web; it then gets 1 example.com/gpu and 1 CPU on NUMA node 0"));
  ASSERT_EQ(node.admit(pod("c", {{"cpu", "1"}, {"memory", "1Gi"}, {gpu, "1"}})), "");
  EXPECT_THAT(texts(find_remedies(node.node(), node.state(), web)),
              Contains("default/a (1 example.com/gpu and 1 CPU on NUMA node 1) is removed"))
      << "no device is left for it";
}

TEST(Explain, OnePodTooMany) {
  Config config = aligning_config("none");
  const auto with = [&](std::int32_t max_pods, std::int32_t per_core, int pods) {
    TestNode before({}, config);
    for (int i = 0; i < pods; ++i) EXPECT_EQ(before.admit(pod("p" + std::to_string(i), {})), "");
    config.max_pods = max_pods;
    config.pods_per_core = per_core;
    const TestNode node({}, config);
    const Explanation explained = explain(node.node(), before.state(), pod("more", {}));
    EXPECT_EQ(explained.rejection ? explained.rejection->reason : "", "OutOfpods");
    return explained;
  };
  const Explanation one = with(4, 0, 4);
  EXPECT_EQ(one.summary,
            "default/more would exceed the pod limit: the node has 4 pods, and maxPods allows 4");
  EXPECT_THAT(
      texts(one.remedies),
      ElementsAre("one of the other pods is removed, such as default/p0", "maxPods: 4 -> 5"));
  config = aligning_config("none");
  EXPECT_THAT(texts(with(2, 0, 3).remedies),
              ElementsAre("default/p0 and default/p1 are removed", "maxPods: 2 -> 4"));
  config = aligning_config("none");
  EXPECT_THAT(with(16, 1, 16).summary,
              HasSubstr("and maxPods and podsPerCore: 1 on 16 CPUs allow 16"));
  config = aligning_config("none");
  EXPECT_THAT(with(110, 1, 16).summary, HasSubstr("and podsPerCore: 1 on 16 CPUs allows 16"));
  config = aligning_config("none");
  EXPECT_THAT(texts(with(16, 1, 16).remedies),
              ElementsAre("one of the other pods is removed, such as default/p0",
                          "maxPods: 16 -> 17 and podsPerCore: 1 -> 2"));
}

TEST(Explain, TheContainersThatHaveToMove) {
  TestNode node({}, aligning_config("single-numa-node"));
  for (const auto& [name, cpus] : {std::pair{"a", "2"}, {"b", "2"}, {"c", "5"}}) {
    ASSERT_EQ(node.admit(pod(name, {{"cpu", cpus}, {"memory", "1Gi"}})), "");
  }
  // 3 CPUs are free on each NUMA node.
  const PodSpec wanted = pod("web", {{"cpu", "5"}, {"memory", "1Gi"}});
  const auto remedies = find_remedies(node.node(), node.state(), wanted);
  const auto moves = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
    return remedy.kind == Remedy::Kind::kMoves;
  });
  ASSERT_NE(moves, remedies.end());
  EXPECT_EQ(moves->text, "default/a/c (CPUs 1-2 -> 13-14) is moved");
  ASSERT_EQ(moves->moves.size(), 1U);
  const auto json = to_json(explain(node.node(), node.state(), wanted));
  const auto& shown = json.at("remedies").at(2);
  EXPECT_EQ(shown.at("kind"), "moves");
  EXPECT_EQ(shown.at("moves").at(0).at("cpusAfter"), "13-14");
  EXPECT_EQ(shown.at("moves").at(0).at("pod").at("name"), "a");
}

TEST(Explain, AMoveThatSpreadsMemoryIsNamedAsSuchAndLast) {
  // For example with a DPDK pod on each NUMA node: 'web' fits only if the memory of each is on
  // both.
  TestNode node({.gib = 16}, with_memory_manager(aligning_config("best-effort")));
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "1"}, {"memory", "10Gi"}})), "");
  ASSERT_EQ(node.admit(pod("b", {{"cpu", "1"}, {"memory", "10Gi"}})), "");
  const auto remedies =
      find_remedies(node.node(), node.state(), pod("web", {{"cpu", "1"}, {"memory", "9Gi"}}));
  const auto moves = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
    return remedy.kind == Remedy::Kind::kMoves;
  });
  ASSERT_NE(moves, remedies.end());
  EXPECT_EQ(moves + 1, remedies.end());
  EXPECT_EQ(
      moves->text,
      "default/a/c (10Gi of memory: NUMA node 0 -> NUMA nodes 0 and 1) and default/b/c (10Gi "
      "of memory: NUMA node 1 -> NUMA nodes 0 and 1) are moved; memory is then spread over more "
      "NUMA nodes than now");
}

TEST(Explain, ARequestForHugePagesThatTheMachineLacksIsRemoved) {
  const TestNode node({}, with_memory_manager(aligning_config("none")));
  const PodSpec web = pod("web", {{"cpu", "1"}, {"memory", "1Gi"}, {"hugepages-2Mi", "64Mi"}});
  const auto remedies = find_remedies(node.node(), node.state(), web);
  ASSERT_EQ(texts(remedies).size(), 1U);
  EXPECT_EQ(remedies[0].text, "container c: hugepages-2Mi 64Mi -> none (requests and limits)");
  EXPECT_FALSE(remedies[0].pod->containers[0].resources.limits.contains("hugepages-2Mi"));
}

/// The memory manager considers the whole machine; the rule comes from the topology manager.
TEST(Explain, OfSingleNumaNodeTheShortageIsThatOfOneNumaNode) {
  const TestNode node({}, with_memory_manager(aligning_config("single-numa-node")));
  const Explanation explained =
      explain(node.node(), node.state(), pod("web", {{"cpu", "1"}, {"memory", "17Gi"}}));
  EXPECT_THAT(explained.summary,
              HasSubstr("needs 1 CPU and 17Gi of memory on one NUMA node (topology policy "
                        "single-numa-node): NUMA node 1 lacks 1Gi of memory"));
  const Explanation more =
      explain(node.node(), node.state(), pod("web", {{"cpu", "1"}, {"memory", "40Gi"}}));
  EXPECT_THAT(more.summary, HasSubstr("NUMA node 1 lacks 24Gi of memory"));
  EXPECT_THAT(explained.summary, Not(HasSubstr("together")));
  EXPECT_THAT(more.summary, EndsWith("; together the NUMA nodes have only 31Gi of memory free"));
}

TEST(Explain, SaysThatResourcesNeedDifferentNumbersOfNumaNodes) {
  const TestNode node({.numa = 4, .gib = 8}, with_memory_manager(aligning_config("restricted")));
  EXPECT_EQ(
      explain(node.node(), node.state(), pod("web", {{"cpu", "1"}, {"memory", "15Gi"}})).summary,
      "Container c of default/web needs 1 CPU and 15Gi of memory; enough is free, but each must be "
      "on the fewest NUMA nodes that suffice, and all on the same ones (topology policy "
      "restricted): the fewest are 1 for 1 CPU and 2 for 15Gi of memory");
}

TEST(Explain, MoreThanThreePodsInTheWay) {
  TestNode node({}, aligning_config("none"));
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(node.admit(pod("p" + std::to_string(i), {{"cpu", "2"}, {"memory", "1Gi"}})), "");
  }
  const auto remedies =
      find_remedies(node.node(), node.state(), pod("web", {{"cpu", "11"}, {"memory", "1Gi"}}));
  const auto found = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
    return remedy.kind == Remedy::Kind::kPods;
  });
  ASSERT_NE(found, remedies.end());
  EXPECT_EQ(found->pods.size(), 5U);
  EXPECT_THAT(found->text, HasSubstr(" and 2 more pods are removed"));
}

TEST(Explain, AHeldPodIsInTheWayUnderItsUid) {
  TestNode node({}, aligning_config("single-numa-node"));
  ASSERT_EQ(node.admit(pod("held-uid", {{"cpu", "7"}, {"memory", "1Gi"}})), "");
  ASSERT_EQ(node.admit(pod("other", {{"cpu", "8"}, {"memory", "1Gi"}})), "");
  NodeState state = node.state();
  state.pods.erase(state.pods.begin());
  state.held.insert(PodUid("held-uid"));
  const Explanation explained =
      explain(node.node(), state, pod("web", {{"cpu", "7"}, {"memory", "1Gi"}}));
  EXPECT_EQ(to_string(explained.table.at(0).places.at(0).holders.at(0)), "held-uid/c");
  EXPECT_THAT(texts(explained.remedies), Contains("held-uid (7 CPUs on NUMA node 0) is removed"));
}

/// A kubelet lowers the requests of a Burstable pod while it runs.
TEST(Explain, ARunningPodMayRequestLess) {
  TestNode node({}, aligning_config("none"));
  PodSpec burst = pod("burst", {{"cpu", "5"}});
  burst.containers[0].resources.limits.clear();
  PodSpec important = pod("important", {{"cpu", "6"}});
  important.containers[0].resources.limits.clear();
  important.priority.value = 1000;
  ASSERT_EQ(node.admit(important), "");
  ASSERT_EQ(node.admit(burst), "");
  PodSpec web = pod("web", {{"cpu", "7"}});
  web.containers[0].resources.limits.clear();
  const auto remedies = find_remedies(node.node(), node.state(), web);
  const auto resize = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
    return remedy.kind == Remedy::Kind::kResize;
  });
  ASSERT_NE(resize, remedies.end());
  EXPECT_THAT(resize->text,
              HasSubstr("default/burst is resized in place: container c: cpu 5 -> 2 (requests)"));
  NodeState state = node.state();
  state.pods.replace_spec(state.pods.find(PodUid("burst")), resize->pod.value());
  EXPECT_TRUE(std::holds_alternative<Admitted>(
      decide(node.node(), state, web, nullptr, nullptr, AdmissionChecks::kManagersAndRequests)));
}

TEST(Explain, OfHeldPodsItSaysWhatIsNotKnown) {
  TestNode node({}, aligning_config("none"));
  ASSERT_EQ(node.admit(pod("held-uid", {{"cpu", "12"}, {"memory", "1Gi"}})), "");
  NodeState state = node.state();
  state.pods = {};
  state.held.insert(PodUid("held-uid"));
  PodSpec burst = pod("burst", {{"cpu", "5"}});
  burst.containers[0].resources.limits.clear();
  const Explanation explained = explain(node.node(), state, burst);
  ASSERT_TRUE(explained.rejection);
  EXPECT_EQ(explained.rejection->reason, "OutOfcpu");
  EXPECT_THAT(
      explained.notes,
      ElementsAre("1 pod is known only from the kubelet's files (held-uid): its 12 CPUs are "
                  "counted, and any other requests are unknown; name what runs on the node with "
                  "--running FILE, or pass the other manifest before that of this pod"));
  EXPECT_EQ(to_string(explained.table.at(0).places.at(0).holders.at(0)), "held-uid");
  EXPECT_THAT(texts(explained.remedies), Contains(HasSubstr("held-uid")));
  state.held_names.names[PodUid("held-uid")] = {PodUid("held-uid"), "shop", "old"};
  const Explanation named = explain(node.node(), state, burst);
  EXPECT_THAT(named.notes, Contains(HasSubstr("files (shop/old): its 12 CPUs are counted")));
  EXPECT_EQ(to_string(named.table.at(0).places.at(0).holders.at(0)), "shop/old");
  EXPECT_THAT(texts(named.remedies), Contains(HasSubstr("shop/old")));
}

/// A provider that admits everything.
class IdleProvider final : public ProviderWithoutHints {
 public:
  [[nodiscard]] std::string name() const override { return "idle"; }
  [[nodiscard]] Admission allocate(std::string& /*state*/, const PodSpec& /*pod*/,
                                   const Container& /*container*/,
                                   const TopologyHint& /*affinity*/) const override {
    return {};
  }
  void release(std::string& /*state*/, const ContainerId& /*container*/) const override {}
};

TEST(Explain, NamesTheKnownBugsThatAct) {
  // One core has two threads and two have one, so the average is one CPU per core. CPU 1 is
  // reserved.
  MachineDescription description = machine_of({.numa = 1, .cpus = 4}).description();
  description.cpus[1].core = CoreId{0};
  Config config = aligning_config("none");
  config.reserved_system_cpus = "1";
  const auto notes = [&](Profile profile, const char* cpus) {
    config.profile = profile;
    Node::Providers providers;
    providers.push_back(std::make_unique<IdleProvider>());
    const Node node =
        Node::make(Machine::make(description).value(), config, std::move(providers)).value();
    return explain(node, empty_state(node), pod("p", {{"cpu", cpus}, {"memory", "1Gi"}})).notes;
  };
  EXPECT_THAT(
      notes(Profile::kKubelet136, "2"),
      ElementsAre("A known bug of kubelet 1.36 applies: a socket or core that is larger than the "
                  "average, and has an average number of free CPUs, is taken whole, including CPUs "
                  "in use (quirk large_group_taken_with_cpus_in_use, kubernetes#140495); container "
                  "c has the reserved CPU 1; the kubelet then fails to restart: not all reserved "
                  "cpus: \"1\" are present in defaultCpuSet: \"2-3\""));
  EXPECT_THAT(notes(Profile::kKubelet136, "1"), ElementsAre());
  EXPECT_THAT(notes(Profile::kFixed, "2"), ElementsAre());
}

/// The pod is admitted; the bug acts at the kubelet's next start.
TEST(Explain, NamesAKnownBugThatActsAtTheNextStart) {
  Config config = aligning_config("none");
  config.reserved_system_cpus = "0-1";
  config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  config.profile = Profile::kKubelet138;
  const TestNode node({.numa = 1, .cpus = 16}, config);
  const auto notes = [&](const char* cpus) {
    return explain(node.node(), node.state(), pod("p", {{"cpu", cpus}, {"memory", "1Gi"}})).notes;
  };
  EXPECT_THAT(notes("14"),
              ElementsAre("A known bug of kubelet 1.38 applies: with strict-cpu-reservation a node "
                          "does not start after exclusive CPUs have used up the shared pool (quirk "
                          "empty_shared_pool_prevents_start); the kubelet then fails to restart: "
                          "default cpuset cannot be empty"));
  EXPECT_THAT(notes("13"), ElementsAre());
}

TEST(Explain, NamesTheNumaNodeOfTheDevicesInALimit) {
  Config config = aligning_config("single-numa-node");
  config.reserved_system_cpus = "0-7";
  const TestNode node({.devices = {{"example.com/gpu", {1, 0}}}}, config);
  const auto explained =
      explain(node.node(), node.state(),
              pod("p", {{"cpu", "4"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}}));
  EXPECT_EQ(explained.limit, "NUMA node 0 has no CPUs for pods (all 8 CPUs there are reserved)");
}

TEST(Explain, NamesAKnownBugWithoutWhichTheNodeDoesNotStart) {
  Config config = with_memory_manager(aligning_config("single-numa-node"));
  config.kube_reserved["memory"] = "20Gi";
  config.reserved_memory = {{0, {{"memory", "20Gi"}}}};
  config.profile = Profile::kKubelet136;
  const TestNode node({}, config);
  EXPECT_THAT(explain(node.node(), node.state(), pod("p", {{"cpu", "1"}, {"memory", "1Gi"}})).notes,
              Contains(AllOf(HasSubstr("excess_reserved_memory_wraps_around"),
                             HasSubstr("without it this kubelet would not start"))));
}

TEST(Explain, MemoryIsLoweredToWhatANumaNodeHas) {
  // 6Gi are free on each NUMA node, and no container may have memory of both.
  for (const char* const policy : {"none", "best-effort", "restricted", "single-numa-node"}) {
    TestNode node({.gib = 16}, with_memory_manager(aligning_config(policy)));
    ASSERT_EQ(node.admit(pod("a", {{"cpu", "1"}, {"memory", "10Gi"}})), "");
    ASSERT_EQ(node.admit(pod("b", {{"cpu", "1"}, {"memory", "10Gi"}})), "");
    const auto remedies =
        find_remedies(node.node(), node.state(), pod("web", {{"cpu", "1"}, {"memory", "7Gi"}}));
    EXPECT_THAT(texts(remedies), Contains("container c: memory 7Gi -> 6Gi (requests and limits)"))
        << policy;
  }
}

TEST(Explain, AnyContainerOfThePodMayBeSmaller) {
  TestNode node({}, aligning_config("none"));
  const PodSpec web = pod_of("web", {container("one", {{"cpu", "6"}, {"memory", "1Gi"}}),
                                     container("two", {{"cpu", "10"}, {"memory", "1Gi"}})});
  EXPECT_THAT(texts(find_remedies(node.node(), node.state(), web)),
              ElementsAre("container two: cpu 10 -> 9 (requests and limits)",
                          "container one: cpu 6 -> 5 (requests and limits)"));
}

TEST(Explain, ReservedCpusMayBeElsewhereOrFewer) {
  Config config = aligning_config("single-numa-node");
  config.reserved_system_cpus = "0-5";
  TestNode node({}, config);
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "4"}, {"memory", "1Gi"}})), "");
  const PodSpec web = pod("web", {{"cpu", "6"}, {"memory", "1Gi"}});
  EXPECT_THAT(texts(find_remedies(node.node(), node.state(), web)),
              Contains("reservedSystemCPUs: 0-5 -> 0-1,12-15 (4 fewer on NUMA node 0)"));
  ASSERT_EQ(node.admit(pod("b", {{"cpu", "4"}, {"memory", "1Gi"}})), "");
  EXPECT_THAT(texts(find_remedies(node.node(), node.state(), web)),
              Contains("reservedSystemCPUs: 0-5 -> 0-1 (4 fewer reserved)"));
}

std::vector<std::string> remedies_with_threads(const Config& config, const char* running,
                                               const char* cpus) {
  MachineDescription description = machine_of({}).description();
  for (Cpu& cpu : description.cpus) cpu.core = CoreId{cpu.id.value % 4 + cpu.id.value / 8 * 8};
  const Node node = Node::make(Machine::make(std::move(description)).value(), config).value();
  const Decision decision =
      decide(node, empty_state(node), pod("a", {{"cpu", running}, {"memory", "1Gi"}}));
  return texts(find_remedies(node, std::get<Admitted>(decision).next,
                             pod("web", {{"cpu", cpus}, {"memory", "1Gi"}})));
}

TEST(Explain, PartOfACoreMayBeReserved) {
  Config config = aligning_config("none");
  config.reserved_system_cpus = "0,4";
  EXPECT_THAT(remedies_with_threads(config, "2", "13"),
              Contains("reservedSystemCPUs: 0,4 -> 0 (1 fewer reserved)"));
}

TEST(Explain, WholeCoresMayBeReserved) {
  Config config = aligning_config("none");
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  config.reserved_system_cpus = "0-1";
  EXPECT_THAT(remedies_with_threads(config, "2", "12"),
              Contains("reservedSystemCPUs: 0-1 -> 0,4 (as many, in whole cores)"));
}

TEST(Explain, CpusReservedByCountAreNotSet) {
  Config config = aligning_config("single-numa-node");
  config.reserved_system_cpus = "";
  config.kube_reserved["cpu"] = "6";
  TestNode node({}, config);
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "4"}, {"memory", "1Gi"}})), "");
  const PodSpec web = pod("web", {{"cpu", "6"}, {"memory", "1Gi"}});
  EXPECT_THAT(texts(find_remedies(node.node(), node.state(), web)),
              Contains("reservedSystemCPUs: not set (0-5 by count) -> 0-1,12-15 (4 fewer on NUMA "
                       "node 0)"));
}

TEST(Explain, FewerCpusMayBeReservedByCount) {
  Config config = aligning_config("none");
  config.cpu_manager_policy = "none";
  config.reserved_system_cpus = "";
  config.kube_reserved["cpu"] = "4";
  TestNode node({}, config);
  ASSERT_EQ(node.admit(pod("a", {{"cpu", "8"}})), "");
  EXPECT_THAT(texts(find_remedies(node.node(), node.state(), pod("web", {{"cpu", "5500m"}}))),
              Contains("kubeReserved: cpu 4 -> 2500m"));
}

TEST(Explain, LessMemoryMayBeReserved) {
  Config config = aligning_config("none");
  config.kube_reserved["memory"] = "4Gi";
  TestNode node({}, config);
  PodSpec big = pod("big", {{"memory", "24Gi"}});
  ASSERT_EQ(node.admit(big), "");
  const auto remedies = find_remedies(node.node(), node.state(), pod("web", {{"memory", "5Gi"}}));
  EXPECT_THAT(texts(remedies), Contains("kubeReserved: memory 4Gi -> 3Gi"));
}

TEST(Explain, LessMemoryMayBeReservedForTheMemoryManager) {
  TestNode node({.numa = 1}, with_memory_manager(aligning_config("none")));
  EXPECT_THAT(
      texts(find_remedies(node.node(), node.state(),
                          pod("web", {{"cpu", "1"}, {"memory", "15872Mi"}}))),
      Contains(HasSubstr("kubeReserved: memory 1Gi -> 512Mi, reservedMemory: memory of NUMA node 0 "
                         "1Gi -> 512Mi")));
}

TEST(Explain, MemoryMayBeReservedElsewhere) {
  TestNode node({.devices = {{"example.com/gpu", {1, 0}}}},
                with_memory_manager(aligning_config("single-numa-node")));
  const auto remedies =
      find_remedies(node.node(), node.state(),
                    pod("web", {{"cpu", "1"}, {"memory", "16Gi"}, {"example.com/gpu", "1"}}));
  EXPECT_THAT(texts(remedies),
              Contains(HasSubstr("reservedMemory: memory of NUMA node 0 1Gi -> 0, of NUMA node 1 0 "
                                 "-> 1Gi; apply it with 'pinfold reconfigure'")));
}

TEST(Explain, SaysWhatGivesAContainerExclusiveCpus) {
  TestNode node({}, aligning_config("none"));
  PodSpec web = pod("web", {{"cpu", "4"}, {"memory", "2Gi"}});
  web.containers[0].resources.requests["memory"] = Quantity::parse("1Gi").value();
  const Explanation explained = explain(node.node(), node.state(), web);
  EXPECT_THAT(explained.containers.at(0).cpus,
              HasSubstr("its pod is Burstable, not Guaranteed: container c has memory request 1Gi "
                        "and limit 2Gi"));
  EXPECT_THAT(
      texts(explained.remedies),
      ElementsAre("container c: memory request 1Gi -> 2Gi; container c then has 4 exclusive "
                  "CPUs"));
  const PodSpec half = pod("half", {{"cpu", "1500m"}, {"memory", "1Gi"}});
  EXPECT_THAT(
      texts(explain(node.node(), node.state(), half).remedies),
      ElementsAre("container c: cpu 1500m -> 2 (requests and limits); container c then has 2 "
                  "exclusive CPUs"));
  const PodSpec no_memory = pod("no-memory", {{"cpu", "2"}});
  EXPECT_THAT(
      texts(explain(node.node(), node.state(), no_memory).remedies),
      ElementsAre("container c: memory none -> 1Gi, for example (requests and limits); container c "
                  "then has 2 exclusive CPUs"));
  const PodSpec done = pod("done", {{"cpu", "2"}, {"memory", "1Gi"}});
  EXPECT_THAT(texts(explain(node.node(), node.state(), done).remedies), ElementsAre());
  EXPECT_THAT(
      texts(explain(node.node(), node.state(), pod("none", {})).remedies),
      ElementsAre("container c: cpu none -> 1, for example (requests and limits) and container c: "
                  "memory none -> 1Gi, for example (requests and limits); container c then has 1 "
                  "exclusive CPU"));
}

TEST(Explain, ASidecarWithoutLimitsGetsExamples) {
  TestNode node({}, aligning_config("single-numa-node"));
  const PodSpec web = pod_of("web", {container("c", {{"cpu", "4"}, {"memory", "2Gi"}}),
                                     container("log", {}), container("agent", {{"cpu", "200m"}})});
  EXPECT_THAT(
      texts(explain(node.node(), node.state(), web).remedies),
      ElementsAre("container log: cpu none -> 100m, for example (requests and limits), container "
                  "log: memory none -> 64Mi, for example (requests and limits) and container "
                  "agent: memory none -> 64Mi, for example (requests and limits); container c then "
                  "has 4 exclusive CPUs"));
}

TEST(Explain, ExclusiveCpusNeedTheStaticPolicy) {
  Config config = aligning_config("none");
  config.cpu_manager_policy = "none";
  config.reserved_system_cpus = "";
  const PodSpec web = pod("web", {{"cpu", "4"}, {"memory", "1Gi"}});
  TestNode node({}, config);
  const Explanation explained = explain(node.node(), node.state(), web);
  ASSERT_EQ(explained.remedies.size(), 1U);
  EXPECT_THAT(explained.remedies[0].text,
              StartsWith("cpuManagerPolicy: none -> static and reservedSystemCPUs: none -> "));
  EXPECT_THAT(explained.remedies[0].text,
              EndsWith("'pinfold reconfigure', as a restart would refuse the present state; "
                       "container c then has 4 exclusive CPUs"));
  EXPECT_EQ(explained.remedies[0].config.value().cpu_manager_policy, "static");
}

TEST(Explain, PodLevelCpusMustBeWholeForExclusiveOnes) {
  TestNode node({}, aligning_config("single-numa-node", "pod"));
  PodSpec web = pod("web", {{"cpu", "4"}, {"memory", "1Gi"}});
  web.resources = container("", {{"cpu", "5500m"}, {"memory", "4Gi"}}).resources;
  EXPECT_THAT(texts(explain(node.node(), node.state(), web).remedies),
              ElementsAre("the pod as a whole: cpu 5500m -> 6 (requests and limits) and "
                          "featureGates: PodLevelResourceManagers false -> true; container c then "
                          "has 4 exclusive CPUs"));
  web.containers[0].resources = {};
  EXPECT_THAT(texts(explain(node.node(), node.state(), web).remedies),
              Contains(HasSubstr("container c: cpu none -> ")));
}

TEST(Explain, AContainerMustBeWhereItsInitContainersWere) {
  TestNode node({.cpus = 16}, aligning_config("single-numa-node"));
  const PodSpec web =
      pod_of("web", {container("first", {{"cpu", "1"}, {"memory", "1Gi"}}, ContainerKind::kInit),
                     container("main", {{"cpu", "16"}, {"memory", "1Gi"}})});
  const Explanation explained = explain(node.node(), node.state(), web);
  EXPECT_EQ(explained.summary,
            "Container main of default/web needs 16 CPUs (topology policy single-numa-node) and "
            "takes over CPU 1 from its init containers: it must be on NUMA node 0, where 1 CPU is "
            "missing");
  EXPECT_THAT(texts(explained.remedies),
              AllOf(Contains("container main: cpu 16 -> 15 (requests and limits)"),
                    Contains("container first: cpu 1 -> 999m (requests and limits; it then has no "
                             "exclusive CPUs)")));
}

TEST(Explain, OneMoveIsFoundWhereFiveWouldDo) {
  TestNode node({.numa = 4}, aligning_config("restricted"));
  for (const auto& [name, cpus] :
       {std::pair{"a", "2"}, {"b", "3"}, {"c", "3"}, {"d", "3"}, {"e", "5"}}) {
    ASSERT_EQ(node.admit(pod(name, {{"cpu", cpus}, {"memory", "1Gi"}})), "");
  }
  const auto remedies =
      find_remedies(node.node(), node.state(), pod("web", {{"cpu", "12"}, {"memory", "1Gi"}}));
  for (const Remedy& remedy : remedies) {
    if (remedy.kind == Remedy::Kind::kMoves) {
      EXPECT_EQ(remedy.moves.size(), 1U) << remedy.text;
    }
  }
}

TEST(Explain, ContainersOfThePodThatWereServedBeforeAreHolders) {
  TestNode node({}, aligning_config("single-numa-node"));
  const PodSpec web = pod_of("web", {container("one", {{"cpu", "7"}, {"memory", "1Gi"}}),
                                     container("two", {{"cpu", "8"}, {"memory", "1Gi"}}),
                                     container("three", {{"cpu", "4"}, {"memory", "1Gi"}})});
  const Explanation explained = explain(node.node(), node.state(), web);
  ASSERT_TRUE(explained.rejection);
  EXPECT_THAT(explained.summary, HasSubstr("Container three of default/web needs 4 CPUs"));
  const OccupiedPlace& place = explained.table.at(0).places.at(0);
  EXPECT_EQ(place.holders,
            (std::vector<Holder>{{ref_of(web), "one", place.held, {}, /*is_earlier=*/true}}));
  EXPECT_EQ(to_string(place.holders.at(0)), "default/web/one");
}

TEST(Explain, HoldersAreListedWithTheLargestFirst) {
  TestNode node({}, aligning_config("single-numa-node"));
  for (const auto& [name, cpus] : {std::pair{"a", "1"}, {"c", "3"}, {"b", "3"}}) {
    ASSERT_EQ(node.admit(pod(name, {{"cpu", cpus}, {"memory", "1Gi"}})), "");
  }
  const Explanation explained =
      explain(node.node(), node.state(), pod("web", {{"cpu", "9"}, {"memory", "1Gi"}}));
  std::vector<std::string> names;
  for (const Holder& holder : explained.table.at(0).places.at(0).holders) {
    names.push_back(to_string(holder));
  }
  EXPECT_THAT(names, ElementsAre("default/b/c", "default/c/c", "default/a/c"));
}

TEST(AmountText, IsInWholeMebibytesRoundedAsTheReaderNeeds) {
  constexpr std::int64_t kMi = std::int64_t{1} << 20U;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const struct {
    Quantity amount;
    const char* down;
    const char* up;
  } cases[] = {
      {Quantity::bytes(kMi - 1), "1048575", "1048575"},
      {Quantity::bytes(kMi), "1Mi", "1Mi"},
      {Quantity::bytes(kMi + 1), "1Mi", "2Mi"},
      {Quantity::bytes(3072 * kMi + 5), "3Gi", "3073Mi"},
      {Quantity::bytes(kMax), "9223372036854775807", "9223372036854775807"},
      {Quantity::milli(1500), "1500m", "1500m"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(readable(c.amount, AmountRounding::kDown), c.down);
    EXPECT_EQ(readable(c.amount, AmountRounding::kUp), c.up);
  }
}

TEST(Explain, BothResourcesAreLoweredIfNoneAloneSuffices) {
  TestNode node({}, with_memory_manager(aligning_config("single-numa-node")));
  const auto remedies =
      find_remedies(node.node(), node.state(), pod("web", {{"cpu", "9"}, {"memory", "20Gi"}}));
  EXPECT_THAT(texts(remedies),
              Contains("container c: cpu 9 -> 8 (requests and limits) and container c: memory 20Gi "
                       "-> 16Gi (requests and limits)"));
}

TEST(Explain, SeveralContainersAreLoweredIfTheyAllLackSomething) {
  TestNode node({}, aligning_config("single-numa-node"));
  const PodSpec web = pod_of("web", {container("one", {{"cpu", "10"}, {"memory", "1Gi"}}),
                                     container("two", {{"cpu", "12"}, {"memory", "1Gi"}})});
  EXPECT_THAT(texts(find_remedies(node.node(), node.state(), web)),
              Contains("container one: cpu 10 -> 8 (requests and limits) and container two: cpu 12 "
                       "-> 7 (requests and limits)"));
}

/// Explains a rejection by full-pcpus-only on a machine with two threads per core.
std::vector<std::string> whole_core_remedies(int cpus_of_socket,
                                             const std::vector<const char*>& cpus) {
  MachineDescription machine = machine_of({.cpus = cpus_of_socket}).description();
  for (Cpu& cpu : machine.cpus) cpu.core = CoreId{cpu.id.value / 2 * 2};
  Config config = aligning_config("none");
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  config.reserved_system_cpus = "0-1";
  const Node node = Node::make(Machine::make(std::move(machine)).value(), config).value();
  std::vector<Container> containers;
  for (const char* const amount : cpus) {
    containers.push_back(
        container(fmt::format("c{}", containers.size()), {{"cpu", amount}, {"memory", "1Gi"}}));
  }
  NodeState state;
  EXPECT_TRUE(node.cpu().start(state.cpu) && node.memory().start(state.memory));
  return texts(find_remedies(node, state, pod_of("web", std::move(containers))));
}

TEST(Explain, AllContainersGetWholeCoresIfNoneAloneSuffices) {
  constexpr const char* kWhy = ": full-pcpus-only assigns whole cores of 2 CPUs";
  EXPECT_THAT(whole_core_remedies(8, {"3", "1"}),
              Contains(fmt::format("container c0: cpu 3 -> 4 (requests and limits) and container "
                                   "c1: cpu 1 -> 2 (requests and limits){}",
                                   kWhy)));
  // 6 CPUs are allocatable, so the containers cannot both get more.
  EXPECT_THAT(whole_core_remedies(4, {"3", "3"}),
              Contains(fmt::format("container c0: cpu 3 -> 2 (requests and limits) and container "
                                   "c1: cpu 3 -> 2 (requests and limits){}",
                                   kWhy)));
  // One change is enough; the smallest ones are listed.
  EXPECT_THAT(whole_core_remedies(8, {"3", "2"}),
              testing::IsSupersetOf(
                  {fmt::format("container c0: cpu 3 -> 4 (requests and limits){}", kWhy),
                   fmt::format("container c0: cpu 3 -> 2 (requests and limits){}", kWhy)}));
}

TEST(Explain, AmountsThatNoMachineHas) {
  Config config = aligning_config("single-numa-node");
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  const TestNode node({}, config);
  for (const char* const cpus : {"9223372036854775807", "2000000001", "1e27"}) {
    const Explanation explained =
        explain(node.node(), node.state(), pod("web", {{"cpu", cpus}, {"memory", "8Ei"}}));
    EXPECT_TRUE(explained.rejection) << cpus;
    EXPECT_FALSE(explained.limit.empty()) << cpus;
  }
}

TEST(Explain, AnotherScopeIsFound) {
  TestNode node({}, aligning_config("single-numa-node", "pod"));
  const PodSpec web = pod_of("web", {container("one", {{"cpu", "6"}, {"memory", "1Gi"}}),
                                     container("two", {{"cpu", "6"}, {"memory", "1Gi"}})});
  EXPECT_THAT(
      texts(find_remedies(node.node(), node.state(), web)),
      Contains(
          "topologyManagerScope: pod -> container (each container is then aligned separately)"));
}

TEST(Explain, ALooserPolicyIsFound) {
  const PodSpec web = pod("web", {{"cpu", "10"}, {"memory", "1Gi"}});
  const TestNode strict({}, aligning_config("single-numa-node"));
  EXPECT_THAT(texts(find_remedies(strict.node(), strict.state(), web)),
              Contains("topologyManagerPolicy: single-numa-node -> restricted (a container may "
                       "then span several NUMA nodes if it needs to)"));
  TestNode used({}, aligning_config("restricted"));
  ASSERT_EQ(used.admit(pod("a", {{"cpu", "6"}, {"memory", "1Gi"}})), "");
  ASSERT_EQ(used.admit(pod("b", {{"cpu", "6"}, {"memory", "1Gi"}})), "");
  EXPECT_THAT(texts(find_remedies(used.node(), used.state(),
                                  pod("web", {{"cpu", "3"}, {"memory", "1Gi"}}))),
              Contains("topologyManagerPolicy: restricted -> best-effort (a container may then "
                       "span more NUMA nodes than it needs)"));
}

TEST(Explain, AFeatureGateThatGivesUpExclusiveCpusSaysSo) {
  Config config = aligning_config("single-numa-node");
  config.feature_gates["PodLevelResourceManagers"] = true;
  const Amounts five = {{"cpu", "5"}, {"memory", "1Gi"}};
  PodSpec web = pod("web", five);
  web.resources = container("", five).resources;
  TestNode used({}, config);
  ASSERT_EQ(used.admit(pod("a", {{"cpu", "6"}, {"memory", "1Gi"}})), "");
  ASSERT_EQ(used.admit(pod("b", {{"cpu", "4"}, {"memory", "1Gi"}})), "");
  EXPECT_THAT(texts(find_remedies(used.node(), used.state(), web)),
              Contains(HasSubstr("PodLevelResourceManagers true -> false (no container of a pod "
                                 "with pod-level resources has exclusive CPUs then)")));
}

TEST(Explain, TheSameArgumentsGiveTheSameExplanation) {
  TestNode node({}, aligning_config("single-numa-node"));
  for (const char* const name : {"a", "b", "c", "d"}) {
    ASSERT_EQ(node.admit(pod(name, {{"cpu", "3"}, {"memory", "1Gi"}})), "");
  }
  const PodSpec web = pod("web", {{"cpu", "5"}, {"memory", "1Gi"}});
  EXPECT_EQ(to_json(explain(node.node(), node.state(), web)),
            to_json(explain(node.node(), node.state(), web)));
}

}  // namespace
}  // namespace pinfold::test
