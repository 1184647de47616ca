#include "pinfold/api/config.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace pinfold {
namespace {

using nlohmann::json;

Config config_of(const std::string& yaml) {
  auto parsed = parse_config(yaml);
  EXPECT_TRUE(parsed) << yaml << '\n' << (parsed ? "" : parsed.error().message);
  return parsed ? parsed->config : Config{};
}

constexpr const char* kFull = R"(
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true", strict-cpu-reservation: "false"}
reservedSystemCPUs: 0,4
kubeReserved: {cpu: "1", memory: 512Mi}
systemReserved: {cpu: "0.5"}
evictionHard: {memory.available: 10%}
memoryManagerPolicy: Static
reservedMemory:
- numaNode: 0
  limits: {memory: 612Mi}
- {numaNode: 255, limits: {hugepages-2Mi: 4194304}}
topologyManagerPolicy: single-numa-node
topologyManagerScope: pod
topologyManagerPolicyOptions: {max-allowable-numa-nodes: "16"}
cpuCFSQuota: false
cpuCFSQuotaPeriod: 5ms
featureGates: {PodLevelResourceManagers: true, PodLevelResources: false, SomethingElse: true}
maxPods: 110
pinfold: {profile: kubelet-1.36, partition: isolated}
)";

TEST(ConfigParse, ReadsEveryField) {
  const auto parsed = parse_config(kFull);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->warnings.empty());
  Config expected;
  expected.cpu_manager_policy = "static";
  expected.cpu_manager_policy_options = {{"full-pcpus-only", "true"},
                                         {"strict-cpu-reservation", "false"}};
  expected.reserved_system_cpus = "0,4";
  expected.kube_reserved = {{"cpu", "1"}, {"memory", "512Mi"}};
  expected.system_reserved["cpu"] = "0.5";
  expected.eviction_hard.emplace()["memory.available"] = "10%";
  expected.memory_manager_policy = "Static";
  expected.reserved_memory.resize(2);
  expected.reserved_memory[0].limits["memory"] = "612Mi";
  expected.reserved_memory[1].numa_node = 255;
  expected.reserved_memory[1].limits["hugepages-2Mi"] = "4194304";
  expected.topology_manager_policy = "single-numa-node";
  expected.topology_manager_scope = "pod";
  expected.topology_manager_policy_options["max-allowable-numa-nodes"] = "16";
  expected.cpu_cfs_quota = false;
  expected.cpu_cfs_quota_period = "5ms";
  expected.feature_gates = {
      {"PodLevelResourceManagers", true}, {"PodLevelResources", false}, {"SomethingElse", true}};
  expected.profile = Profile::kKubelet136;
  expected.partition = Partition::kIsolated;
  expected.max_pods = 110;
  EXPECT_EQ(parsed->config, expected) << to_json(parsed->config).dump(2);
}

