#include "pinfold/decide/start_advice.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "pinfold/api/config_document.hpp"
#include "pinfold/decide/config_effects.hpp"
#include "pinfold/decide/feature_gates.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Machine machine() { return Machine::make(test::two_sockets()).value(); }

/// Returns nullopt if the configuration starts, or if there is no advice.
std::optional<StartAdvice> advice_on(const std::string& text) {
  const Config config = parse_config(text).value().config;
  const auto node = Node::make(machine(), config);
  return node ? std::nullopt : advise_start(machine(), config, node.error());
}

std::string advice_for(const char* text) {
  const auto advice = advice_on(text);
  return advice ? to_string(*advice) : "";
}

/// Expects `write` to contain only known members of a KubeletConfiguration; returns them.
nlohmann::json expect_members(const std::string& write) {
  auto members = parse_document("{" + write + "}");
  EXPECT_TRUE(members) << write;
  if (!members) return nlohmann::json::object();
  const auto config = config_from_json(*members);
  EXPECT_TRUE(config && config->warnings.empty()) << write;
  return *std::move(members);
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
  EXPECT_THAT(advice_for("reservedSystemCPUs: '1,3'\nsystemReservedCgroup: /a\n"
                         "enforceNodeAllocatable: [pods, system-reserved]"),
              AllOf(HasSubstr("reserved by count"),
                    HasSubstr("write: systemReservedCgroup: \"\", kubeReservedCgroup: \"\", "
                              "enforceNodeAllocatable: [pods]"),
                    Not(HasSubstr("reservedSystemCPUs: "))))
      << "containers may have the other CPUs";
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
      HasSubstr("write: reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]"));
  EXPECT_EQ(
      advice_for("memoryManagerPolicy: Static\n"
                 "reservedMemory: [{numaNode: 5, limits: {memory: 100Mi}}]"),
      "reservedMemory: this machine has the NUMA nodes 0 (8Gi), 1 (8Gi); write: reservedMemory: "
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
            "write: reservedSystemCPUs: \"0-1\"");
}

constexpr const char* kStaticCpus = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
constexpr const char* kStaticMemory =
    "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]\n";
constexpr const char* kAligned =
    "topologyManagerPolicy: restricted\n"
    "featureGates: {TopologyManagerPolicyAlphaOptions: true}\n";

struct Refused {
  const char* before;  ///< settings that affect the result
  const char* wrong;
  const char* write;  ///< a part of the advice
};

/// A distribution may add the missing reservation.
TEST(StartAdvice, NamesTheCompleteConfigurationInsteadOfAReservation) {
  for (const char* const part :
       {"kubeletConfig: {cpuManagerPolicy: static}", "cpuManagerPolicy: static\npodMaxPids: 100",
        "machine: {kubelet: {extraConfig: {systemReserved: {pid: '9'}, cpuManagerPolicy: static}}}",
        ("kind: NodeConfig\napiVersion: node.eks.aws/v1alpha1\n"
         "spec: {kubelet: {config: {cpuManagerPolicy: static}}}"),
        "/etc/eks/bootstrap.sh name --kubelet-extra-args '--cpu-manager-policy=static'",
        "kubeletConfig: {memoryManager: {policy: Static}, evictionHard: {}}",
        ("kubeletConfig: {memoryManager: {policy: Static},\n"
         "  reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]}")}) {
    EXPECT_THAT(advice_for(part), AllOf(HasSubstr(" adds its own settings"),
                                        AnyOf(HasSubstr("complete"), HasSubstr("/configz")),
                                        Not(HasSubstr("write: "))))
        << part;
  }
  EXPECT_THAT(advice_for("kubeletConfig: {cpuManagerPolicy: statc}"),
              HasSubstr("write: cpuManagerPolicy"))
      << "nothing that is added corrects it";
  EXPECT_THAT(advice_for("cpuManagerPolicy: static"), HasSubstr("write: reservedSystemCPUs"));
}

