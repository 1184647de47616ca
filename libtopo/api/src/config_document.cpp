#include "pinfold/api/config_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "added_reservations.hpp"
#include "flag_table.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/words.hpp"
#include "schema.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

constexpr const char* kConfigKind = "KubeletConfiguration";

/// A document that contains a kubelet's configuration. Paths are members separated by dots, through
/// lists of one element; "" if the document has no such part.
struct Wrapper {
  std::string_view kind;       ///< "" for a document without a kind in which one of the paths
                               ///< exists
  std::string_view group;      ///< the API group; "" for any
  std::string_view config;     ///< path of a KubeletConfiguration, possibly as text
  std::string_view arguments;  ///< path of flags without dashes, or of fields that kops makes flags
  std::string_view rest;       ///< advice on where the complete configuration is
  /// "PATH" or "PATH=VALUE" that the document has, too; "" if the paths alone identify it.
  std::string_view mark = {};
};
constexpr std::string_view kAskConfigz =
    "other settings are added to these; the complete configuration: kubectl get --raw "
    "/api/v1/nodes/NAME/proxy/configz";
constexpr std::string_view kKops = "kops.k8s.io";
constexpr std::string_view kGkeAdds =
    "GKE adds its own settings, kubeReserved among them; the complete configuration: kubectl get "
    "--raw /api/v1/nodes/NAME/proxy/configz";
constexpr std::array kWrappers = {
    Wrapper{"KubeletConfig", "machineconfiguration.openshift.io", "spec.kubeletConfig", "",
            "OpenShift adds its own settings, systemReserved as a flag among them; the complete "
            "configuration: kubectl get --raw /api/v1/nodes/NAME/proxy/configz"},
    Wrapper{"InitConfiguration", "kubeadm.k8s.io", "", "nodeRegistration.kubeletExtraArgs", ""},
    Wrapper{"JoinConfiguration", "kubeadm.k8s.io", "", "nodeRegistration.kubeletExtraArgs", ""},
    Wrapper{
        "NodeConfig", "node.eks.aws", "spec.kubelet.config", "spec.kubelet.flags",
        "nodeadm adds its own settings: on the node, '/etc/kubernetes/kubelet/config.json' has "
        "the rest, and since Kubernetes 1.29 '/etc/kubernetes/kubelet/config.json.d' has these; "
        "the complete configuration: kubectl get --raw /api/v1/nodes/NAME/proxy/configz"},
    Wrapper{"RKE2ConfigTemplate", "bootstrap.cluster.x-k8s.io", "",
            "spec.template.spec.agentConfig.kubelet.extraArgs", kAskConfigz},
    Wrapper{"RKE2ControlPlane", "controlplane.cluster.x-k8s.io", "",
            "spec.agentConfig.kubelet.extraArgs", kAskConfigz},
    Wrapper{"KubeadmConfig", "bootstrap.cluster.x-k8s.io", "",
            "spec.joinConfiguration.nodeRegistration.kubeletExtraArgs", kAskConfigz},
    Wrapper{"KubeadmConfigTemplate", "bootstrap.cluster.x-k8s.io", "",
            "spec.template.spec.joinConfiguration.nodeRegistration.kubeletExtraArgs", kAskConfigz},
    Wrapper{"KubeadmControlPlane", "controlplane.cluster.x-k8s.io", "",
            "spec.kubeadmConfigSpec.initConfiguration.nodeRegistration.kubeletExtraArgs",
            kAskConfigz},
    Wrapper{"ConfigMap", "", "data.kubelet", "", ""},               // kubeadm
    Wrapper{"ConfigMap", "", "data.kubeletConfiguration", "", ""},  // k0s
    Wrapper{"EC2NodeClass", "karpenter.k8s.aws", "spec.kubelet", "", kAskConfigz},
    Wrapper{"AKSNodeClass", "karpenter.azure.com", "spec.kubelet", "", kAskConfigz},
    Wrapper{"NodePool", "karpenter.sh", "spec.template.spec.kubelet", "", kAskConfigz},
    Wrapper{"Provisioner", "karpenter.sh", "spec.kubeletConfiguration", "", kAskConfigz},
    Wrapper{"ClusterConfig", "k0s.k0sproject.io", "spec.workerProfiles.values", "", kAskConfigz},
    Wrapper{"ClusterConfig", "eksctl.io", "nodeGroups.kubeletExtraConfig", "", kAskConfigz},
    Wrapper{"ClusterConfig", "eksctl.io", "managedNodeGroups.kubeletExtraConfig", "", kAskConfigz},
    Wrapper{"Cluster", kKops, "", "spec.kubelet", kAskConfigz},
    Wrapper{"InstanceGroup", kKops, "", "spec.kubelet", kAskConfigz},
    Wrapper{"", "", "kubeletconfig", "", ""},  // /configz
    Wrapper{"", "", "spec.config", "", "", "metadata.type=KubeletSpecs.kubernetes.talos.dev"},
    Wrapper{"", "", "spec.extraConfig", "spec.extraArgs",
            "Talos adds its own settings: 'talosctl read /etc/kubernetes/kubelet.yaml' prints the "
            "complete configuration",
            "metadata.type=KubeletConfigs.kubernetes.talos.dev"},
    Wrapper{"", "", "kubeletConfig", "",
            "AKS adds its own settings, kubeReserved among them; the complete configuration: "
            "kubectl get --raw /api/v1/nodes/NAME/proxy/configz",
            "agentPoolType"},
    Wrapper{"", "", "kubeletConfig", "",  // GKE's --system-config-from-file
            kGkeAdds},
    Wrapper{"", "", "config.kubeletConfig", "",  // gcloud container node-pools describe
            kGkeAdds},
    Wrapper{"", "", "machine.kubelet.extraConfig", "machine.kubelet.extraArgs",
            "Talos adds its own settings: 'talosctl read /etc/kubernetes/kubelet.yaml' prints the "
            "complete configuration"},
    Wrapper{"", "", "kubelet", "",
            "MicroShift adds its own settings: '/var/lib/microshift/resources/kubelet/config/"
            "config.yaml' on the node is complete"},
    Wrapper{"", "", "", "services.kubelet.extra_args", ""},  // RKE
};