TEST(ConfigParse, ChecksTheRangesThatAKubeletChecks) {
  const auto error_of = [](const char* field) {
    const auto parsed = parse_config(field);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_EQ(error_of("oomScoreAdj: -1001"),
            "oomScoreAdj: -1001: expected a number from -1000 to 1000; a kubelet does not start "
            "with it");
  EXPECT_EQ(error_of("oomScoreAdj: -999"), "");
  EXPECT_EQ(error_of("{healthzPort: 65536, maxPods: 9}"),
            "healthzPort: 65536: expected a number from 0 to 65535; a kubelet does not start with "
            "it");
  EXPECT_EQ(error_of("eventBurst: -1"),
            "eventBurst: -1: expected 0 or more; a kubelet does not start with it");
  EXPECT_EQ(error_of("nodeStatusMaxImages: -1"), "");
  EXPECT_EQ(error_of("maxParallelImagePulls: 0"),
            "maxParallelImagePulls: 0: expected 1 or more; a kubelet does not start with it");
  EXPECT_EQ(error_of("{shutdownGracePeriod: 30s, shutdownGracePeriodCriticalPods: 40s}"),
            "shutdownGracePeriodCriticalPods: '40s': expected at most shutdownGracePeriod; a "
            "kubelet does not start with it");
  EXPECT_EQ(error_of("{shutdownGracePeriod: 60s, shutdownGracePeriodCriticalPods: 1m}"), "");
}

TEST(ConfigParse, ChecksTheTypesInsideOfObjects) {
  const auto error_of = [](const char* field) {
    const auto parsed = parse_config(std::string("maxPods: 9\nkubeReserved: {}\n") + field);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_EQ(error_of("logging: {verbosity: x}"),
            "logging.verbosity: 'x': expected a 64-bit integer");
  EXPECT_EQ(error_of("logging: {verbosity: 2, flushFrequency: 0}"), "");
  EXPECT_EQ(error_of("authentication: {x509: {clientCAFile: 5}}"),
            "authentication.x509.clientCAFile: 5: expected a string, in quotes");
  EXPECT_EQ(error_of("authentication: {webhook: {cacheTTL: 2 minutes}}"),
            "authentication.webhook.cacheTTL: '2 minutes': expected a duration in quotes, such as "
            "\"10s\"");
  EXPECT_EQ(error_of("authorization: {webhook: {cacheAuthorizedTTL: 0s}}"), "");
}

TEST(ConfigParse, ReadsBackWhatItPrints) {
  for (const char* text : {kFull, "{}", "evictionHard: {}"}) {
    const Config config = config_of(text);
    const auto again = config_from_json(to_json(config));
    ASSERT_TRUE(again) << text << again.error().message;
    EXPECT_EQ(again->config, config) << text;
    EXPECT_TRUE(again->warnings.empty()) << text;
  }
}

TEST(ConfigParse, KeepsDefaultsForAbsentFields) {
  EXPECT_EQ(config_of("{}"), Config{});
  EXPECT_EQ(config_of("cpuManagerPolicy: null\nevictionHard:\nfeatureGates: ~\n"), Config{});
  EXPECT_EQ(config_of("cpuManagerPolicy: ''\ntopologyManagerScope: ''\n"), Config{});
}

TEST(ConfigParse, KeepsInvalidValuesForTheKubeletsErrors) {
  const Config config = config_of(R"(
cpuManagerPolicy: dynamic
reservedSystemCPUs: " 0"
cpuCFSQuotaPeriod: "100"
systemReserved: {cpu: x}
cpuManagerPolicyOptions: {"": "True "}
)");
  EXPECT_EQ(config.cpu_manager_policy, "dynamic");
  EXPECT_EQ(config.reserved_system_cpus, " 0");
  EXPECT_EQ(config.cpu_cfs_quota_period, "100");
  EXPECT_EQ(config.system_reserved.at("cpu"), "x");
  EXPECT_EQ(config.cpu_manager_policy_options.at(""), "True ");
}

TEST(ConfigParse, MergesEvictionDefaultsOnRequest) {
  const Config merged =
      config_of("mergeDefaultEvictionSettings: true\nevictionHard: {nodefs.available: 5%}\n");
  EXPECT_EQ(merged.eviction_hard->at("memory.available"), "100Mi");
  const Config kept =
      config_of("mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 5%}\n");
  EXPECT_EQ(kept.eviction_hard->at("memory.available"), "5%");
  EXPECT_FALSE(config_of("mergeDefaultEvictionSettings: true").eviction_hard);
}

TEST(ConfigParse, WarnsAboutUnknownFieldsOnly) {
  const auto parsed = parse_config("cpuManagerPolcy: static\nmaxPods: 10\nlogging: {format: json}");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->warnings,
            std::vector<std::string>{
                "unknown field 'cpuManagerPolcy', did you mean 'cpuManagerPolicy'?"});
  EXPECT_EQ(
      parse_config("reservedMemory: [{numaNode: 0, limit: {memory: 1Gi}}]").value().warnings,
      std::vector<std::string>{"unknown field 'reservedMemory[0].limit', did you mean 'limits'?"});
  EXPECT_EQ(parse_config("kind: KubeletConfiguration\nsomethingElse: 1").value().warnings,
            std::vector<std::string>{"unknown field 'somethingElse'"});
}

TEST(ConfigParse, NamesTheInvalidField) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"[]", "configuration: a list: expected an object"},
      {"kind: Pod",
       "kind: 'Pod': expected 'KubeletConfiguration': pass the output of: kubectl get --raw "
       "/api/v1/nodes/NAME/proxy/configz"},
      {"apiVersion: v1", "apiVersion: 'v1': expected 'kubelet.config.k8s.io/v1beta1'"},
      {"cpuManagerPolicy: [static]", "cpuManagerPolicy: a list: expected a string"},
      {"reservedSystemCPUs: 0", "reservedSystemCPUs: 0: expected a string, in quotes"},
      {"cpuManagerPolicyOptions: {full-pcpus-only: true}",
       "cpuManagerPolicyOptions.full-pcpus-only: true: expected a string, in quotes"},
      {"cpuCFSQuotaPeriod: 100", "cpuCFSQuotaPeriod: 100: expected a string, in quotes"},
      {"cpuCFSQuota: 'true'", "cpuCFSQuota: 'true': expected true or false"},
      {"cpuCFSQuota: 1", "cpuCFSQuota: 1: expected true or false"},
      {"featureGates: {X: 'yes'}", "featureGates.X: 'yes': expected true or false"},
      {"featureGates: {X: null}", "featureGates.X: null: expected true or false"},
      {"featureGates: X=true", "featureGates: 'X=true': expected an object"},
      {"kubeReserved: {cpu: 1}", "kubeReserved.cpu: 1: expected a string, in quotes"},
      {"kubeReserved: {cpu: {}}", "kubeReserved.cpu: an object: expected a string"},
      {"kubeReserved: 1", "kubeReserved: 1: expected an object"},
      {"evictionHard: [x]", "evictionHard: a list: expected an object"},
      {"reservedMemory: {}", "reservedMemory: an object: expected a list"},
      {"reservedMemory: [1]", "reservedMemory[0]: 1: expected an object"},
      {"reservedMemory: [{numaNode: '0'}]",
       "reservedMemory[0].numaNode: '0': expected a 32-bit integer"},
      {"reservedMemory: [{numaNode: 4294967296}]",
       "reservedMemory[0].numaNode: 4294967296: expected a 32-bit integer"},
      {"reservedMemory: [{numaNode: 0, limits: 1}]",
       "reservedMemory[0].limits: 1: expected an object"},
      {"reservedMemory: [{numaNode: 0, limits: {memory: true}}]",
       "reservedMemory[0].limits.memory: true: expected a quantity"},
      {"maxPods: '110'", "maxPods: '110': expected a 32-bit integer"},
      {"maxPods: 1.5", "maxPods: 1.5: expected a 32-bit integer"},
      {"podPidsLimit: 9223372036854775808",
       "podPidsLimit: 9223372036854775808: expected a 64-bit integer"},
      {"clusterDNS: 10.0.0.1", "clusterDNS: '10.0.0.1': expected a list"},
      {"clusterDNS: [10.0.0.1, 5]", "clusterDNS[1]: 5: expected a string, in quotes"},
      {"memoryThrottlingFactor: '1'", "memoryThrottlingFactor: '1': expected a number"},
      {"mergeDefaultEvictionSettings: 1",
       "mergeDefaultEvictionSettings: 1: expected true or false"},
      {"pinfold: fixed", "pinfold: 'fixed': expected an object"},
      {"pinfold: {profile: newest}",
       "pinfold.profile: 'newest': expected 'kubelet-1.36', 'kubelet-1.37', 'kubelet-1.38' or "
       "'fixed'"},
      {"pinfold: {profil: fixed}",
       "pinfold.profil: 'fixed': unknown field, expected 'profile' or 'partition'"},
      {"pinfold: {partition: member}",
       "pinfold.partition: 'member': expected 'none', 'root' or 'isolated'"},
      {"a: [", "line 2, column 1: expected a value here"},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_config(c.text);
    ASSERT_FALSE(parsed) << c.text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument) << c.text;
    EXPECT_EQ(parsed.error().message, c.message) << c.text;
  }
}

