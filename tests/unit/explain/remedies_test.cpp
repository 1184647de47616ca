#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "node_fixture.hpp"
#include "pinfold/explain/explanation.hpp"

/// Remedies that an operator would miss: fractions, combined changes, further obstacles, and
/// exclusive CPUs that the pod really gets.
namespace pinfold::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kDevice = "example.com/gpu";
constexpr const char* kInCores = ": full-pcpus-only assigns whole cores of 2 CPUs";

Amounts sized(const char* cpus, const char* memory) { return {{"cpu", cpus}, {"memory", memory}}; }

/// A pod that requests CPUs without a limit.
PodSpec requesting(const std::string& name, const char* cpus) {
  PodSpec made = pod(name, {{"cpu", cpus}});
  made.containers[0].resources.limits.clear();
  return made;
}

Explanation rejected_on(const NodeShape& shape, const Config& config,
                        const std::vector<PodSpec>& running, const PodSpec& wanted) {
  TestNode node(shape, config);
  for (const PodSpec& spec : running) {
    if (!node.admit(spec).empty()) throw std::logic_error("the running pods must be admitted");
  }
  return explain(node.node(), node.state(), wanted);
}

std::vector<std::string> texts(const Explanation& explanation) {
  std::vector<std::string> all;
  for (const Remedy& remedy : explanation.remedies) all.push_back(remedy.text);
  return all;
}

const Remedy& remedy_of(const Explanation& explanation, Remedy::Kind kind) {
  const auto found = std::find_if(explanation.remedies.begin(), explanation.remedies.end(),
                                  [&](const Remedy& remedy) { return remedy.kind == kind; });
  if (found == explanation.remedies.end()) throw std::logic_error("there is no such remedy");
  return *found;
}

Config reserving_two(Config config) {
  config.reserved_system_cpus = "0-1";
  return config;
}

Config in_whole_cores(Config config) {
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  return config;
}

/// Cores of two threads.
Machine with_threads(const NodeShape& shape) {
  MachineDescription description = machine_of(shape).description();
  for (Cpu& cpu : description.cpus) cpu.core = CoreId{cpu.id.value / 2 * 2};
  return Machine::make(std::move(description)).value();
}

Explanation rejected_on_empty(Machine machine, const Config& config, const PodSpec& wanted) {
  const Node node = Node::make(std::move(machine), config).value();
  return explain(node, empty_state(node), wanted);
}

TEST(ExplainRemedies, AFractionIsRoundedDownAndAlsoNamedAsItIs) {
  const Explanation rejected = rejected_on({.numa = 1, .cpus = 16}, aligning_config("none"),
                                           {pod("x", sized("8", "1Gi")), requesting("y", "3300m")},
                                           pod("web", sized("4", "1Gi")));
  EXPECT_EQ(rejected.rejection->reason, "OutOfcpu");
  EXPECT_THAT(
      texts(rejected),
      AllOf(
          Contains("container c: cpu 4 -> 3 (requests and limits)"),
          Contains(
              "container c: cpu 4 -> 3700m (requests and limits; it then has no exclusive CPUs)")));
  EXPECT_THAT(rejected.notes, Not(Contains(HasSubstr("Even with"))));
}

TEST(ExplainRemedies, AFractionAndMemoryAreLoweredTogether) {
  const Explanation rejected =
      rejected_on({.numa = 1, .cpus = 8}, aligning_config("none"),
                  {pod("a", sized("3", "8Gi")), pod("b", sized("2500m", "4Gi"))},
                  pod("web", sized("2", "12Gi")));
  EXPECT_THAT(texts(rejected),
              Contains("container c: cpu 2 -> 1 (requests and limits) and container c: memory 12Gi "
                       "-> 4Gi (requests and limits)"));
  EXPECT_THAT(rejected.notes, Not(Contains(HasSubstr("Even with"))));
}

