#include "config_forms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "flag_table.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/words.hpp"
#include "schema.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

constexpr std::string_view kAskConfigz =
    "other settings are added to these; the complete configuration: kubectl get --raw "
    "/api/v1/nodes/NAME/proxy/configz";
constexpr std::string_view kGkeAdds =
    "GKE adds its own settings, kubeReserved among them; the complete configuration: kubectl get "
    "--raw /api/v1/nodes/NAME/proxy/configz";
constexpr std::array kWrappers = {
    ConfigWrapper{
        "KubeletConfig", "machineconfiguration.openshift.io", "spec.kubeletConfig", "",
        "OpenShift adds its own settings, systemReserved as a flag among them; the complete "
        "configuration: kubectl get --raw /api/v1/nodes/NAME/proxy/configz"},
    ConfigWrapper{"InitConfiguration", "kubeadm.k8s.io", "", "nodeRegistration.kubeletExtraArgs",
                  ""},
    ConfigWrapper{"JoinConfiguration", "kubeadm.k8s.io", "", "nodeRegistration.kubeletExtraArgs",
                  ""},
    ConfigWrapper{
        "NodeConfig", "node.eks.aws", "spec.kubelet.config", "spec.kubelet.flags",
        "nodeadm adds its own settings: on the node, '/etc/kubernetes/kubelet/config.json' has "
        "the rest, and since Kubernetes 1.29 '/etc/kubernetes/kubelet/config.json.d' has these; "
        "the complete configuration: kubectl get --raw /api/v1/nodes/NAME/proxy/configz"},
    ConfigWrapper{"RKE2ConfigTemplate", "bootstrap.cluster.x-k8s.io", "",
                  "spec.template.spec.agentConfig.kubelet.extraArgs", kAskConfigz},
    ConfigWrapper{"RKE2ControlPlane", "controlplane.cluster.x-k8s.io", "",
                  "spec.agentConfig.kubelet.extraArgs", kAskConfigz},
    ConfigWrapper{"KubeadmConfig", "bootstrap.cluster.x-k8s.io", "",
                  "spec.joinConfiguration.nodeRegistration.kubeletExtraArgs", kAskConfigz},
    ConfigWrapper{"KubeadmConfigTemplate", "bootstrap.cluster.x-k8s.io", "",
                  "spec.template.spec.joinConfiguration.nodeRegistration.kubeletExtraArgs",
                  kAskConfigz},
    ConfigWrapper{"KubeadmControlPlane", "controlplane.cluster.x-k8s.io", "",
                  "spec.kubeadmConfigSpec.initConfiguration.nodeRegistration.kubeletExtraArgs",
                  kAskConfigz},
    ConfigWrapper{"ConfigMap", "", "data.kubelet", "", ""},               // kubeadm
    ConfigWrapper{"ConfigMap", "", "data.kubeletConfiguration", "", ""},  // k0s
    ConfigWrapper{"EC2NodeClass", "karpenter.k8s.aws", "spec.kubelet", "", kAskConfigz},
    ConfigWrapper{"AKSNodeClass", "karpenter.azure.com", "spec.kubelet", "", kAskConfigz},
    ConfigWrapper{"NodePool", "karpenter.sh", "spec.template.spec.kubelet", "", kAskConfigz},
    ConfigWrapper{"Provisioner", "karpenter.sh", "spec.kubeletConfiguration", "", kAskConfigz},
    ConfigWrapper{"ClusterConfig", "k0s.k0sproject.io", "spec.workerProfiles.values", "",
                  kAskConfigz},
    ConfigWrapper{"ClusterConfig", "eksctl.io", "nodeGroups.kubeletExtraConfig", "", kAskConfigz},
    ConfigWrapper{"ClusterConfig", "eksctl.io", "managedNodeGroups.kubeletExtraConfig", "",
                  kAskConfigz},
    ConfigWrapper{"Cluster", kKops, "", "spec.kubelet", kAskConfigz},
    ConfigWrapper{"InstanceGroup", kKops, "", "spec.kubelet", kAskConfigz},
    ConfigWrapper{"", "", "kubeletconfig", "", ""},  // /configz
    ConfigWrapper{"", "", "spec.config", "", "", "metadata.type=KubeletSpecs.kubernetes.talos.dev"},
    ConfigWrapper{
        "", "", "spec.extraConfig", "spec.extraArgs",
        "Talos adds its own settings: 'talosctl read /etc/kubernetes/kubelet.yaml' prints the "
        "complete configuration",
        "metadata.type=KubeletConfigs.kubernetes.talos.dev"},
    ConfigWrapper{"", "", "kubeletConfig", "",
                  "AKS adds its own settings, kubeReserved among them; the complete configuration: "
                  "kubectl get --raw /api/v1/nodes/NAME/proxy/configz",
                  "agentPoolType"},
    ConfigWrapper{"", "", "kubeletConfig", "",  // GKE's --system-config-from-file
                  kGkeAdds},
    ConfigWrapper{"", "", "config.kubeletConfig", "",  // gcloud container node-pools describe
                  kGkeAdds},
    ConfigWrapper{
        "", "", "machine.kubelet.extraConfig", "machine.kubelet.extraArgs",
        "Talos adds its own settings: 'talosctl read /etc/kubernetes/kubelet.yaml' prints the "
        "complete configuration"},
    ConfigWrapper{"", "", "kubelet", "",
                  "MicroShift adds its own settings: '/var/lib/microshift/resources/kubelet/config/"
                  "config.yaml' on the node is complete"},
    ConfigWrapper{"", "", "", "services.kubelet.extra_args", ""},  // RKE
};