TEST(StartAdvice, NamesTheSumForEachReservationThatADistributionMayHaveSet) {
  constexpr const char* kTalos =
      "machine: {%kubelet: {extraConfig: {memoryManagerPolicy: Static,\n"
      "  reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]}}}";
  const auto talos = [](const std::string& members) {
    std::string text = kTalos;
    return advice_for(text.replace(text.find('%'), 1, members).c_str());
  };
  EXPECT_THAT(talos(""),
              HasSubstr("must add up to 484Mi: systemReserved 384Mi + evictionHard 100Mi (its "
                        "default); it is 612Mi on a control plane of Talos 1.8 or later, 292Mi on "
                        "Talos before 1.8; Talos adds its own settings"));
  EXPECT_THAT(talos("type: controlplane, install: {image: 'a/installer:v1.9.1'}, "),
              AllOf(HasSubstr("must add up to 612Mi: "), Not(HasSubstr("it is"))));
  EXPECT_THAT(advice_for("apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n"
                         "spec: {kubeletConfig: {memoryManagerPolicy: Static,\n"
                         "  reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]}}"),
              HasSubstr("must add up to 1124Mi: systemReserved 1Gi + evictionHard 100Mi"));
}

TEST(StartAdvice, ResolvesAPercentageAndNamesTheAmountThatWouldFit) {
  const std::string text = advice_for(
      "memoryManagerPolicy: Static\nkubeReserved: {memory: 512Mi}\n"
      "evictionHard: {memory.available: 5%}\n"
      "reservedMemory: [{numaNode: 0, limits: {memory: 612Mi}}]");
  EXPECT_THAT(text, AllOf(HasSubstr("kubeReserved 512Mi + evictionHard 5% = "),
                          HasSubstr("Mi (with evictionHard memory.available 100Mi the 612Mi of "
                                    "reservedMemory are right); write: reservedMemory: ")));
  EXPECT_FALSE(
      advice_on("memoryManagerPolicy: Static\nkubeReserved: {memory: 512Mi}\n"
                "evictionHard: {memory.available: 100Mi}\n"
                "reservedMemory: [{numaNode: 0, limits: {memory: 612Mi}}]"))
      << "the amount that was named does not fit";
}