constexpr std::string_view kAskNode =
    "pass the output of: kubectl get --raw /api/v1/nodes/NAME/proxy/configz";
constexpr std::string_view kPassConfigz =
    "the output of: kubectl get --raw /api/v1/nodes/NAME/proxy/configz";
constexpr std::string_view kAskTalos =
    "pass the output of: talosctl read /etc/kubernetes/kubelet.yaml";
constexpr const char* kBottlerocket =
    "Bottlerocket settings: expected a KubeletConfiguration: pass '/etc/kubernetes/kubelet/config' "
    "from the node";
constexpr std::string_view kBootstrapFlags = "--kubelet-extra-args";

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

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

/// Returns the first line that is neither empty nor a comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
    if (!line.empty() && !line.starts_with('#') && !line.starts_with(';')) return line;
  }
  return {};
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_command_line(std::string_view line) {
  const std::string_view flag = line.substr(std::min(line.find_first_not_of('-'), line.size()));
  const std::size_t dashes = line.size() - flag.size();
  if (dashes == 1 || dashes == 2) return !flag.empty() && is_letter(flag.front());
  const std::string_view program = line.substr(0, line.find_first_of(" \t"));
  constexpr std::array<std::string_view, 5> kPrograms = {"kubelet", "k3s", "rke2", "hyperkube",
                                                         "minikube"};
  return dashes == 0 &&
         std::find(kPrograms.begin(), kPrograms.end(), base_name(program)) != kPrograms.end();
}

/// True for NAME=..., with or without "export".
bool is_assignment(std::string_view line) {
  if (line.starts_with("export ")) line = trimmed(line.substr(7));
  const std::size_t end = std::min(line.find('='), line.size());
  return end > 0 && end < line.size() && (is_letter(line.front()) || line.front() == '_') &&
         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); });
}

/// An environment file has no commands.
bool is_script(std::string_view text) { return text.starts_with("#!"); }

bool is_section(std::string_view line) {
  return line.starts_with('[') && line.ends_with(']') && line.size() > 2 &&
         line.find_first_of(",\"'{:", 1) == std::string_view::npos;
}

bool is_unit(std::string_view line) {
  return line == "[Unit]" || line == "[Service]" || line == "[Install]";
}

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

/// Reads {"a": "b"}, ["a=b"], or kubeadm v1beta4's [{"name": "a", "value": "b"}].
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

/// Returns the flags that kops makes from a kubelet's fields; it writes lists and thresholds in the
/// form of flags. Source: kops, pkg/flagbuilder.
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

bool has_any_key(const json& document, std::span<const std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return document.contains(std::string(key)); });
}

bool is_of_kind(const json& document, const Wrapper& wrapper) {
  if (kind_of(document) != wrapper.kind) return false;
  const json* const version = member(document, "apiVersion");
  return wrapper.group.empty() ||
         (version != nullptr && text_of(*version).starts_with(wrapper.group));
}

/// Returns the names of the groups of nodes for which a document may have different
/// configurations, such as those of eksctl; none for a document that does not have several.
std::vector<std::string> groups_of(const json& document) {
  std::vector<std::string> groups;
  bool has_any = false;
  for (const Wrapper& wrapper : kWrappers) {
    if (wrapper.kind.empty() || wrapper.config.empty() || !is_of_kind(document, wrapper)) continue;
    for (const Element& one : elements_at(document, wrapper.config)) {
      if (!one.name.empty()) groups.push_back(fmt::format("'{}'", one.name));
      has_any = has_any || (one.value != nullptr && !one.name.empty());
    }
  }
  return has_any && groups.size() > 1 ? groups : std::vector<std::string>{};
}

