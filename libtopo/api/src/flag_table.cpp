#include "flag_table.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace pinfold {
namespace {

constexpr std::array kDecisiveFlags = {
    KnownFlag{"cgroup-driver", FlagForm::kText, "cgroupDriver", "cgroupfs"},
    KnownFlag{"cgroup-root", FlagForm::kText, "cgroupRoot"},
    KnownFlag{"cgroups-per-qos", FlagForm::kBoolean, "cgroupsPerQOS", "true"},
    KnownFlag{"cpu-cfs-quota", FlagForm::kBoolean, "cpuCFSQuota", "true"},
    KnownFlag{"cpu-cfs-quota-period", FlagForm::kText, "cpuCFSQuotaPeriod", "100ms"},
    KnownFlag{"cpu-manager-policy", FlagForm::kName, "cpuManagerPolicy", "none"},
    KnownFlag{"cpu-manager-policy-options", FlagForm::kPair, "cpuManagerPolicyOptions"},
    KnownFlag{"enforce-node-allocatable", FlagForm::kList, "enforceNodeAllocatable", "[pods]"},
    KnownFlag{"eviction-hard", FlagForm::kThresholds, "evictionHard"},
    KnownFlag{"eviction-max-pod-grace-period", FlagForm::kNumber, "evictionMaxPodGracePeriod", "0"},
    KnownFlag{"eviction-minimum-reclaim", FlagForm::kMap, "evictionMinimumReclaim"},
    KnownFlag{"eviction-soft", FlagForm::kThresholds, "evictionSoft"},
    KnownFlag{"eviction-soft-grace-period", FlagForm::kMap, "evictionSoftGracePeriod"},
    KnownFlag{"feature-gates", FlagForm::kBooleans, "featureGates"},
    KnownFlag{"image-gc-high-threshold", FlagForm::kNumber, "imageGCHighThresholdPercent", "85"},
    KnownFlag{"image-gc-low-threshold", FlagForm::kNumber, "imageGCLowThresholdPercent", "80"},
    KnownFlag{"kube-reserved", FlagForm::kMap, "kubeReserved"},
    KnownFlag{"kube-reserved-cgroup", FlagForm::kText, "kubeReservedCgroup"},
    KnownFlag{"max-pods", FlagForm::kNumber, "maxPods", "110"},
    KnownFlag{"memory-manager-policy", FlagForm::kName, "memoryManagerPolicy", "None"},
    KnownFlag{"pods-per-core", FlagForm::kNumber, "podsPerCore", "0"},
    KnownFlag{"reserved-cpus", FlagForm::kText, "reservedSystemCPUs"},
    KnownFlag{"reserved-memory", FlagForm::kMemory, "reservedMemory"},
    KnownFlag{"system-cgroups", FlagForm::kText, "systemCgroups"},
    KnownFlag{"system-reserved", FlagForm::kMap, "systemReserved"},
    KnownFlag{"system-reserved-cgroup", FlagForm::kText, "systemReservedCgroup"},
    KnownFlag{"topology-manager-policy", FlagForm::kName, "topologyManagerPolicy", "none"},
    KnownFlag{"topology-manager-policy-options", FlagForm::kPair, "topologyManagerPolicyOptions"},
    KnownFlag{"topology-manager-scope", FlagForm::kName, "topologyManagerScope", "container"},
    KnownFlag{"experimental-allocatable-ignore-eviction", FlagForm::kBoolean, "evictionHard",
              "false"},
};

struct RemovedFlag {
  std::string_view name;
  int minor;  ///< the first version without it
};
/// Source: release notes: 1.24 has no dockershim, 1.26 no flags of klog (KEP-2845), 1.27 no runtime
/// other than a remote one, 1.35 no sandbox image.
constexpr std::array kRemoved = {
    RemovedFlag{"add-dir-header", 26},
    RemovedFlag{"alsologtostderr", 26},
    RemovedFlag{"cni-bin-dir", 24},
    RemovedFlag{"cni-cache-dir", 24},
    RemovedFlag{"cni-conf-dir", 24},
    RemovedFlag{"container-runtime", 27},
    RemovedFlag{"docker-endpoint", 24},
    RemovedFlag{"experimental-dockershim-root-directory", 24},
    RemovedFlag{"image-pull-progress-deadline", 24},
    RemovedFlag{"log-backtrace-at", 26},
    RemovedFlag{"log-dir", 26},
    RemovedFlag{"log-file", 26},
    RemovedFlag{"log-file-max-size", 26},
    RemovedFlag{"logtostderr", 26},
    RemovedFlag{"network-plugin", 24},
    RemovedFlag{"network-plugin-mtu", 24},
    RemovedFlag{"one-output", 26},
    RemovedFlag{"pod-infra-container-image", 35},
    RemovedFlag{"skip-headers", 26},
    RemovedFlag{"skip-log-headers", 26},
    RemovedFlag{"stderrthreshold", 26},
};

/// Booleans of kubelets since 1.4 and of the libraries whose flags they have (klog, cAdvisor),
/// without effect on decisions. Source: cmd/kubelet/app/options.
constexpr std::array<std::string_view, 57> kOtherBooleans = {
    "add-dir-header",
    "allow-privileged",
    "alsologtostderr",
    "anonymous-auth",
    "authentication-token-webhook",
    "babysit-daemons",
    "configure-cbr0",
    "containerized",
    "contention-profiling",
    "docker-disable-shared-pid",
    "docker-only",
    "docker-tls",
    "enable-cadvisor-json-endpoints",
    "enable-controller-attach-detach",
    "enable-cri",
    "enable-custom-metrics",
    "enable-debugging-handlers",
    "enable-load-reader",
    "enable-server",
    "enable-tracing",
    "exit-on-lock-contention",
    "experimental-cgroups-per-qos",
    "experimental-check-node-capabilities-before-mount",
    "experimental-dockershim",
    "experimental-fail-swap-on",
    "experimental-flannel-overlay",
    "experimental-kernel-memcg-notification",
    "experimental-logging-sanitization",
    "fail-swap-on",
    "help",
    "keep-terminated-pod-volumes",
    "kernel-memcg-notification",
    "local-storage-capacity-isolation",
    "log-cadvisor-usage",
    "log-json-split-stream",
    "log-text-split-stream",
    "logtostderr",
    "make-iptables-util-chains",
    "one-output",
    "profiling",
    "protect-kernel-defaults",
    "really-crash-for-testing",
    "reconcile-cidr",
    "redirect-container-streaming",
    "register-node",
    "register-schedulable",
    "require-kubeconfig",
    "rotate-certificates",
    "rotate-server-certificates",
    "runonce",
    "seccomp-default",
    "serialize-image-pulls",
    "skip-headers",
    "skip-log-headers",
    "storage-driver-secure",
    "version",
    "windows-service",
};

/// The same for flags with other values.
constexpr std::array<std::string_view, 154> kOtherFlags = {
    "address",
    "allowed-unsafe-sysctls",
    "api-servers",
    "application-metrics-count-limit",
    "auth-path",
    "authentication-token-webhook-cache-ttl",
    "authorization-mode",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "azure-container-registry-config",
    "boot-id-file",
    "bootstrap-checkpoint-path",
    "bootstrap-kubeconfig",
    "cadvisor-port",
    "cert-dir",
    "chaos-chance",
    "client-ca-file",
    "cloud-config",
    "cloud-provider",
    "cloud-provider-gce-l7lb-src-cidrs",
    "cloud-provider-gce-lb-src-cidrs",
    "cluster-dns",
    "cluster-domain",
    "cni-bin-dir",
    "cni-cache-dir",
    "cni-conf-dir",
    "config",
    "config-dir",
    "container-hints",
    "container-log-max-files",
    "container-log-max-size",
    "container-runtime",
    "container-runtime-endpoint",
    "containerd",
    "containerd-namespace",
    "cpu-manager-reconcile-period",
    "default-not-ready-toleration-seconds",
    "docker",
    "docker-endpoint",
    "docker-env-metadata-whitelist",
    "docker-exec-handler",
    "docker-root",
    "docker-tls-ca",
    "docker-tls-cert",
    "docker-tls-key",
    "dynamic-config-dir",
    "event-burst",
    "event-qps",
    "event-storage-age-limit",
    "event-storage-event-limit",
    "eviction-pressure-transition-period",
    "experimental-allowed-unsafe-sysctls",
    "experimental-bootstrap-kubeconfig",
    "experimental-dockershim-root-directory",
    "experimental-mounter-path",
    "experimental-nvidia-gpus",
    "experimental-qos-reserved",
    "file-check-frequency",
    "global-housekeeping-interval",
    "google-json-key",
    "hairpin-mode",
    "healthz-bind-address",
    "healthz-port",
    "host-ipc-sources",
    "host-network-sources",
    "host-pid-sources",
    "hostname-override",
    "housekeeping-interval",
    "http-check-frequency",
    "image-credential-provider-bin-dir",
    "image-credential-provider-config",
    "image-pull-progress-deadline",
    "image-service-endpoint",
    "init-config-dir",
    "iptables-drop-bit",
    "iptables-masquerade-bit",
    "kube-api-burst",
    "kube-api-content-type",
    "kube-api-qps",
    "kubeconfig",
    "kubelet-cgroups",
    "lock-file",
    "log-backtrace-at",
    "log-dir",
    "log-file",
    "log-file-max-size",
    "log-flush-frequency",
    "log-json-info-buffer-size",
    "log-text-info-buffer-size",
    "logging-format",
    "low-diskspace-threshold-mb",
    "machine-id-file",
    "manifest-url",
    "manifest-url-header",
    "master-service-namespace",
    "max-housekeeping-interval",
    "max-open-files",
    "maximum-dead-containers",
    "maximum-dead-containers-per-container",
    "minimum-container-ttl-duration",
    "minimum-image-ttl-duration",
    "network-plugin",
    "network-plugin-dir",
    "network-plugin-mtu",
    "node-ip",
    "node-labels",
    "node-status-max-images",
    "node-status-update-frequency",
    "non-masquerade-cidr",
    "oom-score-adj",
    "outofdisk-transition-frequency",
    "pod-cidr",
    "pod-infra-container-image",
    "pod-manifest-path",
    "pod-max-pids",
    "port",
    "provider-id",
    "qos-reserved",
    "raw-cgroup-prefix-whitelist",
    "read-only-port",
    "referenced-reset-interval",
    "register-with-taints",
    "registry-burst",
    "registry-qps",
    "resolv-conf",
    "resource-container",
    "rkt-api-endpoint",
    "rkt-path",
    "rkt-stage1-image",
    "root-dir",
    "runtime-cgroups",
    "runtime-request-timeout",
    "seccomp-profile-root",
    "stderrthreshold",
    "storage-driver-buffer-duration",
    "storage-driver-db",
    "storage-driver-host",
    "storage-driver-password",
    "storage-driver-table",
    "storage-driver-user",
    "streaming-connection-idle-timeout",
    "sync-frequency",
    "system-container",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-curve-preferences",
    "tls-min-version",
    "tls-private-key-file",
    "update-machine-info-interval",
    "v",
    "vmodule",
    "volume-plugin-dir",
    "volume-stats-agg-period",
    "windows-priorityclass",
};

/// All of them, by name.
constexpr auto kFlags = [] {
  std::array<KnownFlag, kDecisiveFlags.size() + kOtherBooleans.size() + kOtherFlags.size()> all{};
  auto* next = std::copy(kDecisiveFlags.begin(), kDecisiveFlags.end(), all.begin());
  for (const auto name : kOtherBooleans) *next++ = {name, FlagForm::kBoolean};
  for (const auto name : kOtherFlags) *next++ = {name, FlagForm::kText};
  std::sort(all.begin(), all.end(),
            [](const KnownFlag& a, const KnownFlag& b) { return a.name < b.name; });
  return all;
}();

}  // namespace

