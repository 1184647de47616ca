#include "known_start_errors.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace pinfold {
namespace {

constexpr const char* kOneReservation =
    "kubeReserved and systemReserved with cpu, memory, ephemeral-storage and pid only";
constexpr const char* kAmount = "an amount such as 500m or 1Gi, not below 0";
constexpr const char* kDrift = "memoryManagerPolicyOptions: {memory-drift-tolerance: auto}";

/// The first entry whose part a text has counts.
constexpr std::array kKnownErrors = {
    // Feature gates.
    KnownStartError{"feature is locked to",
                    "a feature gate is locked to its other value in this kubelet",
                    "featureGates without it"},
    KnownStartError{"depends on features that are disabled: [PodLevelResources]",
                    "a feature gate needs another one", "featureGates: {PodLevelResources: true}"},
    KnownStartError{"requires feature gate CustomCPUCFSQuotaPeriod",
                    "cpuCFSQuotaPeriod differs from 100ms without its feature gate",
                    "featureGates: {CustomCPUCFSQuotaPeriod: true}, or cpuCFSQuotaPeriod: 100ms"},
    KnownStartError{"requires MemoryQoS feature gate",
                    "memoryReservationPolicy needs its feature gate",
                    "featureGates: {MemoryQoS: true}"},
    KnownStartError{"requires the MemoryManagerDriftTolerance feature gate",
                    "the option is alpha: its feature gate is off by default",
                    "featureGates: {MemoryManagerDriftTolerance: true}"},
    KnownStartError{"topology manager policy beta-level options not enabled",
                    "the option is beta: its feature gate is off",
                    "featureGates: {TopologyManagerPolicyBetaOptions: true}"},
    KnownStartError{"CPU Manager Policy Beta-level Options not enabled",
                    "the option is beta: its feature gate is off",
                    "featureGates: {CPUManagerPolicyBetaOptions: true}"},
    // Single values.
    KnownStartError{"must be between 1ms and 1sec", "cpuCFSQuotaPeriod is out of range",
                    "cpuCFSQuotaPeriod: 100ms"},
    KnownStartError{"(--max-pods)", "maxPods is negative", "maxPods: 110"},
    KnownStartError{"(--pods-per-core)", "podsPerCore is negative; 0 sets no limit",
                    "podsPerCore: 0"},
    KnownStartError{"memoryThrottlingFactor", "memoryThrottlingFactor is out of range",
                    "memoryThrottlingFactor: 0.9"},
    KnownStartError{"specified for memoryReservationPolicy",
                    "memoryReservationPolicy has no such value", "memoryReservationPolicy: None"},
    // What is enforced.
    KnownStartError{
        "must be specified when", "enforceNodeAllocatable names a reservation that has no cgroup",
        "its systemReservedCgroup or kubeReservedCgroup, or enforceNodeAllocatable: [pods]"},
    KnownStartError{"may not contain additional enforcements",
                    "'none' excludes the other values of enforceNodeAllocatable",
                    "enforceNodeAllocatable: [none]"},
    KnownStartError{"(--cgroups-per-qos) must be set to true",
                    "enforceNodeAllocatable needs the cgroups of the QoS classes",
                    "cgroupsPerQOS: true, or enforceNodeAllocatable: [none]"},
    KnownStartError{"cannot be specified together",
                    "a reservation is enforced as a whole, or only what is compressible",
                    "enforceNodeAllocatable with one of the two"},
    KnownStartError{"duplicated enforcements", "enforceNodeAllocatable has a value twice",
                    "enforceNodeAllocatable with each value once"},
    KnownStartError{"specified for enforceNodeAllocatable",
                    "enforceNodeAllocatable has no such value", "enforceNodeAllocatable: [pods]"},
    // Reservations.
    KnownStartError{"is accepted", "reservedMemory holds memory and huge pages only",
                    "reservedMemory with limits of memory or hugepages-SIZE only"},
    KnownStartError{"the reserved memory has a duplicate value",
                    "reservedMemory names a NUMA node and resource twice",
                    "reservedMemory with their sum"},
    KnownStartError{"reserved memory may not be zero", "reservedMemory has an amount of 0",
                    "reservedMemory without it"},
    KnownStartError{"cannot reserve", "this resource cannot be reserved", kOneReservation},
    KnownStartError{
        "value failed to parse: ", "an amount in kubeReserved or systemReserved is wrong", kAmount},
    KnownStartError{"reservedMemory: memory", "an amount in reservedMemory is wrong", kAmount},
    KnownStartError{"reservedMemory: hugepages", "an amount in reservedMemory is wrong", kAmount},
    KnownStartError{"unsupported eviction signal",
                    "evictionHard or evictionSoft has an unknown signal",
                    "signals such as memory.available or nodefs.available"},
    KnownStartError{"grace period must be specified",
                    "each threshold of evictionSoft has a grace period",
                    "evictionSoftGracePeriod with the same signals"},
    KnownStartError{"minimum reclaim", "an amount of evictionMinimumReclaim is negative", kAmount},
    KnownStartError{"eviction percentage", "a percentage of an eviction threshold is out of range",
                    "0% to 100%, or an amount such as 100Mi"},
    KnownStartError{"eviction threshold", "an eviction threshold is negative", kAmount},
    KnownStartError{"invalid eviction grace period", "a grace period is negative",
                    "evictionSoftGracePeriod: {memory.available: 1m30s}"},
    KnownStartError{"huge pages not counted", "a NUMA node reserves more than it has",
                    "reservedMemory with the rest on another NUMA node"},
    // Options of the managers.
    KnownStartError{"can not be used at the same time", "the two options exclude each other",
                    "cpuManagerPolicyOptions with one of them"},
    KnownStartError{"Topolgy manager single-numa-node",
                    "align-by-socket needs more than one NUMA node",
                    "cpuManagerPolicyOptions without align-by-socket, or topologyManagerPolicy: "
                    "restricted"},
    KnownStartError{"Align by socket is not compatible",
                    "the machine has more sockets than NUMA nodes",
                    "cpuManagerPolicyOptions without align-by-socket"},
    KnownStartError{"unknown CPU Manager Policy option", "this kubelet has no such option",
                    "cpuManagerPolicyOptions without it"},
    KnownStartError{"unknown Topology Manager Policy option", "this kubelet has no such option",
                    "topologyManagerPolicyOptions without it"},
    KnownStartError{"unknown Memory Manager Policy option", "this kubelet has no such option",
                    kDrift},
    KnownStartError{"takes no Memory Manager Policy options",
                    "memoryManagerPolicyOptions need memoryManagerPolicy Static",
                    "memoryManagerPolicy: Static, or no memoryManagerPolicyOptions"},
    KnownStartError{"bad value for option \"memory-drift-tolerance\"",
                    "expected auto, off or an amount", kDrift},
    KnownStartError{"bad value for option \"numa-allocation-strategy\"",
                    "there is no such strategy",
                    "topologyManagerPolicyOptions: {numa-allocation-strategy: none}"},
    KnownStartError{"bad value for option \"numa-score-weights\"",
                    "expected RESOURCE=0 to 100, ...",
                    "topologyManagerPolicyOptions: {numa-score-weights: \"cpu=2,memory=1\"}"},
    KnownStartError{"bad value for option", "the option is on or off", "\"true\" or \"false\""},
    KnownStartError{"max-allowable-numa-nodes", "expected a number from 8 on",
                    "topologyManagerPolicyOptions: {max-allowable-numa-nodes: \"8\"}"},
    KnownStartError{"contradict each other", "both options choose between NUMA nodes",
                    "topologyManagerPolicyOptions without prefer-most-allocated-numa-node"},
    KnownStartError{"error getting NUMA distances", "the machine does not show all NUMA distances",
                    "topologyManagerPolicyOptions without prefer-closest-numa-nodes"},
    KnownStartError{"Quantity to int64", "an amount in reservedMemory is no whole number of bytes",
                    "reservedMemory in whole bytes, such as 1Gi"},
    KnownStartError{"quantities must match", "an amount of an eviction setting is wrong", kAmount},
    KnownStartError{"unable to parse quantity", "an amount of an eviction setting is wrong",
                    kAmount},
    KnownStartError{"time: ", "cpuCFSQuotaPeriod or a grace period is no duration",
                    "a duration such as 100ms or 1m30s"},
};

}  // namespace

const KnownStartError* find_known_start_error(std::string_view error) {
  const auto* const known = std::find_if(
      kKnownErrors.begin(), kKnownErrors.end(),
      [&](const KnownStartError& one) { return error.find(one.part) != std::string_view::npos; });
  return known == kKnownErrors.end() ? nullptr : &*known;
}

}  // namespace pinfold
