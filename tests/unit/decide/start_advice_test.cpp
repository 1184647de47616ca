#include "pinfold/decide/start_advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.hpp"
#include "pinfold/decide/config_effects.hpp"
#include "pinfold/decide/feature_gates.hpp"

namespace pinfold {
namespace {

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
            "reservedMemory: this machine has the NUMA nodes 0, 1");
  EXPECT_THAT(advice_for("reservedSystemCPUs: '3-1'"), HasSubstr("ascending ranges"));
  EXPECT_THAT(advice_for("memoryManagerPolicy: Static\nevictionHard: {}"),
              HasSubstr("needs reserved memory"));
  EXPECT_EQ(advice_for("kubeReserved: {cpu: wild}"), "");
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
