#include <array>
#include <cstdint>
#include <limits>

#include "schema.hpp"

namespace pinfold {
namespace {

constexpr std::array<Field, 2> kReservedMemory = {{
    {"numaNode", FieldType::kInt32},
    {"limits", FieldType::kQuantityMap},
}};

constexpr std::array<Field, 1> kX509 = {{{"clientCAFile", FieldType::kText}}};
constexpr std::array<Field, 2> kWebhook = {{
    {"enabled", FieldType::kBool},
    {"cacheTTL", FieldType::kDuration},
}};
constexpr std::array<Field, 1> kAnonymous = {{{"enabled", FieldType::kBool}}};
constexpr std::array<Field, 3> kAuthentication = {{
    {"x509", FieldType::kObject, kX509},
    {"webhook", FieldType::kObject, kWebhook},
    {"anonymous", FieldType::kObject, kAnonymous},
}};
constexpr std::array<Field, 2> kAuthorizationWebhook = {{
    {"cacheAuthorizedTTL", FieldType::kDuration},
    {"cacheUnauthorizedTTL", FieldType::kDuration},
}};
constexpr std::array<Field, 2> kAuthorization = {{
    {"mode", FieldType::kText},
    {"webhook", FieldType::kObject, kAuthorizationWebhook},
}};
constexpr std::array<Field, 5> kLogging = {{
    {"format", FieldType::kText},
    {"flushFrequency", FieldType::kAny},  // a duration, or a number of nanoseconds
    {"verbosity", FieldType::kInt64, {}, {0, std::numeric_limits<std::uint32_t>::max()}},
    {"vmodule", FieldType::kList},
    {"options", FieldType::kObject},
}};
constexpr Range kNotNegative = {0, Range{}.most};
/// 0 is the default in a file, or no port.
constexpr Range kPort = {0, std::numeric_limits<std::uint16_t>::max()};

/// Source of the ranges: kubelet v1.36 pkg/kubelet/apis/config/validation,
/// ValidateKubeletConfiguration; those that Node::make checks are not here.
constexpr std::array<Field, 130> kConfiguration = {{
    {"address", FieldType::kText},
    {"allowedUnsafeSysctls", FieldType::kTextList},
    {"apiVersion", FieldType::kText},
    {"authentication", FieldType::kObject, kAuthentication},
    {"authorization", FieldType::kObject, kAuthorization},
    {"cgroupDriver", FieldType::kText},
    {"cgroupRoot", FieldType::kText},
    {"cgroupsPerQOS", FieldType::kBool},
    {"clusterDNS", FieldType::kTextList},
    {"clusterDomain", FieldType::kText},
    {"configMapAndSecretChangeDetectionStrategy", FieldType::kText},
    {"containerLogMaxFiles", FieldType::kInt32},
    {"containerLogMaxSize", FieldType::kText},
    {"containerLogMaxWorkers", FieldType::kInt32},
    {"containerLogMonitorInterval", FieldType::kDuration},
    {"containerRuntimeEndpoint", FieldType::kText},
    {"contentType", FieldType::kText},
    {"cpuCFSQuota", FieldType::kBool},
    {"cpuCFSQuotaPeriod", FieldType::kText},
    {"cpuManagerPolicy", FieldType::kText},
    {"cpuManagerPolicyOptions", FieldType::kTextMap},
    {"cpuManagerReconcilePeriod", FieldType::kDuration},
    {"crashLoopBackOff", FieldType::kObject},
    {"defaultPodSysctls", FieldType::kAny},  // since 1.37, behind the gate DefaultPodSysctls
    {"enableContentionProfiling", FieldType::kBool},
    {"enableControllerAttachDetach", FieldType::kBool},
    {"enableDebugFlagsHandler", FieldType::kBool},
    {"enableDebuggingHandlers", FieldType::kBool},
    {"enableProfilingHandler", FieldType::kBool},
    {"enableServer", FieldType::kBool},
    {"enableSystemLogHandler", FieldType::kBool},
    {"enableSystemLogQuery", FieldType::kBool},
    {"enforceNodeAllocatable", FieldType::kTextList},
    {"eventBurst", FieldType::kInt32, {}, kNotNegative},
    {"eventRecordQPS", FieldType::kInt32, {}, kNotNegative},
    {"evictionHard", FieldType::kTextMap},
    {"evictionMaxPodGracePeriod", FieldType::kInt32},
    {"evictionMinimumReclaim", FieldType::kTextMap},
    {"evictionPressureTransitionPeriod", FieldType::kDuration},
    {"evictionSoft", FieldType::kTextMap},
    {"evictionSoftGracePeriod", FieldType::kTextMap},
    {"failCgroupV1", FieldType::kBool},
    {"failSwapOn", FieldType::kBool},
    {"featureGates", FieldType::kObject},
    {"fileCheckFrequency", FieldType::kDuration},
    {"hairpinMode", FieldType::kText},
    {"healthzBindAddress", FieldType::kText},
    {"healthzPort", FieldType::kInt32, {}, kPort},
    {"httpCheckFrequency", FieldType::kDuration},
    {"imageGCHighThresholdPercent", FieldType::kInt32},
    {"imageGCLowThresholdPercent", FieldType::kInt32},
    {"imageMaximumGCAge", FieldType::kDuration},
    {"imageMinimumGCAge", FieldType::kDuration},
    {"imagePullCredentialsVerificationPolicy", FieldType::kText},
    {"imageServiceEndpoint", FieldType::kText},
    {"iptablesDropBit", FieldType::kInt32, {}, {0, 31}},
    {"iptablesMasqueradeBit", FieldType::kInt32, {}, {0, 31}},
    {"kernelMemcgNotification", FieldType::kBool},
    {"kind", FieldType::kText},
    {"kubeAPIBurst", FieldType::kInt32, {}, kNotNegative},
    {"kubeAPIQPS", FieldType::kInt32, {}, kNotNegative},
    {"kubeletCgroups", FieldType::kText},
    {"kubeReserved", FieldType::kTextMap},
    {"kubeReservedCgroup", FieldType::kText},
    {"localStorageCapacityIsolation", FieldType::kBool},
    {"logging", FieldType::kObject, kLogging},
    {"makeIPTablesUtilChains", FieldType::kBool},
    {"maxOpenFiles", FieldType::kInt64, {}, kNotNegative},
    {"maxParallelImagePulls", FieldType::kInt32, {}, {1, Range{}.most}},
    {"maxPods", FieldType::kInt32},
    {"memoryManagerPolicy", FieldType::kText},
    {"memoryManagerPolicyOptions", FieldType::kTextMap},
    {"memoryReservationPolicy", FieldType::kText},
    {"memorySwap", FieldType::kObject},
    {"memoryThrottlingFactor", FieldType::kNumber},
    {"mergeDefaultEvictionSettings", FieldType::kBool},
    {"nodeLeaseDurationSeconds", FieldType::kInt32, {}, kNotNegative},
    {"nodeStatusMaxImages", FieldType::kInt32, {}, {-1, Range{}.most}},
    {"nodeStatusReportFrequency", FieldType::kDuration},
    {"nodeStatusUpdateFrequency", FieldType::kDuration},
    {"oomScoreAdj", FieldType::kInt32, {}, {-1000, 1000}},
    {"pinfold", FieldType::kObject},
    {"podCIDR", FieldType::kText},
    {"podLogsDir", FieldType::kText},
    {"podPidsLimit", FieldType::kInt64},
    {"podsPerCore", FieldType::kInt32},
    {"port", FieldType::kInt32, {}, kPort},
    {"preloadedImagesVerificationAllowlist", FieldType::kTextList},
    {"protectKernelDefaults", FieldType::kBool},
    {"providerID", FieldType::kText},
    {"qosReserved", FieldType::kTextMap},
    {"readOnlyPort", FieldType::kInt32, {}, kPort},
    {"registerNode", FieldType::kBool},
    {"registerWithTaints", FieldType::kList},
    {"registryBurst", FieldType::kInt32, {}, kNotNegative},
    {"registryPullQPS", FieldType::kInt32, {}, kNotNegative},
    {"reservedMemory", FieldType::kList, kReservedMemory},
    {"reservedSystemCPUs", FieldType::kText},
    {"resolvConf", FieldType::kText},
    {"rotateCertificates", FieldType::kBool},
    {"runOnce", FieldType::kBool},
    {"runtimeRequestTimeout", FieldType::kDuration},
    {"seccompDefault", FieldType::kBool},
    {"serializeImagePulls", FieldType::kBool},
    {"serverTLSBootstrap", FieldType::kBool},
    {"showHiddenMetricsForVersion", FieldType::kText},
    {"shutdownGracePeriod", FieldType::kDuration},
    {"shutdownGracePeriodByPodPriority", FieldType::kList},
    {"shutdownGracePeriodCriticalPods", FieldType::kDuration},
    {"singleProcessOOMKill", FieldType::kBool},
    {"staticPodPath", FieldType::kText},
    {"staticPodURL", FieldType::kText},
    {"staticPodURLHeader", FieldType::kObject},
    {"streamingConnectionIdleTimeout", FieldType::kDuration},
    {"syncFrequency", FieldType::kDuration},
    {"systemCgroups", FieldType::kText},
    {"systemReserved", FieldType::kTextMap},
    {"systemReservedCgroup", FieldType::kText},
    {"tlsCertFile", FieldType::kText},
    {"tlsCipherSuites", FieldType::kTextList},
    {"tlsCurvePreferences", FieldType::kList},
    {"tlsMinVersion", FieldType::kText},
    {"tlsPrivateKeyFile", FieldType::kText},
    {"topologyManagerPolicy", FieldType::kText},
    {"topologyManagerPolicyOptions", FieldType::kTextMap},
    {"topologyManagerScope", FieldType::kText},
    {"tracing", FieldType::kObject},
    {"userNamespaces", FieldType::kObject},
    {"volumePluginDir", FieldType::kText},
    {"volumeStatsAggPeriod", FieldType::kDuration},
}};

}  // namespace

const Fields kKubeletFields = kConfiguration;

}  // namespace pinfold