TEST(StartAdvice, SaysWhatToWriteForEveryRefusedStart) {
  for (const Refused& row : {
           Refused{"pinfold: {profile: kubelet-1.36}\n", "featureGates: {NoSuchGate: true}",
                   "featureGates: {}"},
           Refused{"pinfold: {profile: kubelet-1.36}\n", "featureGates: {NodeSwap: false}",
                   "featureGates: {}"},
           Refused{"featureGates: {PodLevelResourceManagers: true, ", "PodLevelResources: false}",
                   "featureGates: {InPlacePodLevelResourcesVerticalScaling: false, "
                   "PodLevelResourceManagers: false, PodLevelResources: false}"},
           Refused{"featureGates: {CustomCPUCFSQuotaPeriod: false}\n", "cpuCFSQuotaPeriod: 50ms",
                   "cpuCFSQuotaPeriod: 100ms"},
           Refused{"", "cpuCFSQuotaPeriod: 2s", "cpuCFSQuotaPeriod: 100ms"},
           Refused{"", "maxPods: -1", "maxPods: 110"},
           Refused{"", "systemCgroups: /system", "cgroupRoot: /"},
           Refused{"", "imageGCHighThresholdPercent: 70", "imageGCHighThresholdPercent: 85"},
           Refused{"", "imageGCLowThresholdPercent: -1", "imageGCLowThresholdPercent: 80"},
           Refused{"", "memorySwap: {swapBehavior: UnlimitedSwap}", "swapBehavior: LimitedSwap"},
           Refused{"", "podsPerCore: -1", "podsPerCore: 0"},
           Refused{"", "topologyManagerScope: pods", "topologyManagerScope: pod"},
           Refused{"", "enforceNodeAllocatable: [pods, system-reserved]",
                   "enforceNodeAllocatable: [pods]"},
           Refused{"", "enforceNodeAllocatable: [pods, none]", "enforceNodeAllocatable: [none]"},
           Refused{"", "cgroupsPerQOS: false", "cgroupsPerQOS: true"},
           Refused{"systemReservedCgroup: /a\n",
                   "enforceNodeAllocatable: [system-reserved, system-reserved-compressible]",
                   "enforceNodeAllocatable: [system-reserved]"},
           Refused{"", "enforceNodeAllocatable: [pods, pods]", "enforceNodeAllocatable: [pods]"},
           Refused{"", "enforceNodeAllocatable: [node]", "enforceNodeAllocatable: [pods]"},
           Refused{"", "reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]",
                   "[{numaNode: 0, limits: {memory: 100Mi}}]"},
           Refused{"",
                   "reservedMemory: [{numaNode: 0, limits: {memory: 1Mi}}, "
                   "{numaNode: 0, limits: {memory: 1Mi}}]",
                   "[{numaNode: 0, limits: {memory: 100Mi}}]"},
           Refused{"", "reservedMemory: [{numaNode: 0, limits: {memory: 0}}]",
                   "[{numaNode: 0, limits: {memory: 100Mi}}]"},
           Refused{"", "memoryThrottlingFactor: 2", "memoryThrottlingFactor: 0.9"},
           Refused{"featureGates: {MemoryQoS: false}\n",
                   "memoryReservationPolicy: TieredReservation", "featureGates: {MemoryQoS: true}"},
           Refused{"", "kubeReserved: {gpu: '1'}", "kubeReserved: {}, systemReserved: {}"},
           Refused{"evictionSoft: {memory.available: 1Gi}\n", "evictionSoftGracePeriod: {}",
                   "{memory.available: \"1m30s\"}"},
           Refused{"evictionSoft: {memory.available: 1Gi}\n",
                   "evictionSoftGracePeriod: {memory.available: -1m}", "1m30s"},
           Refused{"evictionSoft: {memory.available: 1Gi}\n",
                   "evictionSoftGracePeriod: {memory.available: soon}", "1m30s"},
           Refused{kAligned, "topologyManagerPolicyOptions: {best: 'true'}",
                   "topologyManagerPolicyOptions: {}"},
           Refused{"pinfold: {profile: kubelet-1.37}\ntopologyManagerPolicy: restricted\n",
                   "topologyManagerPolicyOptions: {numa-score-weights: cpu=2}",
                   "topologyManagerPolicyOptions: {}"},
           Refused{"topologyManagerPolicy: restricted\n",
                   "topologyManagerPolicyOptions: {numa-score-weights: cpu=2}",
                   "TopologyManagerPolicyAlphaOptions: true"},
           Refused{kAligned, "topologyManagerPolicyOptions: {max-allowable-numa-nodes: few}",
                   "max-allowable-numa-nodes: \"8\""},
           Refused{kAligned, "topologyManagerPolicyOptions: {max-allowable-numa-nodes: '2'}",
                   "max-allowable-numa-nodes: \"8\""},
           Refused{kAligned, "topologyManagerPolicyOptions: {numa-allocation-strategy: most}",
                   "numa-allocation-strategy: \"none\""},
           Refused{kAligned,
                   "topologyManagerPolicyOptions: {numa-score-weights: 'a.b/gpu=10, cpu=101,x'}",
                   "numa-score-weights: \"a.b/gpu=10,cpu=100\""},
           Refused{kAligned, "topologyManagerPolicyOptions: {numa-score-weights: cpu}",
                   "numa-score-weights: \"cpu=2,memory=1\""},
           Refused{kAligned, "topologyManagerPolicyOptions: {prefer-closest-numa-nodes: maybe}",
                   ": \"true\"}"},
           Refused{kAligned,
                   "topologyManagerPolicyOptions: {numa-allocation-strategy: most-allocated, "
                   "prefer-most-allocated-numa-node: 'true'}",
                   "{numa-allocation-strategy: \"most-allocated\"}"},
           Refused{"cpuManagerPolicy: static\n", "kubeReserved: {cpu: '0'}",
                   "reservedSystemCPUs: \"0"},
           Refused{kStaticCpus, "cpuManagerPolicyOptions: {quick: 'true'}",
                   "cpuManagerPolicyOptions: {}"},
           Refused{"featureGates: {CPUManagerPolicyBetaOptions: false}\n"
                   "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n",
                   "cpuManagerPolicyOptions: {distribute-cpus-across-numa: 'true'}",
                   "CPUManagerPolicyBetaOptions: true"},
           Refused{kStaticCpus, "cpuManagerPolicyOptions: {full-pcpus-only: maybe}", ": \"true\"}"},
           Refused{"cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
                   "featureGates: {CPUManagerPolicyAlphaOptions: true}\n",
                   "cpuManagerPolicyOptions: {full-pcpus-only: 'true', "
                   "distribute-cpus-across-cores: 'true'}",
                   "cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}"},
           Refused{"cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
                   "topologyManagerPolicy: single-numa-node\n"
                   "featureGates: {CPUManagerPolicyAlphaOptions: true}\n",
                   "cpuManagerPolicyOptions: {align-by-socket: 'true'}",
                   "cpuManagerPolicyOptions: {}"},
           Refused{"", "memoryManagerPolicyOptions: {memory-drift-tolerance: 'off'}",
                   "memoryManagerPolicy: Static"},
           Refused{kStaticMemory, "memoryManagerPolicyOptions: {memory-drift-tolerance: lots}",
                   "memory-drift-tolerance: \"auto\""},
           Refused{kStaticMemory, "memoryManagerPolicyOptions: {drift: 'off'}",
                   "memoryManagerPolicyOptions: {}"},
           Refused{"memoryManagerPolicy: Static\n",
                   "reservedMemory: [{numaNode: 0, limits: {memory: lots}}]",
                   "[{numaNode: 0, limits: {memory: 100Mi}}]"},
           Refused{
               "memoryManagerPolicy: Static\nkubeReserved: {memory: 12Gi}\n",
               "reservedMemory: [{numaNode: 0, limits: {memory: 12388Mi}}]",
               "[{numaNode: 0, limits: {memory: 8Gi}}, {numaNode: 1, limits: {memory: 4196Mi}}]"},
       }) {
    const std::string text = row.before + std::string(row.wrong);
    const StartAdvice advice = advice_on(text).value_or(StartAdvice());
    EXPECT_THAT(advice.write, HasSubstr(row.write)) << text;
    expect_members(advice.write);
  }
}