constexpr std::string_view kAskTalos =
    "pass the output of: talosctl read /etc/kubernetes/kubelet.yaml";
/// Documents that a kubelet's configuration is generated from, with advice on what to pass instead.
struct Elsewhere {
  std::string_view kind;
  std::string_view advice;
};
constexpr std::array kElsewhere = {
    Elsewhere{"ClusterConfiguration",
              "pass kubeadm's document KubeletConfiguration: kubectl -n kube-system get configmap "
              "kubelet-config -o yaml"},
    Elsewhere{"InitConfiguration",
              "it has no nodeRegistration.kubeletExtraArgs: pass the document "
              "KubeletConfiguration or '/var/lib/kubelet/config.yaml'"},
    Elsewhere{"JoinConfiguration",
              "it has no nodeRegistration.kubeletExtraArgs: pass the document "
              "KubeletConfiguration or '/var/lib/kubelet/config.yaml'"},
    Elsewhere{"Config",
              "it is a kubeconfig, the kubelet's access to the API server: pass the kubelet's "
              "configuration, '/var/lib/kubelet/config.yaml' with kubeadm"},
    Elsewhere{"KubeletConfig",
              "it has no spec.kubeletConfig: pass '/etc/kubernetes/kubelet.conf' "
              "from the node"},
    Elsewhere{"ConfigMap",
              "it has no configuration of a kubelet among its data: pass the output of: "
              "kubectl get --raw /api/v1/nodes/NAME/proxy/configz"},
    Elsewhere{"MachineConfigPool", "pass '/etc/kubernetes/kubelet.conf' from the node"},
    Elsewhere{"PerformanceProfile",
              "pass the KubeletConfig that the operator generates from it: oc get kubeletconfig "
              "performance-NAME -o yaml"},
    Elsewhere{"MachineConfig", "pass '/etc/kubernetes/kubelet.conf' from the node"},
    Elsewhere{"Node", kAskNode},
    Elsewhere{"Cluster", kAskNode},        // kops without spec.kubelet, kind, Rancher
    Elsewhere{"ClusterConfig", kAskNode},  // k0s and eksctl, if not of one kind of nodes
    Elsewhere{"InstanceGroup", kAskNode},  // kops, without spec.kubelet
    Elsewhere{"KubeadmConfig", kAskNode},  // Cluster API, without flags
    Elsewhere{"KubeadmConfigTemplate", kAskNode},
    Elsewhere{"KubeadmControlPlane", kAskNode},
    Elsewhere{"NodeConfig", kAskNode},  // nodeadm, without a kubelet
    Elsewhere{"NodePool", kAskNode},    // Karpenter, without a kubelet
    Elsewhere{"Shoot", kAskNode},       // Gardener
    Elsewhere{"OperatingSystemConfig", kAskNode},
    Elsewhere{"ServerClass", kAskTalos},  // Sidero
};

