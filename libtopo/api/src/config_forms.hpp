#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/kubelet_flags.hpp"
#include "pinfold/base/result.hpp"

/// Documents that contain a kubelet's configuration or flags in a form of their own, and documents
/// that one is generated from.
namespace pinfold {

inline constexpr const char* kConfigKind = "KubeletConfiguration";

inline constexpr std::string_view kKops = "kops.k8s.io";
/// Where the complete configuration of a running kubelet is.
inline constexpr std::string_view kAskNode =
    "pass the output of: kubectl get --raw /api/v1/nodes/NAME/proxy/configz";
inline constexpr std::string_view kPassConfigz =
    "the output of: kubectl get --raw /api/v1/nodes/NAME/proxy/configz";
inline constexpr const char* kBottlerocket =
    "Bottlerocket settings: expected a KubeletConfiguration: pass '/etc/kubernetes/kubelet/config' "
    "from the node";

/// A document that contains a kubelet's configuration. Paths are members separated by dots, through
/// lists of one element; "" if the document has no such part.
struct ConfigWrapper {
  std::string_view kind;       ///< "" for a document without a kind in which one of the paths
                               ///< exists
  std::string_view group;      ///< the API group; "" for any
  std::string_view config;     ///< path of a KubeletConfiguration, possibly as text
  std::string_view arguments;  ///< path of flags without dashes, or of fields that kops makes flags
  std::string_view rest;       ///< advice on where the complete configuration is
  /// "PATH" or "PATH=VALUE" that the document has, too; "" if the paths alone identify it.
  std::string_view mark = {};
};

/// Returns the form in which a document contains a configuration; nullptr: in none. Domain: an
/// object, as for groups_of and is_rancher.
[[nodiscard]] const ConfigWrapper* find_wrapper(const nlohmann::json& document);
/// Returns the names of the groups of nodes for which a document may have different
/// configurations, such as those of eksctl; none for a document that does not have several.
[[nodiscard]] std::vector<std::string> groups_of(const nlohmann::json& document);
/// True for config.yaml of k3s and RKE2.
[[nodiscard]] bool is_rancher(const nlohmann::json& document);
/// True for [{"op": "replace", "path": "/machine/...", ...}, ...].
[[nodiscard]] bool is_patch(const nlohmann::json& document);
/// True for AKS' --kubelet-config.
[[nodiscard]] bool is_aks(const nlohmann::json& document);
/// True for a document without a kind that a configuration is generated from.
[[nodiscard]] bool is_elsewhere(const nlohmann::json& document);
/// True for a KubeletConfiguration. A document without a kind is one if it has a field that only a
/// kubelet has, possibly misspelt, or if most of its fields are known. For any other one a kubelet
/// would run with its defaults.
[[nodiscard]] bool is_configuration(const nlohmann::json& document);

/// A part of a document that is itself a document, as text.
struct TextPart {
  std::string path;
  std::string text;
};
/// Returns the texts in a document that may be documents with a kind: those of a ConfigMap, user
/// data, and the machine configuration that talosctl prints.
[[nodiscard]] std::vector<TextPart> texts_of(const nlohmann::json& document);
/// Returns the words after "kubelet" of the container in the output of `docker inspect`, as RKE
/// runs it; nullopt for anything else.
[[nodiscard]] std::optional<std::vector<std::string>> inspected_kubelet(
    const nlohmann::json& document);
/// Returns the words after "kubelet" of a command as a list, such as the args of a manifest.
[[nodiscard]] std::optional<std::vector<std::string>> listed_command(
    const nlohmann::json& document);
/// Returns the variables of a kubelet's flags that a YAML mapping has, such as GKE's kube-env, as
/// an environment file.
[[nodiscard]] std::string kubelet_variables(const nlohmann::json& document);

/// Returns "" for a document without a kind.
[[nodiscard]] std::string kind_of(const nlohmann::json& document);
/// Returns the value at a path through objects, and lists of one element; nullptr: it has none.
[[nodiscard]] const nlohmann::json* at_path(const nlohmann::json& document, std::string_view path);

/// Reads {"a": "b"}, ["a=b"], or kubeadm v1beta4's [{"name": "a", "value": "b"}].
[[nodiscard]] KubeletFlags flags_of_json(const nlohmann::json& value);
/// Returns the flags that kops makes from a kubelet's fields; it writes lists and thresholds in the
/// form of flags. Source: kops, pkg/flagbuilder.
[[nodiscard]] KubeletFlags flags_of_fields(const nlohmann::json& fields);
/// GKE writes {memoryManager: {policy: Static}} where a kubelet has memoryManagerPolicy.
void rename_gke_fields(nlohmann::json& config);
[[nodiscard]] nlohmann::json rename_aks_fields(nlohmann::json config);

/// Returns what to pass instead of a document that is in none of these forms.
[[nodiscard]] tl::unexpected<Error> explain_other(const nlohmann::json& document);

}  // namespace pinfold
