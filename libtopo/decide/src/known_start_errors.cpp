#include "known_start_errors.hpp"

#include <algorithm>
#include <array>

namespace pinfold {
namespace {

constexpr const char* kAmount =
    "expected an amount such as 500m or 1Gi, not below 0, in each reservation and eviction setting";
constexpr const char* kDefaultPeriod = "cpuCFSQuotaPeriod: 100ms";
constexpr const char* kImageThresholds =
    "imageGCHighThresholdPercent: 85, imageGCLowThresholdPercent: 80";
constexpr const char* kEnforcePods = "enforceNodeAllocatable: [pods]";

/// The first entry whose part a text has counts.
constexpr std::array kKnownErrors = {
    // Single values.
    KnownStartError{"requires feature gate CustomCPUCFSQuotaPeriod",
                    "cpuCFSQuotaPeriod differs from 100ms without its feature gate",
                    kDefaultPeriod},
    KnownStartError{"must be between 1ms and 1sec", "cpuCFSQuotaPeriod is out of range",
                    kDefaultPeriod},
    KnownStartError{"(--max-pods)", "maxPods is negative", "maxPods: 110"},
    KnownStartError{"(--pods-per-core)", "podsPerCore is negative; 0 sets no limit",
                    "podsPerCore: 0"},
    KnownStartError{"memoryThrottlingFactor", "memoryThrottlingFactor is out of range",
                    "memoryThrottlingFactor: 0.9"},
    KnownStartError{"specified for memoryReservationPolicy",
                    "memoryReservationPolicy has no such value: expected None or TieredReservation",
                    ""},
    KnownStartError{"(--system-cgroups)", "systemCgroups needs cgroupRoot", "cgroupRoot: /"},
    KnownStartError{"imageGC",
                    "expected 0 <= imageGCLowThresholdPercent < imageGCHighThresholdPercent <= 100",
                    kImageThresholds},
    KnownStartError{"memorySwap.swapBehavior",
                    "swapBehavior is LimitedSwap or NoSwap; UnlimitedSwap no longer exists",
                    "memorySwap: {swapBehavior: LimitedSwap}"},
    // What is enforced.
    KnownStartError{"must be specified when",
                    "enforceNodeAllocatable names a reservation that has no cgroup: "
                    "systemReservedCgroup or kubeReservedCgroup",
                    kEnforcePods},
    KnownStartError{"may not contain additional enforcements",
                    "'none' excludes the other values of enforceNodeAllocatable",
                    "enforceNodeAllocatable: [none]"},
    KnownStartError{"(--cgroups-per-qos) must be set to true",
                    "enforceNodeAllocatable needs the cgroups of the QoS classes, or it is [none]",
                    "cgroupsPerQOS: true"},
    KnownStartError{"specified for enforceNodeAllocatable",
                    "enforceNodeAllocatable has no such value", kEnforcePods},
    // Policies and their options.
    KnownStartError{"None policy: received unsupported options",
                    "cpuManagerPolicyOptions need cpuManagerPolicy static",
                    "cpuManagerPolicy: static"},
    KnownStartError{"is not available for platform",
                    "memoryManagerPolicy BestEffort is for Windows: expected None or Static", ""},
    KnownStartError{"takes no Memory Manager Policy options",
                    "memoryManagerPolicyOptions need memoryManagerPolicy Static",
                    "memoryManagerPolicy: Static"},
    // Amounts: which one was meant is unknown.
    KnownStartError{"value failed to parse: ", kAmount, ""},
    KnownStartError{"unsupported eviction signal",
                    "an eviction setting has an unknown signal; expected one such as "
                    "memory.available or nodefs.available",
                    ""},
    KnownStartError{"minimum reclaim", kAmount, ""},
    KnownStartError{"eviction percentage",
                    "a percentage of an eviction threshold is out of range; expected 0% to 100%, "
                    "or an amount such as 100Mi",
                    ""},
    KnownStartError{"eviction threshold", kAmount, ""},
};

}  // namespace

const KnownStartError* find_known_start_error(std::string_view error) {
  const auto* const known = std::find_if(
      kKnownErrors.begin(), kKnownErrors.end(),
      [&](const KnownStartError& one) { return error.find(one.part) != std::string_view::npos; });
  return known == kKnownErrors.end() ? nullptr : &*known;
}

}  // namespace pinfold