/// The same for documents without a kind, by a path that they have.
struct ElsewhereAt {
  std::string_view path;
  const char* advice;
};
constexpr std::array kElsewhereAt = {
    ElsewhereAt{"kubernetes.kubelet",
                "a part of a Gardener Shoot: expected a KubeletConfiguration: pass the output of: "
                "kubectl get --raw /api/v1/nodes/NAME/proxy/configz"},
    ElsewhereAt{"settings.kubernetes", kBottlerocket},  // apiclient has this and the next
    ElsewhereAt{"kubernetes", kBottlerocket},
    ElsewhereAt{"services.kubelet",
                "a cluster.yml of RKE without services.kubelet.extra_args: expected a "
                "KubeletConfiguration: pass the output of 'docker inspect kubelet' from the node"},
    ElsewhereAt{"agentPoolType",
                "a node pool of AKS whose kubeletConfig is null, so it has the settings of AKS: "
                "expected a KubeletConfiguration: pass the output of: kubectl get --raw "
                "/api/v1/nodes/NAME/proxy/configz"},
    ElsewhereAt{"talosVersion",
                "a talconfig.yaml of talhelper: expected a KubeletConfiguration: pass the output "
                "of: talosctl read /etc/kubernetes/kubelet.yaml"},
    ElsewhereAt{"nodeInfo",
                "the status of a Node: expected a KubeletConfiguration: pass the output of: "
                "kubectl get --raw /api/v1/nodes/NAME/proxy/configz"},
    ElsewhereAt{"machine.kubelet",
                "a Talos machine configuration without extraConfig and extraArgs: expected a "
                "KubeletConfiguration: pass the output of: talosctl read "
                "/etc/kubernetes/kubelet.yaml"},
    ElsewhereAt{"machine.type",
                "a Talos machine configuration without machine.kubelet: expected a "
                "KubeletConfiguration: pass the output of: talosctl read "
                "/etc/kubernetes/kubelet.yaml"},
    ElsewhereAt{"scheme_version",
                "a Harvester configuration: expected a KubeletConfiguration: --config with the "
                "root of the node, '/', reads '/etc/rancher/rke2/config.yaml.d'"},
    ElsewhereAt{"kubelet",
                "'kubelet' alone does not identify this file: expected a KubeletConfiguration: "
                "pass what is below 'kubelet' as a file of its own, or MicroShift's whole "
                "'/etc/microshift/config.yaml', which has keys such as 'node' and 'network' too"},
    ElsewhereAt{"ignition", "an Ignition configuration: expected a KubeletConfiguration: pass "},
    ElsewhereAt{"variant", "a Butane configuration: expected a KubeletConfiguration: pass "},
    ElsewhereAt{"write_files", "user data of cloud-init: expected a KubeletConfiguration: pass "},
};

/// Other keys of MicroShift's configuration. One of them distinguishes it from other files with the
/// key "kubelet". Source: microshift, pkg/config/config.go.
constexpr std::array<std::string_view, 11> kMicroShiftKeys = {
    "apiServer", "debugging", "dns",     "etcd",     "genericDevicePlugin", "ingress", "manifests",
    "network",   "node",      "storage", "telemetry"};

/// Keys of k3s and RKE2 that no other file has at its top level.
constexpr std::array<std::string_view, 16> kRancherKeys = {
    "agent-token", "cluster-cidr", "cluster-init",    "cni",
    "data-dir",    "disable",      "flannel-backend", "kube-apiserver-arg",
    "kubelet-arg", "kubelet-arg+", "node-ip",         "node-label",
    "node-name",   "node-taint",   "tls-san",         "write-kubeconfig-mode"};

/// An element of a list on the way to a path.
struct Element {
  std::string name;             ///< the element's own, or its index
  const json* value = nullptr;  ///< at the path; nullptr: the element has no such part
};

/// Returns the elements of the lists on a path, and the value of each; one without a name for a
/// path without lists. Domain: a path through at most one list.
std::vector<Element> elements_at(const json& document, std::string_view path) {
  const json* value = &document;
  while (value != nullptr && !path.empty() && !value->is_array()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = value->is_object() ? member(*value, path.substr(0, dot)) : nullptr;
    path.remove_prefix(std::min(path.size(), dot + 1));
  }
  if (value == nullptr) return {};
  if (path.empty() || !value->is_array()) return {{"", value}};
  std::vector<Element> elements;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const json& one = (*value)[i];
    const json* const name = one.is_object() ? member(one, "name") : nullptr;
    elements.push_back(
        {name == nullptr ? fmt::format("[{}]", i) : printable(text_of(*name)), at_path(one, path)});
  }
  return elements;
}

bool has_any_key(const json& document, std::span<const std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return document.contains(std::string(key)); });
}

bool is_of_kind(const json& document, const ConfigWrapper& wrapper) {
  if (kind_of(document) != wrapper.kind) return false;
  const json* const version = member(document, "apiVersion");
  return wrapper.group.empty() ||
         (version != nullptr && text_of(*version).starts_with(wrapper.group));
}