TEST(ExplainRemedies, WhatTheNextStepLacksIsLoweredWhereThatIsTheSmallestChange) {
  const PodSpec web =
      pod_of("web", {container("c0", sized("6", "1Gi")),
                     container("c1", {{"cpu", "1500m"}, {"memory", "1Gi"}, {kDevice, "2"}})});
  EXPECT_THAT(texts(rejected_on({.devices = {{kDevice, {1, 1}}}},
                                aligning_config("single-numa-node", "pod"),
                                {requesting("a", "7600m")}, web)),
              Contains("container c1: example.com/gpu 2 -> 1 (requests and limits) and container "
                       "c1: cpu 1500m -> 1400m (requests and limits)"));
}

TEST(ExplainRemedies, ARunningContainerKeepsALimitThatEqualsItsRequest) {
  PodSpec audit = pod("audit", sized("4", "1Gi"));
  audit.containers[0].resources.requests["memory"] = Quantity::parse("512Mi").value();
  const Explanation rejected =
      rejected_on({.numa = 1, .cpus = 16}, aligning_config("none"),
                  {pod("db", sized("8", "1Gi")), audit}, pod("web", sized("4", "1Gi")));
  const Remedy& resize = remedy_of(rejected, Remedy::Kind::kResize);
  EXPECT_EQ(resize.text, "default/audit is resized in place: container c: cpu 4 -> 3 (requests)");
  const Resources& after = resize.pod.value().containers.at(0).resources;
  EXPECT_EQ(after.requests.at("cpu"), Quantity::parse("3").value());
  EXPECT_EQ(after.limits.at("cpu"), Quantity::parse("4").value());
}

TEST(ExplainRemedies, OnlyWhatAManagerAssignsCanBeTooLittle) {
  Config config = in_whole_cores(reserving_two(aligning_config("restricted", "pod")));
  config.feature_gates["PodLevelResourceManagers"] = true;
  PodSpec web = pod_of("web", {container("db", sized("10", "12Gi")), container("backup", {})});
  web.resources = container("", sized("11", "12Gi")).resources;
  const Explanation rejected = rejected_on_empty(with_threads({.numa = 4, .gib = 32}), config, web);
  EXPECT_EQ(rejected.summary,
            "default/web needs 11 CPUs, but full-pcpus-only assigns only whole cores, here "
            "multiples of 2 CPUs");
  EXPECT_THAT(rejected.notes, Not(Contains(HasSubstr("Even with"))));
  EXPECT_THAT(texts(rejected),
              AllOf(Contains(std::string("the pod as a whole: cpu 11 -> 12 (requests and limits)") +
                             kInCores),
                    Contains(std::string("the pod as a whole: cpu 11 -> 10 (requests and limits) "
                                         "and container db: cpu 10 -> 9 (requests and limits)") +
                             kInCores)));
}

TEST(ExplainRemedies, FilesOfAnotherFeatureGateAreWrittenAgain) {
  Config config = aligning_config("single-numa-node");
  config.feature_gates["PodLevelResourceManagers"] = true;
  PodSpec web = pod_of("web", {container("main", sized("9", "1Gi")), container("log", {})});
  web.resources = container("", sized("10", "2Gi")).resources;
  constexpr const char* kChange =
      "featureGates: PodLevelResourceManagers true -> false (no container of a pod with pod-level "
      "resources has exclusive CPUs then)";
  EXPECT_THAT(texts(rejected_on({}, config, {}, web)), Contains(kChange)) << "nothing is stored";
  EXPECT_THAT(
      texts(rejected_on({}, config, {pod("a", sized("2", "1Gi"))}, web)),
      Contains(std::string(kChange) +
               "; apply it with 'pinfold reconfigure', as a kubelet that is only restarted may "
               "refuse the present files"));
}