TEST(ConfigGates, OverlayTheDefaults) {
  EXPECT_EQ(Config{}.gates(), FeatureGates{});
  const FeatureGates gates = config_of(kFull).gates();
  EXPECT_TRUE(gates.pod_level_resource_managers);
  EXPECT_FALSE(gates.pod_level_resources);
  EXPECT_TRUE(gates.cpu_manager_policy_beta_options);
}

TEST(ConfigGates, EveryGateHasItsName) {
  const json defaults = {{"PodLevelResources", true},
                         {"PodLevelResourceManagers", false},
                         {"CPUManagerPolicyAlphaOptions", false},
                         {"CPUManagerPolicyBetaOptions", true},
                         {"TopologyManagerPolicyAlphaOptions", false},
                         {"DisableCPUQuotaWithExclusiveCPUs", true},
                         {"CustomCPUCFSQuotaPeriod", true},
                         {"InPlacePodLevelResourcesVerticalScaling", true}};
  for (const auto& [gate, on] : defaults.items()) {
    Config config;
    config.feature_gates = {{gate, on.get<bool>()}};
    EXPECT_EQ(config.gates(), FeatureGates{}) << gate;
    config.feature_gates = {{gate, !on.get<bool>()}};
    EXPECT_NE(config.gates(), FeatureGates{}) << gate;
  }
}

TEST(Partition, RoundTrips) {
  for (const Partition partition : {Partition::kNone, Partition::kRoot, Partition::kIsolated}) {
    EXPECT_EQ(parse_partition(to_string(partition)).value(), partition);
  }
  EXPECT_FALSE(parse_partition("Root"));
}

}  // namespace
}  // namespace pinfold