const KnownFlag* find_flag(std::string_view name) {
  if (!name.starts_with("--")) return nullptr;
  const auto* const found =
      std::lower_bound(kFlags.begin(), kFlags.end(), name.substr(2),
                       [](const KnownFlag& flag, std::string_view key) { return flag.name < key; });
  return found != kFlags.end() && found->name == name.substr(2) ? found : nullptr;
}

const KnownFlag* flag_of_field(std::string_view field) {
  const auto* const found =
      std::find_if(kDecisiveFlags.begin(), kDecisiveFlags.end(),
                   [&](const KnownFlag& flag) { return flag.field == field; });
  return found == kDecisiveFlags.end() ? nullptr : found;
}

std::optional<int> removal_of(std::string_view name) {
  if (!name.starts_with("--")) return std::nullopt;
  const auto* const found =
      std::find_if(kRemoved.begin(), kRemoved.end(),
                   [&](const RemovedFlag& flag) { return flag.name == name.substr(2); });
  return found == kRemoved.end() ? std::nullopt : std::optional(found->minor);
}

bool is_repeatable(FlagForm form) {
  return form != FlagForm::kText && form != FlagForm::kName && form != FlagForm::kBoolean &&
         form != FlagForm::kNumber;
}

std::vector<std::string> flag_names() {
  std::vector<std::string> names;
  names.reserve(kFlags.size());
  for (const KnownFlag& flag : kFlags) names.push_back("--" + std::string(flag.name));
  return names;
}

}  // namespace pinfold