TEST(ExplainRemedies, WhatElseIsInTheWayOfOnePodTooManyIsSaid) {
  Config config = aligning_config("none");
  const NodeShape shape = {.numa = 1, .cpus = 4};
  TestNode before(shape, config);
  for (const PodSpec& spec : {pod("p0", {{"cpu", "200m"}}), pod("p1", {{"cpu", "200m"}}),
                              pod("p2", {}), pod("pinned", sized("1", "1Gi"))}) {
    ASSERT_EQ(before.admit(spec), "");
  }
  config.pods_per_core = 1;
  const TestNode node(shape, config);
  const Explanation rejected = explain(node.node(), before.state(), pod("web", sized("2", "1Gi")));
  EXPECT_EQ(rejected.rejection->reason, "OutOfpods");
  EXPECT_THAT(rejected.notes,
              ElementsAre(AllOf(HasSubstr("Even with podsPerCore: 1 -> 2 it would be rejected, "
                                          "OutOfcpu: default/web requests 2 CPUs"),
                                HasSubstr("default/pinned 1 CPU"))));
  EXPECT_THAT(texts(rejected),
              ElementsAre("default/pinned is removed",
                          "podsPerCore: 1 -> 2 and container c: cpu 2 -> 1 (requests and limits)"));
  const Remedy& setting = remedy_of(rejected, Remedy::Kind::kSetting);
  EXPECT_EQ(setting.config.value().pods_per_core, 2);
  EXPECT_EQ(setting.pod.value().containers.at(0).resources.limits.at("cpu"),
            Quantity::parse("1").value());
}

TEST(ExplainRemedies, ExclusiveCpusThatAreTooManyComeWithASmallerRequest) {
  TestNode node({}, reserving_two(aligning_config("single-numa-node")));
  ASSERT_EQ(node.admit(pod("md", sized("4", "1Gi"))), "");
  ASSERT_EQ(node.admit(pod("risk", sized("5", "1Gi"))), "");
  PodSpec match = pod_of(
      "match", {container("engine", sized("4", "1Gi")), container("log", sized("500m", "128Mi"))});
  match.containers[1].resources.requests["cpu"] = Quantity::milli(100);
  const Explanation admitted = explain(node.node(), node.state(), match);
  ASSERT_FALSE(admitted.rejection);
  EXPECT_THAT(texts(admitted),
              ElementsAre("container engine: cpu 4 -> 3 (requests and limits) and container log: "
                          "cpu request 100m -> 500m; container engine then has 3 exclusive CPUs",
                          "container log: cpu request 100m -> 500m, if default/md (4 CPUs on NUMA "
                          "node 0) is removed; container engine then has 4 exclusive CPUs"));
  EXPECT_THAT(admitted.notes,
              Contains(HasSubstr("With container log: cpu request 100m -> 500m it would be "
                                 "rejected, TopologyAffinityError: Container engine of "
                                 "default/match needs 4 CPUs on one NUMA node")));
}

TEST(ExplainRemedies, ExclusiveCpusOfPodLevelResourcesNeedTheFeatureGate) {
  PodSpec serve = pod_of("serve", {container("model", sized("4", "4Gi")), container("shim", {})});
  serve.resources = container("", sized("6", "8Gi")).resources;
  const auto remedies = [&](bool is_on) {
    Config config = reserving_two(aligning_config("single-numa-node"));
    config.feature_gates["PodLevelResourceManagers"] = is_on;
    const TestNode node({}, config);
    return explain(node.node(), node.state(), serve).remedies;
  };
  EXPECT_EQ(remedies(true).size(), 0U) << "it has them";
  const std::vector<Remedy> guaranteed = remedies(false);
  ASSERT_EQ(guaranteed.size(), 1U);
  EXPECT_EQ(guaranteed[0].text,
            "featureGates: PodLevelResourceManagers false -> true; container model then has 4 "
            "exclusive CPUs");
  EXPECT_TRUE(guaranteed[0].config.value().gates().pod_level_resource_managers);
  serve.resources->requests = serve.containers[0].resources.requests;
  const std::vector<Remedy> burstable = remedies(false);
  ASSERT_EQ(burstable.size(), 1U);
  EXPECT_EQ(burstable[0].text,
            "the pod as a whole: cpu request 4 -> 6, the pod as a whole: memory request 4Gi -> 8Gi "
            "and featureGates: PodLevelResourceManagers false -> true; container model then has 4 "
            "exclusive CPUs");
  EXPECT_TRUE(burstable[0].config.has_value());
}

