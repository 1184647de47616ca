#include <array>

#include "schema.hpp"

namespace pinfold {
namespace {

/// ObjectMeta.
constexpr std::array<Field, 15> kMetadata = {{
    {"name", FieldType::kText},
    {"generateName", FieldType::kText},
    {"namespace", FieldType::kText},
    {"selfLink", FieldType::kText},
    {"uid", FieldType::kText},
    {"resourceVersion", FieldType::kText},
    {"creationTimestamp", FieldType::kText},
    {"deletionTimestamp", FieldType::kText},
    {"generation", FieldType::kInt64},
    {"deletionGracePeriodSeconds", FieldType::kInt64},
    {"labels", FieldType::kTextMap},
    {"annotations", FieldType::kTextMap},
    {"ownerReferences", FieldType::kList},
    {"finalizers", FieldType::kTextList},
    {"managedFields", FieldType::kList},
}};

constexpr std::array<Field, 3> kResources = {{
    {"limits", FieldType::kQuantityMap},
    {"requests", FieldType::kQuantityMap},
    {"claims", FieldType::kList},
}};

constexpr std::array<Field, 3> kEnv = {{
    {"name", FieldType::kText},
    {"value", FieldType::kText},
    {"valueFrom", FieldType::kObject},
}};

constexpr std::array<Field, 25> kContainer = {{
    {"name", FieldType::kText},
    {"image", FieldType::kText},
    {"command", FieldType::kTextList},
    {"args", FieldType::kTextList},
    {"workingDir", FieldType::kText},
    {"ports", FieldType::kList},
    {"envFrom", FieldType::kList},
    {"env", FieldType::kList, kEnv},
    {"resources", FieldType::kObject, kResources},
    {"resizePolicy", FieldType::kList},
    {"restartPolicy", FieldType::kText},
    {"restartPolicyRules", FieldType::kList},
    {"volumeMounts", FieldType::kList},
    {"volumeDevices", FieldType::kList},
    {"livenessProbe", FieldType::kObject},
    {"readinessProbe", FieldType::kObject},
    {"startupProbe", FieldType::kObject},
    {"lifecycle", FieldType::kObject},
    {"terminationMessagePath", FieldType::kText},
    {"terminationMessagePolicy", FieldType::kText},
    {"imagePullPolicy", FieldType::kText},
    {"securityContext", FieldType::kObject},
    {"stdin", FieldType::kBool},
    {"stdinOnce", FieldType::kBool},
    {"tty", FieldType::kBool},
}};

constexpr std::array<Field, 43> kSpec = {{
    {"volumes", FieldType::kList},
    {"initContainers", FieldType::kList, kContainer},
    {"containers", FieldType::kList, kContainer},
    {"ephemeralContainers", FieldType::kList},
    {"restartPolicy", FieldType::kText},
    {"terminationGracePeriodSeconds", FieldType::kInt64},
    {"activeDeadlineSeconds", FieldType::kInt64},
    {"dnsPolicy", FieldType::kText},
    {"nodeSelector", FieldType::kTextMap},
    {"serviceAccountName", FieldType::kText},
    {"serviceAccount", FieldType::kText},
    {"automountServiceAccountToken", FieldType::kBool},
    {"nodeName", FieldType::kText},
    {"hostNetwork", FieldType::kBool},
    {"hostPID", FieldType::kBool},
    {"hostIPC", FieldType::kBool},
    {"shareProcessNamespace", FieldType::kBool},
    {"securityContext", FieldType::kObject},
    {"imagePullSecrets", FieldType::kList},
    {"hostname", FieldType::kText},
    {"subdomain", FieldType::kText},
    {"affinity", FieldType::kObject},
    {"schedulerName", FieldType::kText},
    {"tolerations", FieldType::kList},
    {"hostAliases", FieldType::kList},
    {"priorityClassName", FieldType::kText},
    {"priority", FieldType::kInt32},
    {"dnsConfig", FieldType::kObject},
    {"readinessGates", FieldType::kList},
    {"runtimeClassName", FieldType::kText},
    {"enableServiceLinks", FieldType::kBool},
    {"preemptionPolicy", FieldType::kText},
    {"overhead", FieldType::kQuantityMap},
    {"topologySpreadConstraints", FieldType::kList},
    {"setHostnameAsFQDN", FieldType::kBool},
    {"os", FieldType::kObject},
    {"hostUsers", FieldType::kBool},
    {"schedulingGates", FieldType::kList},
    {"resourceClaims", FieldType::kList},
    {"resources", FieldType::kObject, kResources},
    {"hostnameOverride", FieldType::kText},
    {"workloadRef", FieldType::kObject},
    {"schedulingGroup", FieldType::kObject},
}};

constexpr std::array<Field, 5> kPod = {{
    {"apiVersion", FieldType::kText},
    {"kind", FieldType::kText},
    {"metadata", FieldType::kObject, kMetadata},
    {"spec", FieldType::kObject, kSpec},
    {"status", FieldType::kObject},
}};

}  // namespace

const Fields kPodFields = kPod;

}  // namespace pinfold
