#include "pinfold/decide/start_advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.hpp"
#include "pinfold/decide/config_effects.hpp"
#include "pinfold/decide/feature_gates.hpp"

namespace pinfold {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Machine machine() { return Machine::make(test::two_sockets()).value(); }

std::string advice_for(const char* text) {
  const Config config = parse_config(text).value().config;
  const auto node = Node::make(machine(), config);
  if (node) return "starts";
  const auto advice = advise_start(machine(), config, node.error());
  return advice ? to_string(*advice) : "";
}

TEST(StartAdvice, SaysWhatToWrite) {
  EXPECT_EQ(advice_for("memoryManagerPolicy: Static\nkubeReserved: {memory: 893Mi}"),
            "the memory in reservedMemory must add up to 993Mi: kubeReserved 893Mi + evictionHard "
            "100Mi (its default); write: reservedMemory: [{numaNode: 0, limits: {memory: 993Mi}}]");
  EXPECT_EQ(advice_for("memoryManagerPolicy: Static\nsystemReserved: {memory: 1Gi}\n"
                       "evictionHard: {}\n"
                       "reservedMemory: [{numaNode: 1, limits: {memory: 512Mi}}]"),
            "the memory in reservedMemory must add up to 1Gi: systemReserved 1Gi; write: "
            "reservedMemory: [{numaNode: 0, limits: {memory: 512Mi}}, {numaNode: 1, limits: "
            "{memory: 512Mi}}]");
  EXPECT_THAT(advice_for("cpuManagerPolicy: static"),
              HasSubstr("write: reservedSystemCPUs: \"0-1\""));
  EXPECT_EQ(advice_for("cpuManagerPolicy: Static"),
            "cpuManagerPolicy 'Static': did you mean 'static'?; write: cpuManagerPolicy: static");
  EXPECT_THAT(advice_for("topologyManagerPolicy: single-numa"), HasSubstr("'single-numa-node'"));
  EXPECT_THAT(advice_for("cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
                         "cpuManagerPolicyOptions: {full-pcpu-only: 'true'}"),
              HasSubstr("write: cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}"));
  EXPECT_THAT(advice_for("reservedSystemCPUs: '0'\nkubeReservedCgroup: /a"),
              HasSubstr("reserved by count"));
  EXPECT_THAT(advice_for("cpuManagerPolicyOptions: {align-by-socket: 'true'}"),
              HasSubstr("need cpuManagerPolicy static"));
  EXPECT_THAT(advice_for("cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
                         "cpuManagerPolicyOptions: {align-by-socket: 'true'}"),
              HasSubstr("write: featureGates: {CPUManagerPolicyAlphaOptions: true}"));
  EXPECT_EQ(advice_for("reservedSystemCPUs: 6-9"),
            "reservedSystemCPUs '6-9': this machine has CPUs 0-7; write: reservedSystemCPUs: "
            "\"6-7\"");
  EXPECT_THAT(
      advice_for("memoryManagerPolicy: Static\n"
                 "reservedMemory: [{numaNode: 0, limits: {memory: 100Mi, hugepages-2Mi: 2Mi}}]"),
      HasSubstr("write: reservedMemory without hugepages-2Mi"));
  EXPECT_EQ(advice_for("memoryManagerPolicy: Static\n"
                       "reservedMemory: [{numaNode: 5, limits: {memory: 100Mi}}]"),
            "reservedMemory: this machine has the NUMA nodes 0, 1; write: reservedMemory: "
            "[{numaNode: 0, limits: {memory: 100Mi}}]");
  EXPECT_THAT(advice_for("reservedSystemCPUs: '3-1'"), HasSubstr("ascending ranges"));
  EXPECT_THAT(advice_for("memoryManagerPolicy: Static\nevictionHard: {}"),
              HasSubstr("needs reserved memory"));
  EXPECT_EQ(advice_for("reservedSystemCPUs: 8-9"),
            "reservedSystemCPUs '8-9': this machine has CPUs 0-7; write: reservedSystemCPUs: "
            "\"0-1\"");
  EXPECT_EQ(advice_for("cpuManagerPolicy: static\nkubeReserved: {cpu: '5'}\n"
                       "systemReserved: {cpu: '4'}"),
            "9 of cpu is reserved (kubeReserved 5 + systemReserved 4), and this machine has 8; "
            "write: amounts that add up to less than 8");
}

constexpr const char* kStaticCpus = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
constexpr const char* kStaticMemory =
    "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]\n";
constexpr const char* kAligned =
    "topologyManagerPolicy: restricted\n"
    "featureGates: {TopologyManagerPolicyAlphaOptions: true}\n";

struct Refused {
  const char* before;  ///< settings that matter for it
  const char* wrong;
  const char* write;  ///< a part of the advice
};

TEST(StartAdvice, SaysWhatToWriteForEveryRefusedStart) {
  for (const Refused& row : {
           Refused{"pinfold: {profile: kubelet-1.36}\n", "featureGates: {NoSuchGate: true}",
                   "featureGates without NoSuchGate"},
           Refused{"pinfold: {profile: kubelet-1.36}\n", "featureGates: {NodeSwap: false}",
                   "featureGates without it"},
           Refused{"featureGates: {PodLevelResourceManagers: true, ", "PodLevelResources: false}",
                   "featureGates: {PodLevelResources: true}"},
           Refused{"featureGates: {CustomCPUCFSQuotaPeriod: false}\n", "cpuCFSQuotaPeriod: 50ms",
                   "cpuCFSQuotaPeriod: 100ms"},
           Refused{"", "cpuCFSQuotaPeriod: 2s", "cpuCFSQuotaPeriod: 100ms"},
           Refused{"", "maxPods: -1", "maxPods: 110"},
           Refused{"", "podsPerCore: -1", "podsPerCore: 0"},
           Refused{"", "topologyManagerPolicy: tight", "topologyManagerPolicy: none"},
           Refused{"", "topologyManagerScope: pods", "topologyManagerScope: pod"},
           Refused{"", "enforceNodeAllocatable: [pods, system-reserved]", "systemReservedCgroup"},
           Refused{"", "enforceNodeAllocatable: [pods, none]", "enforceNodeAllocatable: [none]"},
           Refused{"", "cgroupsPerQOS: false", "cgroupsPerQOS: true"},
           Refused{"systemReservedCgroup: /a\n",
                   "enforceNodeAllocatable: [system-reserved, system-reserved-compressible]",
                   "one of the two"},
           Refused{"", "enforceNodeAllocatable: [pods, pods]", "each value once"},
           Refused{"", "enforceNodeAllocatable: [node]", "enforceNodeAllocatable: [pods]"},
           Refused{"", "reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]", "hugepages-SIZE only"},
           Refused{"",
                   "reservedMemory: [{numaNode: 0, limits: {memory: 1Mi}}, "
                   "{numaNode: 0, limits: {memory: 1Mi}}]",
                   "with their sum"},
           Refused{"", "reservedMemory: [{numaNode: 0, limits: {memory: 0}}]",
                   "reservedMemory without it"},
           Refused{"", "memoryThrottlingFactor: 2", "memoryThrottlingFactor: 0.9"},
           Refused{"featureGates: {MemoryQoS: false}\n",
                   "memoryReservationPolicy: TieredReservation", "featureGates: {MemoryQoS: true}"},
           Refused{"", "memoryReservationPolicy: Some", "memoryReservationPolicy: None"},
           Refused{"", "kubeReserved: {gpu: '1'}", "cpu, memory, ephemeral-storage and pid only"},
           Refused{"", "kubeReserved: {cpu: wild}", "500m or 1Gi"},
           Refused{"", "systemReserved: {memory: -1Gi}", "500m or 1Gi"},
           Refused{"", "evictionHard: {memory.free: 1Gi}", "memory.available"},
           Refused{"", "evictionHard: {memory.available: 200%}", "0% to 100%"},
           Refused{"", "evictionHard: {memory.available: -1Gi}", "500m or 1Gi"},
           Refused{"", "evictionHard: {memory.available: much}", "500m or 1Gi"},
           Refused{"evictionSoft: {memory.available: 1Gi}\n", "evictionSoftGracePeriod: {}",
                   "with the same signals"},
           Refused{"evictionSoft: {memory.available: 1Gi}\n",
                   "evictionSoftGracePeriod: {memory.available: -1m}", "1m30s"},
           Refused{"evictionSoft: {memory.available: 1Gi}\n",
                   "evictionSoftGracePeriod: {memory.available: soon}", "1m30s"},
           Refused{"", "evictionMinimumReclaim: {memory.available: -1Gi}", "500m or 1Gi"},
           Refused{kAligned, "topologyManagerPolicyOptions: {best: 'true'}", "without it"},
           Refused{"pinfold: {profile: kubelet-1.37}\ntopologyManagerPolicy: restricted\n",
                   "topologyManagerPolicyOptions: {numa-score-weights: cpu=2}",
                   "without numa-score-weights"},
           Refused{"topologyManagerPolicy: restricted\n"
                   "featureGates: {TopologyManagerPolicyBetaOptions: false}\n",
                   "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}",
                   "TopologyManagerPolicyBetaOptions: true"},
           Refused{"topologyManagerPolicy: restricted\n",
                   "topologyManagerPolicyOptions: {numa-score-weights: cpu=2}",
                   "TopologyManagerPolicyAlphaOptions: true"},
           Refused{kAligned, "topologyManagerPolicyOptions: {max-allowable-numa-nodes: few}",
                   "max-allowable-numa-nodes: \"8\""},
           Refused{kAligned, "topologyManagerPolicyOptions: {max-allowable-numa-nodes: '2'}",
                   "max-allowable-numa-nodes: \"8\""},
           Refused{kAligned, "topologyManagerPolicyOptions: {numa-allocation-strategy: most}",
                   "numa-allocation-strategy: none"},
           Refused{kAligned, "topologyManagerPolicyOptions: {numa-score-weights: cpu}", "cpu=2"},
           Refused{kAligned, "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: maybe}",
                   "\"true\" or \"false\""},
           Refused{kAligned,
                   "topologyManagerPolicyOptions: {numa-allocation-strategy: most-allocated, "
                   "prefer-most-allocated-numa-node: 'true'}",
                   "without prefer-most-allocated-numa-node"},
           Refused{"", "cpuManagerPolicy: dynamic", "cpuManagerPolicy: none"},
           Refused{"cpuManagerPolicy: static\n", "kubeReserved: {cpu: '0'}",
                   "reservedSystemCPUs: \"0"},
           Refused{kStaticCpus, "cpuManagerPolicyOptions: {quick: 'true'}", "without it"},
           Refused{"featureGates: {CPUManagerPolicyBetaOptions: false}\n"
                   "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n",
                   "cpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}",
                   "CPUManagerPolicyBetaOptions: true"},
           Refused{kStaticCpus, "cpuManagerPolicyOptions: {full-pcpus-only: maybe}",
                   "\"true\" or \"false\""},
           Refused{"cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
                   "featureGates: {CPUManagerPolicyAlphaOptions: true}\n",
                   "cpuManagerPolicyOptions: {full-pcpus-only: 'true', "
                   "distribute-cpus-across-cores: 'true'}",
                   "with one of them"},
           Refused{"cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
                   "topologyManagerPolicy: single-numa-node\n"
                   "featureGates: {CPUManagerPolicyAlphaOptions: true}\n",
                   "cpuManagerPolicyOptions: {align-by-socket: 'true'}", "without align-by-socket"},
           Refused{"", "memoryManagerPolicy: BestEffort", "memoryManagerPolicy: None"},
           Refused{"", "memoryManagerPolicyOptions: {memory-drift-tolerance: 'off'}",
                   "memoryManagerPolicy: Static"},
           Refused{kStaticMemory, "memoryManagerPolicyOptions: {memory-drift-tolerance: lots}",
                   "memory-drift-tolerance: auto"},
           Refused{kStaticMemory, "memoryManagerPolicyOptions: {drift: 'off'}",
                   "memory-drift-tolerance: auto"},
           Refused{"memoryManagerPolicy: Static\n",
                   "reservedMemory: [{numaNode: 0, limits: {memory: lots}}]", "500m or 1Gi"},
           Refused{"memoryManagerPolicy: Static\nkubeReserved: {memory: 19Gi}\n",
                   "reservedMemory: [{numaNode: 0, limits: {memory: 19556Mi}}]",
                   "on another NUMA node"},
       }) {
    const std::string advice = advice_for((row.before + std::string(row.wrong)).c_str());
    EXPECT_THAT(advice, AllOf(HasSubstr("; write: "), HasSubstr(row.write)))
        << row.before << row.wrong;
  }
}

std::string allocatable_advice(const char* text) {
  const Config config = parse_config(text).value().config;
  const auto fits = Node::make(machine(), config).value().check_node_allocatable();
  return fits ? "starts" : to_string(*advise_start(machine(), config, fits.error()));
}

TEST(StartAdvice, SaysHowMuchIsReserved) {
  EXPECT_EQ(allocatable_advice("kubeReserved: {cpu: '9'}"),
            "9 of cpu is reserved (kubeReserved 9), and this machine has 8; write: amounts that "
            "add up to less than 8");
  EXPECT_THAT(allocatable_advice("kubeReserved: {memory: 17Gi}\nevictionHard: {}"),
              AllOf(HasSubstr("(kubeReserved 17Gi)"), HasSubstr("add up to less than 16Gi")));
}

TEST(StartAdvice, AllowsTheNumaNodesOfTheMachine) {
  MachineDescription many = test::two_sockets();
  for (std::int32_t id = 2; id < 12; ++id) {
    NumaNode node = many.numa_nodes.back();
    node.id = NumaId{id};
    node.distances.clear();
    many.numa_nodes.push_back(node);
  }
  for (NumaNode& node : many.numa_nodes) node.distances.clear();
  const Machine machine = Machine::make(many).value();
  const auto advice = [&](const char* text) {
    const Config config = parse_config(text).value().config;
    const auto node = Node::make(machine, config);
    return node ? "starts" : to_string(advise_start(machine, config, node.error()).value());
  };
  EXPECT_THAT(advice("topologyManagerPolicy: restricted\npinfold: {profile: kubelet-1.36}"),
              HasSubstr("write: topologyManagerPolicyOptions: {max-allowable-numa-nodes: \"12\"}"));
  EXPECT_THAT(advice("topologyManagerPolicy: restricted\n"
                     "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}"),
              HasSubstr("without prefer-closest-numa-nodes"));
}

TEST(FeatureGates, AreKnownByVersion) {
  Config config;
  config.feature_gates = {{"NodeLifecycleConditions", true},
                          {"MemoryManager", true},
                          {"PodLevelResourceManager", true},
                          {"PodLevelResources", true}};
  EXPECT_THAT(unknown_gates(config), ElementsAre("MemoryManager", "PodLevelResourceManager"));
  config.profile = Profile::kKubelet136;
  EXPECT_EQ(
      describe_unknown_gates(config),
      "feature gates that kubelet 1.36 does not know: MemoryManager (always on since 1.32, no "
      "gate any more), NodeLifecycleConditions (since 1.37), PodLevelResourceManager (did you "
      "mean 'PodLevelResourceManagers'?); no decision depends on them, but upstream's kubelet "
      "does not start with them");
  EXPECT_EQ(without_unknown_gates(config).feature_gates,
            (std::map<std::string, bool>{{"PodLevelResources", true}}));
}

TEST(FeatureGates, OfOpenShiftArePartOfAnotherKubelet) {
  Config config;
  config.profile = Profile::kKubelet136;
  config.feature_gates = {
      {"AlertingRules", true}, {"DynamicResourceAllocation", false}, {"NodeSwap", true}};
  EXPECT_THAT(unknown_gates(config), ElementsAre("AlertingRules", "DynamicResourceAllocation"));
  EXPECT_EQ(describe_unknown_gates(config),
            "feature gates that kubelet 1.36 does not know, or that are locked in it: "
            "AlertingRules (OpenShift), DynamicResourceAllocation (locked); no decision depends on "
            "them");
  const Config known = without_unknown_gates(config);
  EXPECT_EQ(known.feature_gates, (std::map<std::string, bool>{{"NodeSwap", true}}));
  config.feature_gates["CPUManagerPolicyOptions"] = false;
  EXPECT_TRUE(without_unknown_gates(config).feature_gates.contains("CPUManagerPolicyOptions"))
      << "it decides";
}

TEST(FeatureGates, OfOpenShiftAreKnown) {
  for (const char* const gate : {"AlertingRules", "VSphereMultiNetworks", "GatewayAPIController"}) {
    Config config;
    config.feature_gates = {{gate, true}};
    EXPECT_TRUE(has_openshift_gates(config)) << gate;
  }
}

TEST(SettingsWithoutEffect, AreNamed) {
  const auto sentences = [](const char* text) {
    return settings_without_effect(parse_config(text).value().config);
  };
  EXPECT_THAT(sentences("cpuManagerPolicy: static\nreservedSystemCPUs: '0'"), ElementsAre());
  EXPECT_THAT(sentences("topologyManagerScope: pod\n"
                        "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]"),
              ElementsAre(HasSubstr("topologyManagerScope 'pod' has no effect"),
                          HasSubstr("reservedMemory has no effect")));
  EXPECT_THAT(
      sentences("cpuManagerPolicy: static\ncpuManagerPolicyOptions: {align-by-socket: 'true'}\n"
                "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}"),
      ElementsAre(HasSubstr("topologyManagerPolicyOptions have no effect"),
                  HasSubstr("'align-by-socket' has no effect")));
}

}  // namespace
}  // namespace pinfold