TEST(StartAdvice, NamesEveryRefusalAtOnce) {
  const auto describe = [](const char* text) {
    const Config config = parse_config(text).value().config;
    return describe_start_error(machine(), config, Node::make(machine(), config).error());
  };
  EXPECT_EQ(
      describe("cpuManagerPolicy: Static\nmemoryManagerPolicy: static\n"
               "reservedSystemCPUs: '0'"),
      "start: cpumanager: cpuManagerPolicy 'Static': did you mean 'static'? (kubelet: unknown "
      "policy: \"Static\"); write: cpuManagerPolicy: static; start: memorymanager: "
      "memoryManagerPolicy 'static': did you mean 'Static'? (kubelet: unknown policy: "
      "\"static\"); write: memoryManagerPolicy: Static");
  EXPECT_THAT(describe("cpuManagerPolicy: static\nmemoryManagerPolicy: Static\n"
                       "topologyManagerPolicy: restricted\n"
                       "topologyManagerPolicyOptions: {prefer-closest: 'true'}"),
              AllOf(HasSubstr("start: topologymanager: "), HasSubstr("; start: cpumanager: "),
                    HasSubstr("write: reservedSystemCPUs: \"0-1\"; start: memorymanager: "),
                    HasSubstr("write: reservedMemory: ")));
  EXPECT_THAT(describe("maxPods: -1\npodsPerCore: -1\ntopologyManagerScope: pods"),
              AllOf(HasSubstr("start: configuration: maxPods is negative (kubelet: "),
                    HasSubstr("); write: maxPods: 110; podsPerCore is negative; 0 sets no limit "
                              "(kubelet: "),
                    HasSubstr("); write: podsPerCore: 0"),
                    HasSubstr("; write: topologyManagerScope: pod")));
}

/// A kubelet does not split the value of its flag.
TEST(StartAdvice, KeepsTheOptionsOfAJoinedFlag) {
  const Config config = parse_config(
                            "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
                            "cpuManagerPolicyOptions: {full-pcpus-only: "
                            "'true,align-by-socket=true'}")
                            .value()
                            .config;
  const auto node = Node::make(machine(), config);
  ASSERT_FALSE(node);
  EXPECT_THAT(describe_start_error(machine(), config, node.error()),
              HasSubstr("write: cpuManagerPolicyOptions: {align-by-socket: \"true\", "
                        "full-pcpus-only: \"true\"}"));
}