/// Returns whether a document has "PATH" or "PATH=VALUE".
bool has_mark(const json& document, std::string_view mark) {
  const std::size_t equals = std::min(mark.find('='), mark.size());
  const json* const value = at_path(document, mark.substr(0, equals));
  return value != nullptr && (equals == mark.size() || text_of(*value) == mark.substr(equals + 1));
}

bool is_wrapped(const json& document, const Wrapper& wrapper) {
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

/// True for [{"op": "replace", "path": "/machine/...", ...}, ...].
bool is_patch(const json& document) {
  return document.is_array() && !document.empty() && document.front().is_object() &&
         document.front().contains("op") && document.front().contains("path");
}

/// True for the variables of Ansible, such as "kubelet_cpu_manager_policy". No field has an
/// underscore.
bool has_variables(const json& document) {
  const auto items = document.items();
  return std::any_of(items.begin(), items.end(),
                     [](const auto& item) { return item.key().find('_') != std::string::npos; });
}

/// Returns the words after "kubelet" of the container in the output of `docker inspect`, as RKE
/// runs it; nullopt for anything else.
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

/// Returns the words after "kubelet" of a command as a list, such as the args of a manifest.
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

/// Returns the variables of a kubelet's flags that a YAML mapping has, such as GKE's kube-env, as
/// an environment file.
std::string kubelet_variables(const json& document) {
  std::string lines;
  if (!document.is_object() || !kind_of(document).empty()) return lines;
  for (const auto& [name, value] : document.items()) {
    const bool is_of_flags = is_flags_variable(name) && value.is_string();
    if (is_of_flags) lines += fmt::format("{}={}\n", name, shell_word(value.get<std::string>()));
  }
  return lines;
}

/// A part of a document that is itself a document, as text.
struct TextPart {
  std::string path;
  std::string text;
};

/// Returns the texts in a document that may be documents with a kind: those of a ConfigMap, user
/// data, and the machine configuration that talosctl prints.
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

/// GKE writes {memoryManager: {policy: Static}} where a kubelet has memoryManagerPolicy.
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

/// A document without a kind is a configuration if it has a field that only a kubelet has, possibly
/// misspelt, or if most of its fields are known. For any other one a kubelet would run with its
/// defaults.
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

/// Parses documents as a kubelet does: it logs an error for duplicate keys, then reads them.
Result<std::vector<json>> parse_as_kubelet(std::string_view text, std::vector<std::string>& notes) {
  auto strict = parse_documents(text, DocumentRules::kKubelet);
  if (strict) return strict;
  auto lenient = parse_documents(text, DocumentRules::kKubeletLenient);
  if (!lenient) return strict;
  notes.push_back(strict.error().message + ": the last one counts");
  return lenient;
}

/// Replaces a value of a file that a kubelet takes for absent. A flag keeps such a value. Source:
/// kubelet v1.36 pkg/kubelet/apis/config/v1beta1/defaults.go, SetDefaults_KubeletConfiguration.
void set_defaults(json& document) {
  constexpr int kMaxPods = 110;
  if (!document.is_object()) return;
  const auto found = document.find("maxPods");
  if (found != document.end() && *found == 0) *found = kMaxPods;
}

/// Collects the configuration from the documents of one file; they must outlive it.
class Finder {
 public:
  explicit Finder(std::vector<std::string> notes) : notes_(std::move(notes)) {}
  Result<void> look(const json& document) {
    if (kind_of(document).ends_with("List")) return look_into(document);
    if (document.is_object()) {
      if (const auto groups = groups_of(document); !groups.empty()) {
        return invalid(fmt::format(
            "the document has {} groups of nodes, {}: expected one configuration: pass the one "
            "that is meant as a {}, or {}",
            groups.size(), fmt::join(groups, ", "), kConfigKind, kPassConfigz));
      }
      for (const Wrapper& wrapper : kWrappers) {
        if (is_wrapped(document, wrapper)) return take(document, wrapper);
      }
      if (kind_of(document).empty() && has_any_key(document, kRancherKeys))
        return take_rancher(document);
    }
    if (const auto texts = texts_of(document); !texts.empty())
      return look_into_texts(texts, document);
    if (const auto words = listed_command(document)) {
      is_found_ = true;
      merge_flags(flags_, flags_of_words(*words));
      return {};
    }
    if (const std::string variables = kubelet_variables(document); !variables.empty()) {
      const FlagsText read = flags_of_environment(variables);
      if (!read.flags.empty()) {
        is_found_ = true;
        merge_flags(flags_, read.flags);
        return {};
      }
    }
    if (const auto words = inspected_kubelet(document)) {
      is_found_ = true;
      merge_flags(flags_, flags_of_words(*words));
      return {};
    }
    if (is_patch(document)) {
      return invalid(
          fmt::format("a list of JSON patches, such as kubeadm's or Sidero's: expected "
                      "a {}: pass '/var/lib/kubelet/config.yaml' from the node; {}",
                      kConfigKind,
                      "with Talos the output of: talosctl read "
                      "/etc/kubernetes/kubelet.yaml"));
    }
    if (is_aks(document)) {
      name_complete(
          fmt::format("AKS adds its own settings, kubeReserved among them: {}", kAskNode));
      configs_.push_back(rename_aks_fields(document));
    } else if (find_elsewhere(document) == nullptr && is_configuration(document)) {
      configs_.push_back(document);
      is_partial_ = false;
    } else if (other_ == nullptr) {
      other_ = &document;
    }
    return {};
  }

  /// Domain: after at least one document.
  Result<ConfigDocument> finish() && {
    if (configs_.empty() && !is_found_) return fail_other();
    if (configs_.size() > 1) {
      std::vector<std::string> named;
      for (const std::string& name : names_) {
        if (!name.empty()) named.push_back(fmt::format("'{}'", name));
      }
      return invalid(fmt::format("{} kubelet configurations{}{}: expected one{}", configs_.size(),
                                 named.empty() ? "" : ": ", fmt::join(named, ", "),
                                 named.empty() ? "" : ": pass one of them as a file of its own"));
    }
    ConfigDocument read{configs_.empty() ? json::object() : std::move(configs_.front()),
                        std::move(notes_),
                        is_partial_,
                        {is_partial_ ? std::move(complete_) : CompleteConfig{}}};
    set_defaults(read.document);
    PINFOLD_TRY(add_flags({flags_}, read));
    const auto& possible = read.sources.complete.reservations;
    if (!possible.empty() && !flags_.contains("--system-reserved")) {
      read.notes.push_back(add_reservation(possible, read.document));
    }
    if (is_rancher_ && read.document.is_object()) {
      add_rancher_flags(flags_);
      PINFOLD_TRY(apply_flags(flags_, read.document));
      note_sources(flags_, read.sources);
    }
    return Result<ConfigDocument>(std::move(read));
  }

 private:
  /// Looks at documents in the texts of another document.
  Result<void> look_into_texts(const std::vector<TextPart>& texts, const json& document) {
    for (const auto& [path, text] : texts) {
      auto parsed = parse_documents(text, DocumentRules::kKubeletLenient);
      if (!parsed) continue;  // not meant as a document, such as a script
      for (json& one : *parsed) {
        const bool is_nested = !texts_of(one).empty();
        if (is_nested || !one.is_object()) continue;
        inner_.push_back(std::move(one));
        PINFOLD_TRY_WRAP(look(inner_.back()), printable(path));
      }
    }
    if (other_ == nullptr) other_ = &document;
    return {};
  }

  /// Looks at the items of a list, such as the output of `oc get kubeletconfig -o yaml`.
  Result<void> look_into(const json& list) {
    const json* const items = member(list, "items");
    if (other_ == nullptr) other_ = &list;
    if (items == nullptr || !items->is_array()) return {};
    for (const json& item : *items) PINFOLD_TRY(look(item));
    return {};
  }

  Result<void> take(const json& document, const Wrapper& wrapper) {
    is_found_ = true;
    if (const json* const config = at_path(document, wrapper.config);
        config != nullptr && !wrapper.config.empty()) {
      json found = *config;
      if (config->is_string()) {
        PINFOLD_LET_WRAP(found, parse_text(config->get<std::string>()),
                         std::string(wrapper.config));
      }
      if (wrapper.mark == "agentPoolType") {
        found = rename_aks_fields(std::move(found));
      } else if (wrapper.config.ends_with("kubeletConfig") && wrapper.kind.empty()) {
        rename_gke_fields(found);
        found = rename_aks_fields(std::move(found));  // GKE has some of these names, too
      }
      if (!found.is_object() || !is_configuration(found)) {
        return fail_field(std::string(wrapper.config), found, "expected a KubeletConfiguration");
      }
      configs_.push_back(std::move(found));
      const json* const name = at_path(document, "metadata.name");
      names_.push_back(name == nullptr ? "" : printable(text_of(*name)));
      is_partial_ = is_partial_ && !wrapper.rest.empty();
    }
    if (!wrapper.arguments.empty()) {
      if (const json* const arguments = at_path(document, wrapper.arguments)) {
        if (wrapper.group == kKops && !wrapped_.insert(wrapper.kind).second) {
          return invalid(fmt::format("several documents of kind '{}': expected one", wrapper.kind));
        }
        if (wrapper.group == kKops) note_unknown_fields(wrapper.arguments, *arguments);
        merge_flags(flags_, wrapper.group == kKops ? flags_of_fields(*arguments)
                                                   : flags_of_json(*arguments));
      }
    }
    if (!wrapper.rest.empty()) name_complete(std::string(wrapper.rest));
    auto added = added_reservations(document);
    if (!added.empty()) complete_.reservations = std::move(added);
    return {};
  }

  /// Notes the fields of kops that become no flag that is known here.
  void note_unknown_fields(std::string_view path, const json& fields) {
    constexpr std::size_t kMost = 50;  // each search takes time
    std::vector<std::string_view> names;
    for (const Field& field : kKubeletFields) names.push_back(field.name);
    std::size_t count = 0;
    if (!fields.is_object()) return;
    for (const auto& [name, value] : fields.items()) {
      const bool is_known = flag_of_field(name) != nullptr ||
                            std::find(names.begin(), names.end(), name) != names.end();
      if (is_known || count++ >= kMost) continue;
      notes_.push_back(
          fmt::format("unknown field '{}.{}'{}", path, printable(name), did_you_mean(name, names)));
    }
  }

  void name_complete(const std::string& advice) {
    notes_.push_back(advice);
    complete_.advice = advice;
  }

  /// Parses a configuration that a document has as text.
  Result<json> parse_text(const std::string& text) {
    PINFOLD_LET(auto documents, parse_as_kubelet(text, notes_));
    if (documents.size() == 1) return std::move(documents.front());
    return invalid(fmt::format("{} documents: expected one", documents.size()));
  }

  static bool has_texts(const json& value) {
    return value.is_string() ||
           (value.is_array() && std::all_of(value.begin(), value.end(),
                                            [](const json& one) { return one.is_string(); }));
  }

  Result<void> take_rancher(const json& document) {
    is_found_ = true;
    for (const char* const key : {"kubelet-arg", "kubelet-arg+"}) {
      const json* const arguments = member(document, key);
      if (arguments == nullptr) continue;
      if (!has_texts(*arguments)) {
        return fail_field(key, *arguments,
                          "expected a list of texts, such as \"cpu-manager-policy=static\"");
      }
      merge_flags(flags_, flags_of_json(*arguments));
    }
    is_rancher_ = true;
    if (flags_.empty()) notes_.emplace_back("no 'kubelet-arg': the defaults of k3s apply");
    notes_.emplace_back(
        "k3s and RKE2 add settings of their own: only their evictionHard, which has no memory, is "
        "known here; --config with the root of the node, '/', reads the others");
    return {};
  }

  [[nodiscard]] Result<ConfigDocument> fail_other() const {
    const std::string kind = kind_of(*other_);
    if (const ElsewhereAt* const at = find_elsewhere(*other_)) {
      const bool has_files = std::string_view(at->advice).ends_with(' ');
      return invalid(at->advice + (has_files ? kubelet_files(*other_) : ""));
    }
    const auto* const elsewhere =
        std::find_if(kElsewhere.begin(), kElsewhere.end(),
                     [&](const Elsewhere& one) { return one.kind == kind; });
    if (elsewhere != kElsewhere.end()) {
      return fail_field("kind", kind,
                        fmt::format("expected '{}': {}", kConfigKind, elsewhere->advice));
    }
    if (!kind.empty()) {
      return fail_field("kind", kind, fmt::format("expected '{}': {}", kConfigKind, kAskNode));
    }
    const auto items = other_->items();
    if (std::any_of(items.begin(), items.end(),
                    [](const auto& item) { return item.key().starts_with("kube"); }) &&
        has_variables(*other_)) {
      return invalid(
          fmt::format("variables of Ansible: expected a {}: pass the kubelet's configuration from "
                      "the node, of kubespray '/etc/kubernetes/kubelet-config.yaml'",
                      kConfigKind));
    }
    std::vector<std::string> names;
    constexpr std::size_t kMost = 5;
    for (const auto& [name, value] : other_->items()) {
      if (names.size() < kMost) names.push_back(fmt::format("'{}'", printable(name)));
    }
    return invalid(fmt::format("not a {}: the document has none of its own fields, only {}: {}",
                               kConfigKind, fmt::join(names, ", "), kAskNode));
  }

  std::vector<json> configs_;
  std::vector<std::string> names_;  ///< of objects with a configuration; "": it has none
  KubeletFlags flags_;
  std::vector<std::string> notes_;
  CompleteConfig complete_;
  bool is_found_ = false;
  bool is_rancher_ = false;
  bool is_partial_ = true;              ///< until a whole KubeletConfiguration is found
  std::set<std::string_view> wrapped_;  ///< kinds of kops
  const json* other_ = nullptr;
  std::deque<json> inner_;  ///< documents in texts of others; addresses do not change
};

/// Returns advice for flags that name the file with the rest of the configuration.
tl::unexpected<Error> fail_elsewhere(const std::string& file) {
  return invalid(
      fmt::format("the configuration is in '{}': pass that file with --config, and the flags with "
                  "--kubelet-flags",
                  printable(file)));
}

/// Returns the flags and notes of a text that has flags, as a configuration. A text without any
/// flag does not mean a kubelet with its defaults, unless it is the whole command.
Result<ConfigDocument> document_of_flags(const FlagsText& read) {
  if (read.flags.empty() && !read.is_command && read.notes.empty()) {
    PINFOLD_TRY(check_unit(read));
    return invalid(
        "it contains no kubelet flags: expected '--NAME=VALUE', or a KubeletConfiguration: "
        "--config with the root of the node, '/', reads the kubelet's file and flags");
  }
  PINFOLD_TRY(check_unit(read));
  ConfigDocument found{json::object(), read.notes, true};
  PINFOLD_TRY(add_flags(read, found));
  return Result<ConfigDocument>(std::move(found));
}

/// Returns the flags in a call of EKS' bootstrap.sh, even in a part of MIME user data.
Result<ConfigDocument> read_bootstrap(std::string_view text) {
  KubeletFlags flags;
  for (const std::string& value : option_values(split_words(text), kBootstrapFlags)) {
    merge_flags(flags, flags_of_words(split_words(value)));
  }
  if (flags.empty()) {
    return invalid(
        fmt::format("a call of bootstrap.sh whose {} has no flags: expected "
                    "'--NAME=VALUE'",
                    kBootstrapFlags));
  }
  const std::string complete =
      "bootstrap.sh adds its own settings, kubeReserved among them: "
      "'/etc/kubernetes/kubelet/kubelet-config.json' on the node is complete";
  ConfigDocument found{json::object(), {complete}, true, {{complete}}};
  PINFOLD_TRY(add_flags({flags}, found));
  return Result<ConfigDocument>(std::move(found));
}

/// Returns whether a line ends with a mark of a terminal or of systemd for the part that it leaves
/// out.
bool is_cut_off(std::string_view line) {
  return line.ends_with("\u2026") || line.ends_with("...") || line.ends_with('>');
}

/// Returns whether a text has the command of a kubelet in a line that is cut off.
bool has_cut_command(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const bool has_command = line.find("kubelet -") != std::string_view::npos ||
                             line.find("k3s server -") != std::string_view::npos;
    if (has_command && is_cut_off(trimmed(line))) return true;
  }
  return false;
}