/// Returns whether a document has "PATH" or "PATH=VALUE".
bool has_mark(const json& document, std::string_view mark) {
  const std::size_t equals = std::min(mark.find('='), mark.size());
  const json* const value = at_path(document, mark.substr(0, equals));
  return value != nullptr && (equals == mark.size() || text_of(*value) == mark.substr(equals + 1));
}

bool is_wrapped(const json& document, const ConfigWrapper& wrapper) {
  if (!is_of_kind(document, wrapper)) return false;
  if (!wrapper.mark.empty() && !has_mark(document, wrapper.mark)) return false;
  if (wrapper.config == "kubelet" && !has_any_key(document, kMicroShiftKeys)) return false;
  return (!wrapper.config.empty() && at_path(document, wrapper.config) != nullptr) ||
         (!wrapper.arguments.empty() && at_path(document, wrapper.arguments) != nullptr);
}

const ElsewhereAt* find_elsewhere(const json& document) {
  if (!document.is_object() || !kind_of(document).empty()) return nullptr;
  const auto* const found =
      std::find_if(kElsewhereAt.begin(), kElsewhereAt.end(),
                   [&](const ElsewhereAt& one) { return at_path(document, one.path) != nullptr; });
  return found == kElsewhereAt.end() ? nullptr : found;
}

/// Returns "the contents of 'PATH'" for the files of Ignition, Butane or cloud-init whose paths
/// name a kubelet.
std::string kubelet_files(const json& document) {
  std::vector<std::string> paths;
  const json* files = at_path(document, "storage.files");
  if (files == nullptr) files = at_path(document, "write_files");
  for (const json& file : files != nullptr && files->is_array() ? *files : json::array()) {
    const json* const path = file.is_object() ? member(file, "path") : nullptr;
    if (path == nullptr || text_of(*path).find("kubelet") == std::string::npos) continue;
    paths.push_back(fmt::format("'{}'", printable(text_of(*path))));
  }
  return paths.empty() ? "the kubelet's configuration from the node"
                       : fmt::format("the contents of {}", fmt::join(paths, " or "));
}

/// True for the variables of Ansible, such as "kubelet_cpu_manager_policy". No field has an
/// underscore.
bool has_variables(const json& document) {
  const auto items = document.items();
  return std::any_of(items.begin(), items.end(),
                     [](const auto& item) { return item.key().find('_') != std::string::npos; });
}

/// Names of AKS' --kubelet-config, with the kubelet's names.
constexpr std::array<std::pair<const char*, const char*>, 7> kAksFields = {{
    {"containerLogMaxSizeMB", ""},
    {"containerLogMaxSizeMb", ""},
    {"cpuCfsQuota", "cpuCFSQuota"},
    {"cpuCfsQuotaPeriod", "cpuCFSQuotaPeriod"},
    {"imageGcHighThreshold", "imageGCHighThresholdPercent"},
    {"imageGcLowThreshold", "imageGCLowThresholdPercent"},
    {"podMaxPids", "podPidsLimit"},
}};

/// Fields of a kubelet that other programs' files have, too.
constexpr std::array<std::string_view, 26> kSharedFields = {
    "address",       "apiVersion",    "authentication",
    "authorization", "clusterDNS",    "clusterDomain",
    "contentType",   "featureGates",  "healthzBindAddress",
    "healthzPort",   "kind",          "logging",
    "maxOpenFiles",  "maxPods",       "podCIDR",
    "port",          "providerID",    "resolvConf",
    "runOnce",       "syncFrequency", "systemCgroups",
    "tlsCertFile",   "tlsMinVersion", "tlsPrivateKeyFile",
    "tracing",       "userNamespaces"};

bool is_shared(std::string_view field) {
  return std::find(kSharedFields.begin(), kSharedFields.end(), field) != kSharedFields.end();
}

/// Fields that only a kubelet's configuration has.
std::vector<Field> own_fields() {
  std::vector<Field> own;
  std::copy_if(kKubeletFields.begin(), kKubeletFields.end(), std::back_inserter(own),
               [](const Field& field) { return !is_shared(field.name); });
  return own;
}

}  // namespace

const json* at_path(const json& document, std::string_view path) {
  const json* value = &document;
  while (value != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    if (value->is_array() && value->size() == 1) value = &value->front();
    value = value->is_object() ? member(*value, path.substr(0, dot)) : nullptr;
    path.remove_prefix(std::min(path.size(), dot + 1));
  }
  return value;
}

