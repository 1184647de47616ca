#include "known_start_errors.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace pinfold {
namespace {

struct KnownError {
  std::string_view part;  ///< of the kubelet's text
  const char* cause;
  const char* write;
};

constexpr const char* kOneReservation =
    "kubeReserved and systemReserved with cpu, memory, ephemeral-storage and pid only";
constexpr const char* kAmount = "an amount such as 500m or 1Gi, not below 0";
constexpr const char* kDrift = "memoryManagerPolicyOptions: {memory-drift-tolerance: auto}";

/// The first entry whose part a text has counts.
constexpr std::array kKnownErrors = {
    // Feature gates.
    KnownError{"feature is locked to",
               "a feature gate is locked to its other value in this kubelet",
               "featureGates without it"},
    KnownError{"depends on features that are disabled: [PodLevelResources]",
               "a feature gate needs another one", "featureGates: {PodLevelResources: true}"},
    KnownError{"requires feature gate CustomCPUCFSQuotaPeriod",
               "cpuCFSQuotaPeriod differs from 100ms without its feature gate",
               "featureGates: {CustomCPUCFSQuotaPeriod: true}, or cpuCFSQuotaPeriod: 100ms"},
    KnownError{"requires MemoryQoS feature gate", "memoryReservationPolicy needs its feature gate",
               "featureGates: {MemoryQoS: true}"},
    KnownError{"requires the MemoryManagerDriftTolerance feature gate",
               "the option is alpha: its feature gate is off by default",
               "featureGates: {MemoryManagerDriftTolerance: true}"},
    KnownError{"topology manager policy beta-level options not enabled",
               "the option is beta: its feature gate is off",
               "featureGates: {TopologyManagerPolicyBetaOptions: true}"},
    KnownError{"CPU Manager Policy Beta-level Options not enabled",
               "the option is beta: its feature gate is off",
               "featureGates: {CPUManagerPolicyBetaOptions: true}"},
    // Single values.
    KnownError{"must be between 1ms and 1sec", "cpuCFSQuotaPeriod is out of range",
               "cpuCFSQuotaPeriod: 100ms"},
    KnownError{"(--max-pods)", "maxPods is negative", "maxPods: 110"},
    KnownError{"(--pods-per-core)", "podsPerCore is negative; 0 sets no limit", "podsPerCore: 0"},
    KnownError{"memoryThrottlingFactor", "memoryThrottlingFactor is out of range",
               "memoryThrottlingFactor: 0.9"},
    KnownError{"specified for memoryReservationPolicy", "memoryReservationPolicy has no such value",
               "memoryReservationPolicy: None"},
    // What is enforced.
    KnownError{"must be specified when",
               "enforceNodeAllocatable names a reservation that has no cgroup",
               "its systemReservedCgroup or kubeReservedCgroup, or enforceNodeAllocatable: [pods]"},
    KnownError{"may not contain additional enforcements",
               "'none' excludes the other values of enforceNodeAllocatable",
               "enforceNodeAllocatable: [none]"},
    KnownError{"(--cgroups-per-qos) must be set to true",
               "enforceNodeAllocatable needs the cgroups of the QoS classes",
               "cgroupsPerQOS: true, or enforceNodeAllocatable: [none]"},
    KnownError{"cannot be specified together",
               "a reservation is enforced as a whole, or only what is compressible",
               "enforceNodeAllocatable with one of the two"},
    KnownError{"duplicated enforcements", "enforceNodeAllocatable has a value twice",
               "enforceNodeAllocatable with each value once"},
    KnownError{"specified for enforceNodeAllocatable", "enforceNodeAllocatable has no such value",
               "enforceNodeAllocatable: [pods]"},
    // Reservations.
    KnownError{"is accepted", "reservedMemory holds memory and huge pages only",
               "reservedMemory with limits of memory or hugepages-SIZE only"},
    KnownError{"the reserved memory has a duplicate value",
               "reservedMemory names a NUMA node and resource twice",
               "reservedMemory with their sum"},
    KnownError{"reserved memory may not be zero", "reservedMemory has an amount of 0",
               "reservedMemory without it"},
    KnownError{"cannot reserve", "this resource cannot be reserved", kOneReservation},
    KnownError{"value failed to parse: ", "an amount in kubeReserved or systemReserved is wrong",
               kAmount},
    KnownError{"reservedMemory: memory", "an amount in reservedMemory is wrong", kAmount},
    KnownError{"reservedMemory: hugepages", "an amount in reservedMemory is wrong", kAmount},
    KnownError{"unsupported eviction signal", "evictionHard or evictionSoft has an unknown signal",
               "signals such as memory.available or nodefs.available"},
    KnownError{"grace period must be specified",
               "each threshold of evictionSoft has a grace period",
               "evictionSoftGracePeriod with the same signals"},
    KnownError{"minimum reclaim", "an amount of evictionMinimumReclaim is negative", kAmount},
    KnownError{"eviction percentage", "a percentage of an eviction threshold is out of range",
               "0% to 100%, or an amount such as 100Mi"},
    KnownError{"eviction threshold", "an eviction threshold is negative", kAmount},
    KnownError{"invalid eviction grace period", "a grace period is negative",
               "evictionSoftGracePeriod: {memory.available: 1m30s}"},
    KnownError{"huge pages not counted", "a NUMA node reserves more than it has",
               "reservedMemory with the rest on another NUMA node"},
    // Options of the managers.
    KnownError{"can not be used at the same time", "the two options exclude each other",
               "cpuManagerPolicyOptions with one of them"},
    KnownError{"Topolgy manager single-numa-node", "align-by-socket needs more than one NUMA node",
               "cpuManagerPolicyOptions without align-by-socket, or topologyManagerPolicy: "
               "restricted"},
    KnownError{"Align by socket is not compatible", "the machine has more sockets than NUMA nodes",
               "cpuManagerPolicyOptions without align-by-socket"},
    KnownError{"unknown CPU Manager Policy option", "this kubelet has no such option",
               "cpuManagerPolicyOptions without it"},
    KnownError{"unknown Topology Manager Policy option", "this kubelet has no such option",
               "topologyManagerPolicyOptions without it"},
    KnownError{"unknown Memory Manager Policy option", "this kubelet has no such option", kDrift},
    KnownError{"takes no Memory Manager Policy options",
               "memoryManagerPolicyOptions need memoryManagerPolicy Static",
               "memoryManagerPolicy: Static, or no memoryManagerPolicyOptions"},
    KnownError{"bad value for option \"memory-drift-tolerance\"", "expected auto, off or an amount",
               kDrift},
    KnownError{"bad value for option \"numa-allocation-strategy\"", "there is no such strategy",
               "topologyManagerPolicyOptions: {numa-allocation-strategy: none}"},
    KnownError{"bad value for option \"numa-score-weights\"", "expected RESOURCE=0 to 100, ...",
               "topologyManagerPolicyOptions: {numa-score-weights: \"cpu=2,memory=1\"}"},
    KnownError{"bad value for option", "the option is on or off", "\"true\" or \"false\""},
    KnownError{"max-allowable-numa-nodes", "expected a number from 8 on",
               "topologyManagerPolicyOptions: {max-allowable-numa-nodes: \"8\"}"},
    KnownError{"contradict each other", "both options choose between NUMA nodes",
               "topologyManagerPolicyOptions without prefer-most-allocated-numa-node"},
    KnownError{"error getting NUMA distances", "the machine does not show all NUMA distances",
               "topologyManagerPolicyOptions without prefer-closest-numa-nodes"},
    KnownError{"Quantity to int64", "an amount in reservedMemory is no whole number of bytes",
               "reservedMemory in whole bytes, such as 1Gi"},
    KnownError{"quantities must match", "an amount of an eviction setting is wrong", kAmount},
    KnownError{"unable to parse quantity", "an amount of an eviction setting is wrong", kAmount},
    KnownError{"time: ", "cpuCFSQuotaPeriod or a grace period is no duration",
               "a duration such as 100ms or 1m30s"},
};

}  // namespace

std::optional<StartAdvice> advise_by_text(std::string_view error) {
  const auto* const known = std::find_if(
      kKnownErrors.begin(), kKnownErrors.end(),
      [&](const KnownError& one) { return error.find(one.part) != std::string_view::npos; });
  if (known == kKnownErrors.end()) return std::nullopt;
  return StartAdvice{known->cause, known->write};
}

}  // namespace pinfold