/// An operator reads what is wrong and what to write first; Go's text is what the log shows.
TEST(StartAdvice, SaysInItsOwnWordsWhatIsWrong) {
  for (const auto& [wrong, expected] : {
           std::pair("reservedSystemCPUs: '0:1'", "reservedSystemCPUs '0:1': expected a list of "),
           {"kubeReserved: {memory: 1GB}",
            "kubeReserved: memory '1GB': expected an amount with a unit Ki Mi Gi Ti or k M G T; "
            "did you mean 1G or 1Gi?"},
           {"systemReserved: {memory: '1,5Gi'}",
            "systemReserved: memory '1,5Gi': expected an amount with a unit Ki Mi Gi Ti or k M G "
            "T; did you mean 1.5Gi?"},
           {"kubeReserved: {cpu: 1000mm}",
            "kubeReserved: cpu '1000mm': expected CPUs such as 2 or 500m; did you mean 1000m?"},
           {"evictionHard: {memory.available: abc}",
            "evictionHard: memory.available 'abc': expected bytes such as 512Mi or 1Gi"},
           {"cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
            "cpuManagerPolicyOptions: {full-pcpus-only: 'yes'}",
            "full-pcpus-only 'yes': expected true or false"},
           {"topologyManagerPolicy: restricted\n"
            "topologyManagerPolicyOptions: {max-allowable-numa-nodes: x}",
            "max-allowable-numa-nodes 'x': expected a whole number of 8 or more"},
           {"memoryManagerPolicy: Static\n"
            "reservedMemory: [{numaNode: 1, limits: {memory: 1GB}}]",
            "reservedMemory: NUMA node 1: memory '1GB': expected an amount with a unit Ki Mi Gi Ti "
            "or k M G T; did you mean 1G or 1Gi?"},
       }) {
    const Config config = parse_config(wrong).value().config;
    const auto node = Node::make(machine(), config);
    ASSERT_FALSE(node) << wrong;
    const std::string text = describe_start_error(machine(), config, node.error());
    const std::string stage = fmt::format("start: {}: ", to_string(node.error().stage));
    EXPECT_THAT(text, StartsWith(stage + expected)) << wrong;
    EXPECT_THAT(text, HasSubstr(fmt::format(" (kubelet: {})", node.error().error))) << wrong;
  }
}

/// The remedy for a policy that nobody can guess is not to turn the manager off.
TEST(StartAdvice, ListsThePoliciesIfNoneIsSimilar) {
  for (const auto& [wrong, expected] : {
           std::pair("cpuManagerPolicy: dynamic",
                     "cpuManagerPolicy 'dynamic': expected one of none, static"),
           {"cpuManagerPolicy: node", "cpuManagerPolicy 'node': expected one of none, static"},
           {"cpuManagerPolicy: non", "cpuManagerPolicy 'non': expected one of none, static"},
           {"memoryManagerPolicy: Pinned",
            "memoryManagerPolicy 'Pinned': expected one of None, Static"},
           {"memoryManagerPolicy: BestEffort",
            "memoryManagerPolicy BestEffort is for Windows: expected None or Static"},
           {"topologyManagerPolicy: tight",
            "topologyManagerPolicy 'tight': expected one of none, best-effort, restricted, "
            "single-numa-node"},
           {"topologyManagerScope: node",
            "topologyManagerScope 'node': expected one of container, pod"},
           {"memoryReservationPolicy: Some",
            "memoryReservationPolicy has no such value: expected None or TieredReservation"},
           {"cpuManagerPolicy: None",
            "cpuManagerPolicy 'None': did you mean 'none'?; write: cpuManagerPolicy: none"},
           {"memoryManagerPolicy: static",
            "memoryManagerPolicy 'static': did you mean 'Static'?; write: memoryManagerPolicy: "
            "Static"},
           {"topologyManagerPolicy: numa-node-single",
            "topologyManagerPolicy 'numa-node-single': did you mean 'single-numa-node'?; write: "
            "topologyManagerPolicy: single-numa-node"},
       }) {
    EXPECT_EQ(advice_for(wrong), expected) << wrong;
  }
}