bool is_number(std::string_view word) {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns where the program of a kubelet, or of a program that contains one, ends in a line;
/// npos: nowhere.
std::size_t end_of_program(std::string_view line) {
  for (const std::string_view command :
       {"kubelet -", "k3s server -", "k3s agent -", "rke2 server -", "rke2 agent -"}) {
    const std::size_t at = line.find(command);
    if (at != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

/// Returns the command of a kubelet in a line of ps, pgrep or systemctl status, after the time, the
/// number or the user of the process; "" if the line has none, or cuts it off.
std::string_view command_of_process(std::string_view line) {
  const std::size_t program = end_of_program(line);
  if (program == std::string_view::npos || is_cut_off(line)) return {};
  const std::size_t start = line.substr(0, program).find_last_of(" \t") + 1;
  const bool is_program = program == start || line[program - 1] == '/';
  const std::string_view before = trimmed(line.substr(0, start));
  const std::string_view last = before.substr(before.find_last_of(" \t") + 1);
  const bool has_number = !last.empty() && last.back() >= '0' && last.back() <= '9';
  const bool is_process = last == before || last.find(':') != std::string_view::npos ||
                          last.find("\u2500") != std::string_view::npos;
  const std::string_view first = before.substr(0, before.find_first_of(" \t"));
  // The columns pid and user.
  const bool is_of_user =
      is_number(first) &&
      trimmed(before.substr(first.size())).find_first_of(" \t") == std::string_view::npos;
  return is_program && ((has_number && is_process) || is_of_user) ? trimmed(line.substr(start))
                                                                  : "";
}

/// Returns whether a text names the process of a program that contains a kubelet.
bool shows_host(std::string_view text) {
  constexpr std::array<std::string_view, 5> kHosts = {"/k3s server", "/k3s agent", "/rke2 server",
                                                      "/rke2 agent", "/kubelite "};
  return std::any_of(kHosts.begin(), kHosts.end(), [&](std::string_view host) {
    return text.find(host) != std::string_view::npos;
  });
}

/// Returns the flags that k3s and RKE2 log when they start their kubelet.
std::optional<FlagsText> flags_of_rancher_log(std::string_view text) {
  constexpr std::string_view kMark = "msg=\"Running kubelet -";
  const std::size_t at = text.rfind(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + kMark.size() - 1);
  std::string command = "kubelet ";
  for (std::size_t i = 0; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
    const bool is_escaped = text[i] == '\\' && i + 1 < text.size();
    command += text[is_escaped ? ++i : i];
  }
  return flags_of_command(split_words(command));
}

/// Returns the flags for a kubelet in a script or line that installs k3s or RKE2.
std::optional<FlagsText> flags_of_install(std::string_view text) {
  constexpr std::string_view kOption = "--kubelet-arg";
  const bool is_install = text.find("get.k3s.io") != std::string_view::npos ||
                          text.find("get.rke2.io") != std::string_view::npos;
  if (!is_install) return std::nullopt;
  std::vector<std::string> words = {"k3s"};
  for (const std::string& word : split_words(text)) {
    const std::size_t at = word.find(kOption);
    const bool is_variable = at != std::string::npos && at > 0;  // INSTALL_K3S_EXEC="..."
    if (!is_variable) words.push_back(word);
    for (std::string& inner : is_variable ? split_words(word.substr(at)) : words_of_file("", {})) {
      words.push_back(std::move(inner));
    }
  }
  if (option_values(words, kOption).empty()) return std::nullopt;
  return flags_of_command(words);
}

/// Returns a line without the prompt of a shell and sudo.
std::string_view without_prompt(std::string_view line) {
  for (const std::string_view prefix : {"$ ", "sudo "}) {
    if (line.starts_with(prefix)) line = trimmed(line.substr(prefix.size()));
  }
  return line;
}

/// Returns the flags of the only kubelet that a list of processes shows.
std::optional<FlagsText> flags_of_processes(std::string_view text) {
  std::set<std::string_view> commands;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const auto command = command_of_process(trimmed(line)); !command.empty()) {
      commands.insert(command);
    }
  }
  if (commands.size() != 1) return std::nullopt;
  return flags_of_command(split_words(*commands.begin()));
}

/// Returns the only part of MIME user data with a NodeConfig; "" if it has none, or several.
std::string_view node_config_part(std::string_view text) {
  constexpr std::string_view kType = "Content-Type: application/node.eks.aws";
  const std::size_t type = text.find(kType);
  const bool is_only = type != std::string_view::npos && text.rfind(kType) == type;
  const std::size_t begin = is_only ? text.find("\n\n", type) : std::string_view::npos;
  if (begin == std::string_view::npos) return {};
  std::string_view part = text.substr(begin);
  for (std::size_t line = part.find("\n--"); line != std::string_view::npos;
       line = part.find("\n--", line + 1)) {
    const bool is_separator = part.substr(line + 1).starts_with("---");  // of YAML
    if (!is_separator) return part.substr(0, line + 1);
  }
  return part;
}

}  // namespace

bool names_kubelet(std::string_view text) {
  return text.find("kubelet") != std::string_view::npos ||
         text.find("KUBELET") != std::string_view::npos;
}

std::optional<FlagsText> flags_of_text(std::string_view text, std::string_view unit,
                                       const UnitFiles& files) {
  if (text.find('\0') != std::string_view::npos) {
    return flags_of_command(parse_command_line(text));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::string_view whole = trimmed(text);
  if (whole.find('\n') == std::string_view::npos) text = without_prompt(whole);
  const std::string_view line = first_line(text);
  if (is_unit(line)) return flags_of_unit({std::string(text)}, unit, files);
  if (auto installed = flags_of_install(text)) return installed;
  if (is_command_line(line)) {
    const auto words = words_of_file(text, {});
    auto read = flags_of_command(words);
    return read ? std::move(read) : FlagsText{flags_of_words(words), {}};
  }
  if (is_assignment(line) && !is_script(text)) return flags_of_environment(text);
  if (auto logged = flags_of_rancher_log(text)) return logged;
  if (auto logged = flags_of_log(text)) {
    FlagsText read{*std::move(logged), {}};
    read.is_command = true;
    return read;
  }
  return flags_of_processes(text);
}

Result<void> add_flags(const FlagsText& read, ConfigDocument& config) {
  PINFOLD_TRY(check_flags(read.flags));
  const bool has_no_file = config.document.empty();
  const auto file = read.flags.find("--config");
  if (file != read.flags.end() && has_no_file) return fail_elsewhere(file->second);
  if (config.document.is_object()) PINFOLD_TRY(apply_flags(read.flags, config.document));
  note_sources(read.flags, config.sources);
  if (has_no_file && !read.flags.empty()) config.sources.is_of_flags = true;
  if (read.is_command && has_no_file) config.document.emplace("evictionHard", json::object());
  for (std::string& warning : flag_warnings(read.flags)) config.notes.push_back(std::move(warning));
  return {};
}

void note_source(const std::string& file, const json& document, ConfigSources& sources) {
  if (!document.is_object()) return;
  for (const auto& [field, value] : document.items()) sources.of_field[field].push_back(file);
}

void note_sources(const KubeletFlags& flags, ConfigSources& sources) {
  for (const auto& [name, value] : flags) {
    const KnownFlag* const flag = find_flag(name);
    if (flag != nullptr && *flag->field != '\0') sources.of_field[flag->field].push_back(name);
  }
}

std::vector<std::string> unset_policies(const ConfigDocument& config) {
  std::vector<std::string> unset;
  for (const char* const field : {"cpuManagerPolicy", "memoryManagerPolicy"}) {
    if (!config.document.contains(field)) unset.emplace_back(field);
  }
  return unset;
}

std::vector<std::string> open_policies(const ConfigDocument& config) {
  return config.is_partial ? unset_policies(config) : std::vector<std::string>{};
}

Result<void> check_policies(const std::vector<std::string>& open, const Config& before) {
  const Config defaults;
  const auto check = [&](const char* field, std::string_view policy,
                         std::string_view initial) -> Result<void> {
    const bool is_open = std::find(open.begin(), open.end(), field) != open.end();
    if (!is_open || policy == initial) return {};
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the configuration has no {}, which a flag of the kubelet may set, and which "
                    "is now '{}': pass all of it with --config ('/' reads that of this node, with "
                    "its flags), the policy with --kubelet-flags, or write '{}: {}'",
                    field, policy, field, initial));
  };
  PINFOLD_TRY(check("cpuManagerPolicy", before.cpu_manager_policy, defaults.cpu_manager_policy));
  return check("memoryManagerPolicy", before.memory_manager_policy, defaults.memory_manager_policy);
}