TEST(ExplainRemedies, TwoAmountsOfOneNumaNodeComeAfterMoreOfOne) {
  const Config config = reserving_two(with_memory_manager(aligning_config("single-numa-node")));
  const auto all = texts(rejected_on({.gib = 32}, config,
                                     {pod("x", sized("4", "3Gi")), pod("y", sized("3", "28Gi"))},
                                     pod("web", sized("6", "12Gi"))));
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all[0], "container c: cpu 6 -> 2 (requests and limits)");
  EXPECT_EQ(all[1],
            "container c: cpu 6 -> 5 (requests and limits) and container c: memory 12Gi -> 4Gi "
            "(requests and limits)");
}

TEST(ExplainRemedies, ASearchForMovesThatEndsEarlyIsSaid) {
  const auto rejected = [](const NodeShape& shape, const char* reserved, const char* running,
                           const char* wanted) {
    Config config = aligning_config("single-numa-node");
    config.reserved_system_cpus = reserved;
    std::vector<PodSpec> pods;
    for (int i = 0; i < shape.numa; ++i) {
      pods.push_back(pod("p" + std::to_string(i), sized(running, "1Gi")));
    }
    return rejected_on(shape, config, pods, pod("web", sized(wanted, "1Gi")));
  };
  EXPECT_TRUE(rejected({.numa = 4}, "0", "5", "4").may_be_moves);
  EXPECT_FALSE(rejected({.numa = 2, .cpus = 4}, "0,4", "2", "2").may_be_moves);
  EXPECT_FALSE(rejected({.numa = 4}, "0", "5", "9").may_be_moves) << "not on an empty node, either";
}

TEST(ExplainRemedies, AnInitContainerMayKeepExclusiveCpus) {
  const PodSpec train =
      pod_of("train", {container("fetch", sized("18", "1Gi"), ContainerKind::kInit),
                       container("train", {{"cpu", "8"}, {"memory", "1Gi"}, {kDevice, "1"}}),
                       container("tb", sized("2", "1Gi"))});
  const auto all =
      texts(rejected_on({.cpus = 16, .devices = {{kDevice, {2, 2}}}},
                        reserving_two(aligning_config("restricted", "pod")),
                        {pod("lab", {{"cpu", "4"}, {"memory", "1Gi"}, {kDevice, "1"}})}, train));
  ASSERT_GE(all.size(), 3U);
  EXPECT_EQ(all[0], "container fetch: cpu 18 -> 16 (requests and limits)");
  EXPECT_EQ(all[1], "container train: example.com/gpu 1 -> 3 (requests and limits)");
  EXPECT_EQ(
      all[2],
      "container fetch: cpu 18 -> 17999m (requests and limits; it then has no exclusive CPUs)");
}

TEST(ExplainRemedies, AllInitContainersMayDoWithoutExclusiveCpus) {
  const PodSpec orders =
      pod_of("orders", {container("migrate", sized("1", "1Gi"), ContainerKind::kInit),
                        container("proxy", sized("1", "1Gi"), ContainerKind::kSidecar),
                        container("app", sized("2", "1Gi"))});
  const Config config = in_whole_cores(reserving_two(aligning_config("none")));
  EXPECT_THAT(texts(rejected_on_empty(with_threads({}), config, orders)),
              AllOf(Contains(std::string("container migrate: cpu 1 -> 2 (requests and limits) and "
                                         "container proxy: cpu 1 -> 2 (requests and limits)") +
                             kInCores),
                    Contains("container migrate: cpu 1 -> 999m (requests and limits; it then has "
                             "no exclusive CPUs) and container proxy: cpu 1 -> 999m (requests and "
                             "limits; it then has no exclusive CPUs)")));
}