TEST(StartAdvice, SaysOnlyTheCauseWhereTheMeantAmountIsUnknown) {
  for (const auto& [wrong, cause] : {
           std::pair("kubeReserved: {cpu: wild}",
                     "kubeReserved: cpu 'wild': expected CPUs such as 2 or 500m"),
           {"systemReserved: {memory: -1Gi}", "500m or 1Gi"},
           {"evictionHard: {memory.free: 1Gi}", "memory.available"},
           {"evictionHard: {memory.available: 200%}", "0% to 100%"},
           {"evictionHard: {memory.available: -1Gi}", "500m or 1Gi"},
           {"evictionHard: {memory.available: 5GB}",
            "evictionHard: memory.available '5GB': expected an amount with a unit Ki Mi Gi Ti or k "
            "M G T; did you mean 5G or 5Gi?"},
           {"evictionMinimumReclaim: {memory.available: -1Gi}", "500m or 1Gi"},
       }) {
    const StartAdvice advice = advice_on(wrong).value_or(StartAdvice());
    EXPECT_THAT(advice.cause, HasSubstr(cause)) << wrong;
    EXPECT_THAT(advice.write, IsEmpty()) << wrong;
  }
}

std::string allocatable_advice(const char* text) {
  const Config config = parse_config(text).value().config;
  const auto fits = Node::make(machine(), config).value().check_node_allocatable();
  return fits ? "starts" : to_string(*advise_start(machine(), config, fits.error()));
}

TEST(StartAdvice, SaysHowMuchIsReserved) {
  EXPECT_EQ(allocatable_advice("kubeReserved: {cpu: '9'}"),
            "9 of cpu is reserved (kubeReserved 9), and this machine has 8; write: "
            "reservedSystemCPUs: \"0-1\"");
  EXPECT_THAT(
      allocatable_advice("kubeReserved: {memory: 17Gi}\nevictionHard: {}"),
      AllOf(HasSubstr("(kubeReserved 17Gi), and this machine has 16Gi"), Not(HasSubstr("write"))));
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
              HasSubstr("write: topologyManagerPolicyOptions: {}"));
}

/// Valid and invalid values of the fields that can prevent a start.
const std::map<std::string, std::vector<std::string>> kValues = {
    {"cpuManagerPolicy", {"static", "none", "Static"}},
    {"cpuManagerPolicyOptions",
     {"{full-pcpu-only: 'true'}", "{align-by-socket: 'true', full-pcpus-only: 'true'}",
      "{distribute-cpus-across-cores: 'true', full-pcpus-only: 'true'}",
      "{distribute-cpus-across-numa: 'true', prefer-align-cpus-by-uncorecache: 'true'}"}},
    {"reservedSystemCPUs", {"'0'", "0-40", "32-33", "'3-1'", "6-9"}},
    {"kubeReserved",
     {"{memory: 893Mi}", "{cpu: 500m, memory: 9Gi}", "{cpu: '40'}", "{gpu: '1', cpu: 100m}"}},
    {"systemReserved", {"{memory: 1Gi}", "{cpu: '1'}", "{memory: 2500Mi}"}},
    {"kubeReservedCgroup", {"/kube"}},
    {"evictionHard", {"{}", "{nodefs.available: 5%}", "{memory.available: 5%}"}},
    {"evictionSoft", {"{memory.available: 200Mi}"}},
    {"memoryManagerPolicy", {"Static", "None", "static"}},
    {"reservedMemory",
     {"[{numaNode: 0, limits: {memory: 100Mi}}]", "[{numaNode: 5, limits: {memory: 1Gi}}]",
      "[{numaNode: 0, limits: {memory: 40Gi}}]", "[{numaNode: 0, limits: {memory: '0'}}]",
      "[{numaNode: 0, limits: {memory: 512Mi, hugepages-2Mi: 2Mi}}]",
      "[{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 0, limits: {memory: 1Gi}}]"}},
    {"topologyManagerPolicy", {"none", "single-numa", "single-numa-node", "restricted"}},
    {"topologyManagerPolicyOptions",
     {"{max-allowable-numa-nodes: '1'}", "{prefer-closest-numa-node: 'true'}",
      "{prefer-most-allocated-numa-node: 'true'}"}},
    {"topologyManagerScope", {"pods"}},
    {"cpuCFSQuotaPeriod", {"2s", "1us"}},
    {"imageGCHighThresholdPercent", {"70", "101"}},
    {"memorySwap", {"{swapBehavior: UnlimitedSwap}", "{swapBehavior: NoSwap}"}},
    {"systemCgroups", {"/system"}},
    {"enforceNodeAllocatable",
     {"[pod]", "[pods, pods]", "[none, pods]", "[pods, kube-reserved]", "[system-reserved]"}},
    {"cgroupsPerQOS", {"false"}},
    {"featureGates",
     {"{PodLevelResources: false}", "{CPUManagerPolicyBetaOptions: false}",
      "{CPUManagerPolicyAlphaOptions: true}"}},
    {"pinfold", {"{profile: fixed}", "{profile: kubelet-1.36}", "{profile: kubelet-1.38}"}},
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t end) { return random_() % end; }
  nlohmann::json configuration() {
    auto config = nlohmann::json::object();
    for (const auto& [field, values] : kValues) {
      if (below(3) != 0) continue;
      config.update(
          parse_document("{" + field + ": " + values[below(values.size())] + "}").value());
    }
    return config;
  }
  /// 1 to 10 NUMA nodes of 4 CPUs, with 1 to 8 GiB each and sometimes huge pages.
  Machine machine() {
    MachineDescription description;
    const int nodes = static_cast<int>(1 + below(below(4) == 0 ? 10 : 3));
    for (int id = 0; id < nodes * 4; ++id) {
      description.cpus.push_back(
          {CpuId{id}, CoreId{id / 2 * 2}, SocketId{id / 8}, NumaId{id / 4}, CacheId{id / 4}});
    }
    for (int node = 0; node < nodes; ++node) {
      NumaNode numa{NumaId{node}, (1 + below(8)) << 30U, {}, {}};
      if (below(3) == 0) numa.hugepages["hugepages-2Mi"] = 512U << 20U;
      numa.distances.assign(static_cast<std::size_t>(nodes), 10);
      description.numa_nodes.push_back(std::move(numa));
    }
    return Machine::make(std::move(description)).value();
  }

 private:
  std::mt19937 random_;
};