KubeletFlags flags_of_json(const json& value) {
  std::vector<std::string> arguments;
  if (value.is_string()) arguments.push_back(value.get<std::string>());
  if (value.is_object()) {
    for (const auto& [name, one] : value.items()) {
      for (const json& item : one.is_array() ? one : json::array({one})) {
        arguments.push_back(fmt::format("{}={}", name, text_of(item)));
      }
    }
  }
  for (const json& one : value.is_array() ? value : json::array()) {
    const json* const name = one.is_object() ? member(one, "name") : nullptr;
    const json* const of_name = one.is_object() ? member(one, "value") : nullptr;
    if (one.is_string()) arguments.push_back(one.get<std::string>());
    if (name != nullptr && of_name != nullptr) {
      arguments.push_back(fmt::format("{}={}", text_of(*name), text_of(*of_name)));
    }
  }
  return flags_of_args(arguments);
}

KubeletFlags flags_of_fields(const json& fields) {
  std::vector<std::string> arguments;
  for (const auto& [field, value] : fields.items()) {
    const KnownFlag* const flag = flag_of_field(field);
    if (flag == nullptr) continue;
    if (!value.is_object()) {
      arguments.push_back(fmt::format("{}={}", flag->name, text_of(value)));
      continue;
    }
    for (const auto& [name, one] : value.items()) {
      arguments.push_back(fmt::format("{}={}={}", flag->name, name, text_of(one)));
    }
  }
  return flags_of_args(arguments);
}

std::string kind_of(const json& document) {
  const json* const kind = document.is_object() ? member(document, "kind") : nullptr;
  return kind != nullptr && kind->is_string() ? kind->get<std::string>() : "";
}

std::vector<std::string> groups_of(const json& document) {
  std::vector<std::string> groups;
  bool has_any = false;
  for (const ConfigWrapper& wrapper : kWrappers) {
    if (wrapper.kind.empty() || wrapper.config.empty() || !is_of_kind(document, wrapper)) continue;
    for (const Element& one : elements_at(document, wrapper.config)) {
      if (!one.name.empty()) groups.push_back(fmt::format("'{}'", one.name));
      has_any = has_any || (one.value != nullptr && !one.name.empty());
    }
  }
  return has_any && groups.size() > 1 ? groups : std::vector<std::string>{};
}

bool is_patch(const json& document) {
  return document.is_array() && !document.empty() && document.front().is_object() &&
         document.front().contains("op") && document.front().contains("path");
}

std::optional<std::vector<std::string>> inspected_kubelet(const json& document) {
  const bool has_one = document.is_array() && document.size() == 1 && document.front().is_object();
  const json* const arguments = has_one ? member(document.front(), "Args") : nullptr;
  if (arguments == nullptr || !arguments->is_array()) return std::nullopt;
  std::vector<std::string> words;
  if (const json* const path = member(document.front(), "Path")) words.push_back(text_of(*path));
  for (const json& one : *arguments) words.push_back(text_of(one));
  const auto program = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return base_name(word) == "kubelet";
  });
  if (program == words.end()) return std::nullopt;
  words.erase(words.begin(), program + 1);
  return words;
}

std::optional<std::vector<std::string>> listed_command(const json& document) {
  if (!document.is_array() || document.empty()) return std::nullopt;
  std::vector<std::string> words;
  for (const json& one : document) {
    if (!one.is_string()) return std::nullopt;
    words.push_back(one.get<std::string>());
  }
  if (base_name(words.front()) == "kubelet") words.erase(words.begin());
  const bool is_of_flags = !words.empty() && words.front().starts_with("--");
  return is_of_flags ? std::optional(std::move(words)) : std::nullopt;
}

std::string kubelet_variables(const json& document) {
  std::string lines;
  if (!document.is_object() || !kind_of(document).empty()) return lines;
  for (const auto& [name, value] : document.items()) {
    const bool is_of_flags = is_flags_variable(name) && value.is_string();
    if (is_of_flags) lines += fmt::format("{}={}\n", name, shell_word(value.get<std::string>()));
  }
  return lines;
}