Result<ConfigDocument> read_config_document(std::string_view text, std::string_view unit) {
  if (text.find("bootstrap.sh ") != std::string_view::npos &&
      text.find(kBootstrapFlags) != std::string_view::npos) {
    return read_bootstrap(text);
  }
  if (has_cut_command(text)) {
    return invalid(
        "the line with the kubelet's command is cut off: pass the output of 'systemctl status -l "
        "--no-pager kubelet' or 'ps -ww -C kubelet -o args='");
  }
  if (const auto read = flags_of_text(text, unit)) return document_of_flags(*read);
  if (is_script(text)) {
    return invalid(fmt::format("a script: expected a {}, or flags: {}", kConfigKind, kAskNode));
  }
  const std::string_view first = first_line(text);
  if (first.find(" kubelet[") != std::string_view::npos) {
    return invalid(
        fmt::format("a kubelet's log without its flags: expected lines with 'FLAG: --', "
                    "which a kubelet logs with --v=1: {}",
                    kAskNode));
  }
  if (text.find("[settings.kubernetes") != std::string_view::npos ||
      first.starts_with("settings.kubernetes.")) {
    return invalid(kBottlerocket);
  }
  if (const auto part = node_config_part(text); !part.empty()) {
    return read_config_document(part, unit);
  }
  if (first.starts_with("MIME-Version:") || first.starts_with("Content-Type: multipart")) {
    return invalid("MIME user data: expected a KubeletConfiguration: pass its part NodeConfig");
  }
  if (is_section(first)) {
    return invalid("a TOML or INI file: expected a KubeletConfiguration in YAML or JSON");
  }
  if (const auto* const form = printed_form(text)) {
    return invalid(fmt::format("{}: expected a KubeletConfiguration: {}", form->what, kAskNode));
  }
  std::vector<std::string> notes;
  PINFOLD_LET(const auto documents, parse_as_kubelet(text, notes));
  if (documents.empty()) return invalid("0 documents: expected one");
  if (documents.front().is_string() && shows_host(documents.front().get<std::string>())) {
    return invalid(
        "a list of processes: k3s, RKE2 and MicroK8s do not show the flags of their kubelet in it: "
        "--config with the root of the node, '/', reads their files");
  }
  Finder finder(std::move(notes));
  for (const json& document : documents) PINFOLD_TRY(finder.look(document));
  return std::move(finder).finish();
}

Result<ParsedConfig> parse_config(std::string_view yaml_or_json) {
  PINFOLD_LET(auto read, read_config_document(yaml_or_json));
  PINFOLD_LET(auto parsed, config_from_json(read.document));
  parsed.warnings.insert(parsed.warnings.begin(), read.notes.begin(), read.notes.end());
  parsed.open_policies = open_policies(read);
  parsed.unset_policies = unset_policies(read);
  parsed.config.sources = SharedSources(std::move(read.sources));
  return parsed;
}

}  // namespace pinfold