std::optional<StartError> start_error(const Machine& machine, const Config& config) {
  const auto node = Node::make(machine, config);
  if (!node) return node.error();
  const auto checked = node->check_node_allocatable();
  return checked ? std::nullopt : std::optional(checked.error());
}

/// A configuration, distributed over the places that a kubelet reads.
struct Places {
  nlohmann::json file = nlohmann::json::object();
  nlohmann::json drop_in = nlohmann::json::object();
  KubeletFlags flags = {};

  /// Distributes the members; a field can be in several places.
  static Places of(const nlohmann::json& document, Draw& draw) {
    Places places;
    for (const auto& [field, value] : document.items()) {
      const auto words = flags_for(field, value);
      const std::size_t where = draw.below(words.empty() ? 2 : 4);
      if (where == 0 || draw.below(4) == 0) places.file[field] = value;
      if (where == 1) places.drop_in[field] = value;
      if (where >= 2) merge_flags(places.flags, flags_of_words(words));
    }
    return places;
  }
  [[nodiscard]] nlohmann::json whole() const {
    nlohmann::json config = file;
    merge_config(config, drop_in);
    EXPECT_TRUE(apply_flags(flags, config));
    return config;
  }
  [[nodiscard]] ConfigSources sources() const {
    ConfigSources sources;
    note_source("/file", file, sources);
    note_source("/drop-in", drop_in, sources);
    note_sources(flags, sources);
    return sources;
  }
  void follow(const AdviceStep& step) {
    if (step.kind == AdviceStep::Kind::kPass) {
      const KubeletFlags passed = flags_of_words(split_words(step.text));
      for (const auto& [name, value] : passed) flags[name] = value;
    } else if (step.kind == AdviceStep::Kind::kWrite) {
      nlohmann::json& written = step.file == "/drop-in" ? drop_in : file;
      written.update(expect_members(step.text));
    } else if (step.file.empty()) {
      EXPECT_EQ(flags.erase(step.text), 1) << step.text;
    } else {
      EXPECT_EQ((step.file == "/drop-in" ? drop_in : file).erase(step.text), 1) << step.text;
    }
  }
};

