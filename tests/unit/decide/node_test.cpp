#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "fixture.hpp"

namespace pinfold {
namespace {

using test::node_of;
using test::try_node;

TEST(NodeMake, FailsAsTheKubeletDoes) {
  const struct {
    const char* config;
    StartStage stage;
    const char* error;
  } cases[] = {
      {"cpuManagerPolicy: static\nreservedSystemCPUs: '9'", StartStage::kConfiguration,
       "reserved-cpus: 9 is not a subset of online-cpus: 0-7"},
      {"cpuManagerPolicy: static\nreservedSystemCPUs: 9,7,1-3", StartStage::kConfiguration,
       "reserved-cpus: 9,7,1-3 is not a subset of online-cpus: 0-7"},
      {"cpuCFSQuotaPeriod: 2s", StartStage::kConfiguration,
       "invalid configuration: cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms "
       "and 1sec, inclusive"},
      {"cpuCFSQuotaPeriod: 10ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}",
       StartStage::kConfiguration,
       "invalid configuration: cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {10ms} requires feature "
       "gate CustomCPUCFSQuotaPeriod"},
      {"evictionHard: {memory.available: '0'}", StartStage::kConfiguration,
       "eviction threshold memory.available must be positive: 0"},
      {"topologyManagerPolicy: bogus\ntopologyManagerScope: node", StartStage::kConfiguration,
       "[invalid configuration: topologyManagerPolicy (--topology-manager-policy) \"bogus\" must "
       "be one of: [\"none\" \"best-effort\" \"restricted\" \"single-numa-node\"], invalid "
       "configuration: topologyManagerScope (--topology-manager-scope) \"node\" must be one of: "
       "\"container\", or \"pod\"]"},
      {"kubeReserved: {cpu: '-1'}", StartStage::kConfiguration,
       "--kube-reserved value failed to parse: resource quantity for \"cpu\" cannot be negative: "
       "-1"},
      {"kubeReserved: {cpu: wild}", StartStage::kConfiguration,
       "--kube-reserved value failed to parse: failed to parse quantity \"wild\" for \"cpu\" "
       "resource: quantities must match the regular expression "
       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {"systemReserved: {gpu: '1'}", StartStage::kConfiguration,
       "--system-reserved value failed to parse: cannot reserve \"gpu\" resource"},
      {"evictionHard: {memory.available: 101%}", StartStage::kConfiguration,
       "eviction percentage threshold memory.available must be >= 0% and <= 100%: 101%"},
      {"reservedMemory: [{numaNode: 0, limits: {memory: 1Gi, cpu: 1}},\n"
       "                 {numaNode: 0, limits: {memory: '0'}}]",
       StartStage::kConfiguration,
       "[invalid configuration: the limit type \"cpu\" for NUMA node 0 is not supported, only "
       "[memory hugepages-<HugePageSize>] is accepted, invalid configuration: the reserved memory "
       "has a duplicate value for NUMA node 0 and resource \"memory\", invalid configuration: "
       "reserved memory may not be zero for NUMA node 0 and resource \"memory\"]"},
      {"featureGates: {PodLevelResources: false}", StartStage::kConfiguration,
       "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
       "InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are "
       "disabled: [PodLevelResources]"},
      {"featureGates: {PodLevelResourceManagers: true, PodLevelResources: false}",
       StartStage::kConfiguration,
       "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
       "[InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are "
       "disabled: [PodLevelResources], PodLevelResourceManagers is enabled, but depends on "
       "features that are disabled: [PodLevelResources]]"},
      {"featureGates: {PodLevelResourceManager: true}\npinfold: {profile: kubelet-1.36}",
       StartStage::kConfiguration,
       "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
       "unrecognized feature gate: PodLevelResourceManager"},
      {"featureGates: {NoSuchGate: false, CPUManagerPolicyOptions: false}\n"
       "pinfold: {profile: kubelet-1.36}",
       StartStage::kConfiguration,
       "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
       "[cannot set feature gate CPUManagerPolicyOptions to false, feature is locked to true, "
       "unrecognized feature gate: NoSuchGate]"},
      {"reservedSystemCPUs: 0-1\nsystemReservedCgroup: /system.slice\n"
       "enforceNodeAllocatable: [pods, system-reserved-compressible]",
       StartStage::kConfiguration,
       "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with "
       "systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup "
       "(--kube-reserved-cgroup)"},
      {"enforceNodeAllocatable: [kube-reserved, pod, pods, pods]", StartStage::kConfiguration,
       "[invalid configuration: kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "
       "\"kube-reserved\" or \"kube-reserved-compressible\" included in enforceNodeAllocatable "
       "(--enforce-node-allocatable), invalid configuration: option \"pod\" specified for "
       "enforceNodeAllocatable (--enforce-node-allocatable). Valid options are \"pods\", "
       "\"system-reserved\", \"system-reserved-compressible\", \"kube-reserved\", "
       "\"kube-reserved-compressible\" or \"none\", invalid configuration: duplicated enforcements "
       "\"pods\" in enforceNodeAllocatable (--enforce-node-allocatable)]"},
      {"enforceNodeAllocatable: [none, pods]\ncgroupsPerQOS: false", StartStage::kConfiguration,
       "[invalid configuration: enforceNodeAllocatable (--enforce-node-allocatable) may not "
       "contain "
       "additional enforcements when \"none\" is specified, invalid configuration: cgroupsPerQOS "
       "(--cgroups-per-qos) must be set to true when \"pods\" contained in enforceNodeAllocatable "
       "(--enforce-node-allocatable)]"},
      {"systemCgroups: /system\nimageGCHighThresholdPercent: 70\n"
       "memorySwap: {swapBehavior: UnlimitedSwap}",
       StartStage::kConfiguration,
       "[invalid configuration: systemCgroups (--system-cgroups) was specified and cgroupRoot "
       "(--cgroup-root) was not specified, invalid configuration: imageGCLowThresholdPercent "
       "(--image-gc-low-threshold) 80 must be less than imageGCHighThresholdPercent "
       "(--image-gc-high-threshold) 70, invalid configuration: memorySwap.swapBehavior "
       "\"UnlimitedSwap\" must be one of: \"\", \"LimitedSwap\" or \"NoSwap\"]"},
      {"maxPods: -1\npodsPerCore: -2", StartStage::kConfiguration,
       "[invalid configuration: maxPods (--max-pods) -1 must not be a negative number, invalid "
       "configuration: podsPerCore (--pods-per-core) -2 must not be a negative number]"},
      {"cgroupsPerQOS: false", StartStage::kConfiguration,
       "invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when "
       "\"pods\" contained in enforceNodeAllocatable (--enforce-node-allocatable)"},
      {"evictionHard: {memory.avail: 1Gi}", StartStage::kConfiguration,
       "unsupported eviction signal memory.avail"},
      {"evictionSoft: {memory.available: 1Gi}", StartStage::kConfiguration,
       "failed to create kubelet: grace period must be specified for the soft eviction threshold "
       "memory.available"},
      {"evictionMinimumReclaim: {memory.available: 0%}", StartStage::kConfiguration,
       "failed to create kubelet: eviction percentage minimum reclaim memory.available must be "
       "positive: 0%"},
      {"cpuManagerPolicy: static", StartStage::kCpuManager,
       "[cpumanager] unable to determine reserved CPU resources for static policy"},
  };
  for (const auto& c : cases) {
    const auto node = try_node(c.config);
    ASSERT_FALSE(node) << c.config;
    EXPECT_EQ(node.error().stage, c.stage) << c.config;
    EXPECT_EQ(node.error().error, c.error);
  }
}

TEST(NodeMake, AcceptsEveryGateOfTheKubelet) {
  // Gates of every kind: for a whole stage, of the kubelet, of other components, and stable ones.
  const auto node = try_node(
      "featureGates: {AllAlpha: false, AllBeta: true, PodLevelResources: true, WatchList: true, "
      "DRAExtendedResource: true, ContextualLogging: true, SidecarContainers: true, "
      "WorkloadWithJob: false, APIResponseCompression: true}");
  EXPECT_TRUE(node) << node.error().error;
}

TEST(NodeMake, SetsGatesOfAStage) {
  constexpr const char* kSockets =
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
      "cpuManagerPolicyOptions: {align-by-socket: 'true'}\n";
  constexpr const char* kSpread =
      "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
      "cpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}\n";
  const std::string sockets = kSockets;
  const std::string spread = kSpread;
  EXPECT_FALSE(try_node(sockets));
  EXPECT_TRUE(try_node(sockets + "featureGates: {AllAlpha: true}"));
  EXPECT_FALSE(
      try_node(sockets + "featureGates: {AllAlpha: true, CPUManagerPolicyAlphaOptions: false}"));
  EXPECT_TRUE(try_node(spread));
  EXPECT_FALSE(try_node(spread + "featureGates: {AllBeta: false}"));
  EXPECT_TRUE(
      try_node(spread + "featureGates: {AllBeta: false, CPUManagerPolicyBetaOptions: true}"));
  EXPECT_FALSE(try_node("featureGates: {AllAlpha: true, PodLevelResources: false}"))
      << "PodLevelResourceManagers depends on it";
}

TEST(NodeMake, AcceptsWhatTheKubeletAccepts) {
  for (const char* const config :
       {"enforceNodeAllocatable: []\ncgroupsPerQOS: false",
        "enforceNodeAllocatable: [none]\ncgroupsPerQOS: false",
        "enforceNodeAllocatable: [pods, kube-reserved]\nkubeReservedCgroup: /kubelet",
        "evictionSoft: {memory.available: 10%}\nevictionSoftGracePeriod: {memory.available: 1m}",
        "evictionHard: {memory.available: 100%, nodefs.available: 10%, pid.available: 5%}",
        "featureGates: {NoSuchGate: true}",
        "featureGates: {NoSuchGate: true, AlertingRules: false}\npinfold: {profile: kubelet-1.36}",
        "featureGates: {NodeLifecycleConditions: true}\npinfold: {profile: kubelet-1.37}",
        "featureGates: {EmptyDirVolumeMode: true}\npinfold: {profile: kubelet-1.38}",
        "featureGates: {NodeSwap: true}\npinfold: {profile: kubelet-1.36}",
        "featureGates: {NodeSwap: false}"}) {
    const auto node = try_node(config);
    EXPECT_TRUE(node) << config << ": " << node.error().error;
  }
  EXPECT_FALSE(
      try_node("featureGates: {DynamicResourceAllocation: true}\n"
               "pinfold: {profile: kubelet-1.38}"));
}

TEST(NodeMake, RefusesGatesThatItsKubeletLocksOrDoesNotKnow) {
  for (const auto& [gate, profile, error] :
       {std::tuple{"NodeSwap: false", "1.36",
                   "cannot set feature gate NodeSwap to false, feature is locked to true"},
        std::tuple{
            "TopologyManagerPolicyOptions: false", "1.37",
            "cannot set feature gate TopologyManagerPolicyOptions to false, feature is locked "
            "to true"},
        std::tuple{"SidecarContainers: false", "1.36",
                   "cannot set feature gate SidecarContainers to false, feature is locked to true"},
        std::tuple{"EmptyDirVolumeMode: true", "1.36",
                   "unrecognized feature gate: EmptyDirVolumeMode"},
        std::tuple{"MemoryManagerDriftTolerance: true", "1.37",
                   "unrecognized feature gate: MemoryManagerDriftTolerance"}}) {
    const auto node = try_node(std::string("featureGates: {") + gate +
                               "}\npinfold: {profile: kubelet-" + profile + "}");
    ASSERT_FALSE(node) << gate;
    EXPECT_THAT(node.error().error, testing::HasSubstr(error)) << gate;
  }
}

TEST(NodeMake, ReservesKubeSystemAndEviction) {
  const Node node = node_of(
      "kubeReserved: {cpu: 500m, memory: 1Gi}\nsystemReserved: {cpu: '1'}\n"
      "evictionHard: {memory.available: 10%}");
  const auto& amounts = node.reservation().amounts;
  EXPECT_EQ(amounts.at("cpu").to_string(), "1500m");
  // 16 GiB x 0.1 in single precision, as the kubelet computes it.
  EXPECT_EQ(amounts.at("memory").value(), (std::int64_t{1} << 30) + 1717986944);
}

TEST(NodeMake, CountsTheReservedCpusAlone) {
  const Node node = node_of("reservedSystemCPUs: '0,4'\nkubeReserved: {cpu: '3', memory: 1Gi}");
  EXPECT_EQ(node.reservation().amounts.at("cpu").value(), 2);
  EXPECT_EQ(node.reservation().cpus.to_string(), "0,4");
}

TEST(NodeAllocatable, FailsToReserveMoreThanTheMachineHas) {
  const Node node = node_of("kubeReserved: {cpu: '9'}");
  const auto fits = node.check_node_allocatable();
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().stage, StartStage::kNodeAllocatable);
  EXPECT_EQ(fits.error().error,
            "invalid Node Allocatable configuration. Resource \"cpu\" has a reservation of {{9 0} "
            "{<nil>}  DecimalSI} but capacity of {{8000 -3} {<nil>}  DecimalSI}. Expected capacity "
            ">= reservation.");
  EXPECT_TRUE(node_of("kubeReserved: {cpu: '8'}").check_node_allocatable());
  const auto memory =
      node_of("kubeReserved: {memory: 17Gi}\nevictionHard: {}").check_node_allocatable();
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().error,
            "invalid Node Allocatable configuration. Resource \"memory\" has a reservation of "
            "{{18253611008 0} {<nil>}  BinarySI} but capacity of {{17179869184 0} {<nil>}  "
            "BinarySI}. Expected capacity >= reservation.");
}

}  // namespace
}  // namespace pinfold