TEST(ExplainRemedies, WithOneCpuPerCoreNothingIsAligned) {
  // One core has two threads and four have one, so the average is one CPU per core.
  MachineDescription description = machine_of({.numa = 1, .cpus = 6}).description();
  description.cpus[1].core = CoreId{0};
  const Explanation rejected = rejected_on_empty(
      Machine::make(std::move(description)).value(),
      in_whole_cores(reserving_two(aligning_config("none"))), pod("web", sized("5", "1Gi")));
  EXPECT_EQ(rejected.rejection->reason, "SMTAlignmentError");
  EXPECT_EQ(rejected.summary,
            "Container c of default/web needs 5 exclusive CPUs (it is Guaranteed, with whole "
            "CPUs); the node has 4 free, 1 too few");
  EXPECT_THAT(texts(rejected), Contains("container c: cpu 5 -> 4 (requests and limits)"));
}

TEST(ExplainRemedies, ANoteNamesAChangeWithoutItsReason) {
  const Node node =
      Node::make(with_threads({.numa = 1}), in_whole_cores(reserving_two(aligning_config("none"))))
          .value();
  NodeState state = empty_state(node);
  for (const PodSpec& running : {pod("x", sized("4", "1Gi")), requesting("y", "1500m")}) {
    state = std::get<Admitted>(decide(node, state, running)).next;
  }
  EXPECT_THAT(explain(node, state, pod("web", sized("4", "1Gi"))).notes,
              Contains(HasSubstr("Even with container c: cpu 4 -> 2 (requests and limits) it would "
                                 "be rejected, OutOfcpu")));
}

TEST(ExplainRemedies, ALargerAmountIsOfWholeCores) {
  const Config config =
      in_whole_cores(reserving_two(with_memory_manager(aligning_config("restricted"))));
  EXPECT_THAT(texts(rejected_on_empty(with_threads({}), config, pod("web", sized("3", "20Gi")))),
              Contains("container c: cpu 3 -> 10 (requests and limits)"));
}

TEST(ExplainRemedies, TwoAmountsAreLoweredIfOneDoesNotHelp) {
  const Config config = reserving_two(with_memory_manager(aligning_config("restricted")));
  const PodSpec web = pod("web", {{"cpu", "9"}, {"memory", "20Gi"}, {kDevice, "1"}});
  EXPECT_THAT(texts(rejected_on({.devices = {{kDevice, {1, 0}}}}, config, {}, web)),
              Contains("container c: cpu 9 -> 6 (requests and limits) and container c: memory 20Gi "
                       "-> 15Gi (requests and limits)"));
}

TEST(ExplainRemedies, ANoteNamesWhatIsBehindAPartOfACore) {
  const Config config =
      in_whole_cores(reserving_two(with_memory_manager(aligning_config("single-numa-node"))));
  const Explanation rejected =
      rejected_on_empty(with_threads({}), config, pod("web", sized("3", "40Gi")));
  EXPECT_THAT(rejected.notes,
              Contains(HasSubstr("Even with container c: cpu 3 -> 4 (requests and limits) it would "
                                 "be rejected, ")));
}

TEST(ExplainRemedies, ASidecarMayBeDeclaredLater) {
  const PodSpec web =
      pod_of("web", {container("envoy", sized("2", "1Gi"), ContainerKind::kSidecar),
                     container("load", sized("8", "1Gi"), ContainerKind::kInit),
                     container("main", sized("6", "1Gi")), container("aux", sized("3", "1Gi"))});
  const Explanation rejected = rejected_on({}, reserving_two(aligning_config("single-numa-node")),
                                           {pod("dns", sized("2", "1Gi"))}, web);
  EXPECT_EQ(
      rejected.summary,
      "Container aux of default/web needs 3 CPUs (topology policy single-numa-node) and takes "
      "over CPUs 14-15 from its init containers: it must be on NUMA node 1, where 1 CPU is "
      "missing");
  const auto& holders = rejected.table.at(0).places.at(0).holders;
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(to_string(holders.at(0)), "default/dns/c");
  EXPECT_EQ(to_string(holders.at(1)), "default/web/envoy");
  EXPECT_THAT(texts(rejected), Contains("sidecar envoy declared after init container load"));
}

}  // namespace
}  // namespace pinfold::test