std::vector<TextPart> texts_of(const json& document) {
  std::vector<TextPart> texts;
  if (!document.is_object()) return texts;
  const std::string kind = kind_of(document);
  const auto add = [&](std::string path, const json* value) {
    if (value != nullptr && value->is_string()) {
      texts.push_back({std::move(path), value->get<std::string>()});
    }
  };
  if (kind == "EC2NodeClass") add("spec.userData", at_path(document, "spec.userData"));
  if (has_mark(document, "metadata.type=MachineConfigs.config.talos.dev")) {
    add("spec", member(document, "spec"));
  }
  const json* const data = kind == "ConfigMap" ? member(document, "data") : nullptr;
  if (data == nullptr || !data->is_object()) return texts;
  for (const auto& [key, value] : data->items()) {
    if (value.is_string() && value.get<std::string>().find("kind:") != std::string::npos) {
      add("data." + key, &value);
    }
  }
  return texts;
}

void rename_gke_fields(json& config) {
  if (!config.is_object()) return;
  constexpr std::array<std::array<const char*, 3>, 3> kRenamed = {{
      {"memoryManager", "policy", "memoryManagerPolicy"},
      {"topologyManager", "policy", "topologyManagerPolicy"},
      {"topologyManager", "scope", "topologyManagerScope"},
  }};
  for (const auto& [object, name, field] : kRenamed) {
    const auto found = config.find(object);
    if (found == config.end() || !found->is_object()) continue;
    if (const json* const value = member(*found, name)) config[field] = *value;
  }
  config.erase("memoryManager");
  config.erase("topologyManager");
}

bool is_aks(const json& document) {
  return document.is_object() && kind_of(document).empty() &&
         std::any_of(kAksFields.begin(), kAksFields.end(),
                     [&](const auto& one) { return document.contains(one.first); });
}

json rename_aks_fields(json config) {
  for (const auto& [name, field] : kAksFields) {
    const auto found = config.find(name);
    if (found == config.end()) continue;
    if (*field != '\0') config[field] = *found;
    config.erase(name);
  }
  return config;
}

bool is_configuration(const json& document) {
  const std::string kind = kind_of(document);
  if (!document.is_object() || document.empty()) return true;  // its reader explains what is wrong
  if (!kind.empty()) return kind == kConfigKind;
  std::size_t known = 0;
  for (const Field& field : kKubeletFields) {
    if (!document.contains(std::string(field.name))) continue;
    if (!is_shared(field.name)) return true;
    ++known;
  }
  if (2 * known > document.size()) return true;
  return has_similar_field(document, own_fields()) && !has_variables(document);
}

const ConfigWrapper* find_wrapper(const json& document) {
  const auto* const found =
      std::find_if(kWrappers.begin(), kWrappers.end(),
                   [&](const ConfigWrapper& wrapper) { return is_wrapped(document, wrapper); });
  return found == kWrappers.end() ? nullptr : found;
}

bool is_elsewhere(const json& document) { return find_elsewhere(document) != nullptr; }

bool is_rancher(const json& document) {
  return kind_of(document).empty() && has_any_key(document, kRancherKeys);
}

tl::unexpected<Error> explain_other(const json& document) {
  const std::string kind = kind_of(document);
  if (const ElsewhereAt* const at = find_elsewhere(document)) {
    const bool has_files = std::string_view(at->advice).ends_with(' ');
    return invalid(at->advice + (has_files ? kubelet_files(document) : ""));
  }
  const auto* const elsewhere = std::find_if(
      kElsewhere.begin(), kElsewhere.end(), [&](const Elsewhere& one) { return one.kind == kind; });
  if (elsewhere != kElsewhere.end()) {
    return fail_field("kind", kind,
                      fmt::format("expected '{}': {}", kConfigKind, elsewhere->advice));
  }
  if (!kind.empty()) {
    return fail_field("kind", kind, fmt::format("expected '{}': {}", kConfigKind, kAskNode));
  }
  const auto items = document.items();
  if (std::any_of(items.begin(), items.end(),
                  [](const auto& item) { return item.key().starts_with("kube"); }) &&
      has_variables(document)) {
    return invalid(
        fmt::format("variables of Ansible: expected a {}: pass the kubelet's configuration from "
                    "the node, of kubespray '/etc/kubernetes/kubelet-config.yaml'",
                    kConfigKind));
  }
  std::vector<std::string> names;
  constexpr std::size_t kMost = 5;
  for (const auto& [name, value] : document.items()) {
    if (names.size() < kMost) names.push_back(fmt::format("'{}'", printable(name)));
  }
  return invalid(fmt::format("not a {}: the document has none of its own fields, only {}: {}",
                             kConfigKind, fmt::join(names, ", "), kAskNode));
}

}  // namespace pinfold