/// A flag overrides files, and the members of files are merged.
TEST(StartAdvice, IsTrueWhereEachSettingIs) {
  int passed = 0;
  int left_out = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Draw draw(seed);
    const Machine machine = draw.machine();
    Places places = Places::of(draw.configuration(), draw);
    const Config before = config_from_json(places.whole()).value().config;
    Config config = before;
    config.sources = SharedSources(places.sources());
    const auto error = start_error(machine, config);
    const auto advice = error ? advise_start(machine, config, *error) : std::nullopt;
    if (!advice || advice->write.empty()) continue;
    nlohmann::json expected = places.whole();
    const nlohmann::json members = expect_members(advice->write);
    for (const auto& [field, value] : members.items()) {
      const bool is_none = places.flags.contains("--enforce-node-allocatable") &&
                           value == nlohmann::json::array({"none"});
      expected[field] = is_none ? nlohmann::json::array() : value;  // as the flag is read
    }
    for (const AdviceStep& step : advice->steps) {
      places.follow(step);
      passed += step.kind == AdviceStep::Kind::kPass ? 1 : 0;
      left_out += step.kind == AdviceStep::Kind::kLeaveOut ? 1 : 0;
    }
    EXPECT_EQ(config_from_json(places.whole()).value().config,
              config_from_json(expected).value().config)
        << "seed " << seed << ": " << to_string(*advice);
  }
  EXPECT_GT(passed, 100);
  EXPECT_GT(left_out, 10);
}

TEST(StartAdvice, NamesTheStrategyThatIsMeant) {
  EXPECT_THAT(
      advice_for("topologyManagerPolicy: restricted\n"
                 "topologyManagerPolicyOptions: {numa-allocation-strategy: Most-Allocated}\n"
                 "featureGates: {TopologyManagerPolicyAlphaOptions: true}"),
      HasSubstr("{numa-allocation-strategy: \"most-allocated\"}"));
}

TEST(StartAdvice, NamesTheFlagOrTheFileThatDecides) {
  Config config = parse_config("cpuManagerPolicy: static").value().config;
  const auto advice = [&] {
    return to_string(
        advise_start(machine(), config, Node::make(machine(), config).error()).value());
  };
  ConfigSources sources;
  sources.of_field = {{"cpuManagerPolicy", {"--cpu-manager-policy"}}};
  config.sources = SharedSources(sources);
  EXPECT_THAT(advice(), EndsWith("; write: reservedSystemCPUs: \"0-1\""));
  sources.is_of_flags = true;
  config.sources = SharedSources(sources);
  EXPECT_THAT(advice(), EndsWith("; pass --reserved-cpus=0-1"));
  sources = {};
  sources.of_field = {{"reservedSystemCPUs", {"/etc/a.conf", "/etc/b.conf"}}};
  config.sources = SharedSources(sources);
  EXPECT_THAT(advice(), EndsWith("; write in '/etc/b.conf': reservedSystemCPUs: \"0-1\""));
  config = parse_config("evictionHard: {}\nmemoryManagerPolicy: Static").value().config;
  sources.of_field = {{"evictionHard", {"--eviction-hard"}}};
  config.sources = SharedSources(sources);
  EXPECT_THAT(advice(), EndsWith("; pass '--eviction-hard=memory.available<100Mi'"));
  sources.of_field = {{"evictionHard", {"/etc/a.conf", "/etc/b.conf"}}};
  config.sources = SharedSources(sources);
  EXPECT_THAT(advice(),
              EndsWith("; write in '/etc/b.conf': evictionHard: {memory.available: \"100Mi\"}; "
                       "leave out evictionHard in '/etc/a.conf'"));
}

TEST(StartAdvice, IsTrueWhenFollowed) {
  int followed = 0;
  int started = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Draw draw(seed);
    const Machine machine = draw.machine();
    auto document = draw.configuration();
    std::set<std::string> before;
    for (int step = 0;; ++step) {
      const Config config = config_from_json(document).value().config;
      const auto error = start_error(machine, config);
      started += error || step == 0 ? 0 : 1;
      if (!error) break;
      ASSERT_TRUE(before.insert(error->error).second) << "seed " << seed << ": " << document;
      const auto advice = advise_start(machine, config, *error);
      if (!advice || advice->write.empty()) break;
      document.update(expect_members(advice->write));
      ++followed;
    }
  }
  EXPECT_GT(followed, 2000);
  EXPECT_GT(started, 500);
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
      "longer a gate), NodeLifecycleConditions (since 1.37), PodLevelResourceManager (did you "
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
