#include "pinfold/api/config_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "pinfold/api/config.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"
#include "schema.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

constexpr const char* kConfigKind = "KubeletConfiguration";

/// A document that contains a kubelet's configuration. Paths are members separated by dots; "" if
/// the document has no such part.
struct Wrapper {
  std::string_view kind;       ///< "" for a document without a kind in which one of the paths
                               ///< exists
  std::string_view group;      ///< the API group; "" for any
  std::string_view config;     ///< path of a KubeletConfiguration, possibly as text
  std::string_view arguments;  ///< path of flags without dashes
  std::string_view rest;       ///< advice on where the complete configuration is
};
constexpr std::array kWrappers = {
    Wrapper{"KubeletConfig", "machineconfiguration.openshift.io", "spec.kubeletConfig", "",
            "OpenShift adds its own settings: '/etc/kubernetes/kubelet.conf' on the node is "
            "complete"},
    Wrapper{"InitConfiguration", "kubeadm.k8s.io", "", "nodeRegistration.kubeletExtraArgs", ""},
    Wrapper{"JoinConfiguration", "kubeadm.k8s.io", "", "nodeRegistration.kubeletExtraArgs", ""},
    Wrapper{"NodeConfig", "node.eks.aws", "spec.kubelet.config", "spec.kubelet.flags",
            "nodeadm adds its own settings: '/etc/kubernetes/kubelet/config.json' on the node is "
            "complete"},
    Wrapper{"ConfigMap", "", "data.kubelet", "", ""},
    Wrapper{"EC2NodeClass", "karpenter.k8s.aws", "spec.kubelet", "",
            "the complete configuration: kubectl get --raw /api/v1/nodes/NAME/proxy/configz"},
    Wrapper{"", "", "kubeletconfig", "", ""},  // /configz
    Wrapper{
        "", "", "kubeletConfig", "",  // GKE's --system-config-from-file
        "GKE adds its own settings, kubeReserved among them; the complete configuration: kubectl "
        "get --raw /api/v1/nodes/NAME/proxy/configz"},
    Wrapper{"", "", "machine.kubelet.extraConfig", "machine.kubelet.extraArgs",
            "Talos adds its own settings: 'talosctl read /etc/kubernetes/kubelet.yaml' prints the "
            "complete configuration"},
    Wrapper{"", "", "", "services.kubelet.extra_args", ""},  // RKE
};

constexpr std::string_view kAskNode =
    "pass the output of: kubectl get --raw /api/v1/nodes/NAME/proxy/configz";
constexpr const char* kBottlerocket =
    "Bottlerocket settings: expected a KubeletConfiguration: pass '/etc/kubernetes/kubelet/config' "
    "from the node";

/// Documents from which a kubelet's configuration is generated, with advice on what to pass
/// instead.
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
    Elsewhere{"PerformanceProfile",
              "pass the KubeletConfig that the operator generates from it: oc get kubeletconfig "
              "performance-NAME -o yaml"},
    Elsewhere{"MachineConfig", "pass '/etc/kubernetes/kubelet.conf' from the node"},
    Elsewhere{"Node", kAskNode},
    Elsewhere{"Cluster", kAskNode},                // kops, kind, Rancher
    Elsewhere{"ClusterConfig", kAskNode},          // k0s, eksctl
    Elsewhere{"KubeadmConfigTemplate", kAskNode},  // Cluster API
    Elsewhere{"KubeadmControlPlane", kAskNode},
    Elsewhere{"NodeConfig", kAskNode},  // nodeadm, without a kubelet
    Elsewhere{"NodePool", kAskNode},    // Karpenter
    Elsewhere{"Shoot", kAskNode},       // Gardener
};

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
  return dashes == 0 && base_name(program) == "kubelet";
}

/// True for NAME=..., with or without "export".
bool is_assignment(std::string_view line) {
  if (line.starts_with("export ")) line = trimmed(line.substr(7));
  const std::size_t end = std::min(line.find('='), line.size());
  return end > 0 && end < line.size() && (is_letter(line.front()) || line.front() == '_') &&
         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); });
}

bool is_section(std::string_view line) {
  return line.starts_with('[') && line.ends_with(']') && line.size() > 2 &&
         line.find_first_of(",\"'{:", 1) == std::string_view::npos;
}

bool is_unit(std::string_view line) {
  return line == "[Unit]" || line == "[Service]" || line == "[Install]";
}

/// The variables of an environment file, or of Environment= in a unit, in order.
class Environment {
 public:
  /// Adds one assignment; the value is as written in an environment file.
  void add_line(std::string_view name, std::string_view value) {
    if (name.starts_with("export ")) name = trimmed(name.substr(7));
    if (name.starts_with('-') && !order_.empty()) {  // continues a quoted value
      values_[order_.back()] += fmt::format(" {}={}", name, trimmed_quotes(value));
      return;
    }
    add(name, fmt::format("{}", fmt::join(split_words(expand_variables(value, values_)), " ")));
  }
  /// Adds the words of Environment=.
  void add_words(std::string_view text) {
    for (const std::string& word : split_words(text)) {
      const std::size_t equals = std::min(word.find('='), word.size());
      if (equals < word.size()) add(word.substr(0, equals), word.substr(equals + 1));
    }
  }
  [[nodiscard]] const Variables& values() const { return values_; }
  /// Returns the flags in all values.
  [[nodiscard]] KubeletFlags flags() const {
    KubeletFlags flags;
    for (const std::string& name : order_) {
      merge_flags(flags, flags_of_words(split_words(values_.find(name)->second)));
    }
    return flags;
  }

 private:
  static std::string_view trimmed_quotes(std::string_view text) {
    while (text.ends_with('"') || text.ends_with('\'')) text.remove_suffix(1);
    return text;
  }
  void add(std::string_view name, std::string value) {
    const auto [at, is_new] = values_.insert_or_assign(std::string(name), std::move(value));
    if (is_new) order_.push_back(at->first);
  }
  Variables values_;
  std::vector<std::string> order_;
};

/// Adds the variables of an environment file.
void add_file(std::string_view text, Environment& environment) {
  for (const auto& [name, value] : parse_unit_file(text)) environment.add_line(name, value);
}

/// Adds the variables of the files that EnvironmentFile= names, or names those that are not read.
void add_files(const std::vector<std::string>& names, const UnitFiles& files,
               Environment& environment, std::vector<std::string>& notes) {
  for (const std::string& name : names) {
    const bool may_be_missing = name.starts_with('-');
    const std::string path = name.substr(may_be_missing ? 1 : 0);
    const auto text = files.read ? files.read(path) : std::nullopt;
    if (text) {
      add_file(*text, environment);
    } else if (!files.are_all) {
      notes.push_back(
          fmt::format("'{}' is not read: pass the unit and that file, or a copy with its name, "
                      "with --kubelet-flags",
                      printable(path)));
    } else if (!may_be_missing) {
      notes.push_back(fmt::format("'{}' cannot be read", printable(path)));
    }
  }
}

FlagsText flags_of_environment(std::string_view text) {
  Environment environment;
  add_file(text, environment);
  return {environment.flags(), {}};
}

const json* at_path(const json& document, std::string_view path) {
  const json* value = &document;
  while (value != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = value->is_object() ? member(*value, path.substr(0, dot)) : nullptr;
    path.remove_prefix(std::min(path.size(), dot + 1));
  }
  return value;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
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

std::string kind_of(const json& document) {
  const json* const kind = document.is_object() ? member(document, "kind") : nullptr;
  return kind != nullptr && kind->is_string() ? kind->get<std::string>() : "";
}

bool is_wrapped(const json& document, const Wrapper& wrapper) {
  if (kind_of(document) != wrapper.kind) return false;
  const json* const version = member(document, "apiVersion");
  if (!wrapper.group.empty() &&
      (version == nullptr || !text_of(*version).starts_with(wrapper.group))) {
    return false;
  }
  return (!wrapper.config.empty() && at_path(document, wrapper.config) != nullptr) ||
         (!wrapper.arguments.empty() && at_path(document, wrapper.arguments) != nullptr);
}

bool is_rancher(const json& document) {
  return std::any_of(kRancherKeys.begin(), kRancherKeys.end(),
                     [&](std::string_view key) { return document.contains(std::string(key)); });
}

/// True for the variables of Ansible, such as "kubelet_cpu_manager_policy". No field has an
/// underscore.
bool has_variables(const json& document) {
  const auto items = document.items();
  return std::any_of(items.begin(), items.end(),
                     [](const auto& item) { return item.key().find('_') != std::string::npos; });
}

/// GKE writes {memoryManager: {policy: Static}} where a kubelet has memoryManagerPolicy.
void rename_gke_fields(json& config) {
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

/// A document without a kind and without any known field is something else; a kubelet would run
/// with its defaults.
bool is_configuration(const json& document) {
  const std::string kind = kind_of(document);
  if (!document.is_object() || document.empty()) return true;  // its reader explains what is wrong
  if (!kind.empty()) return kind == kConfigKind;
  return std::any_of(
             kKubeletFields.begin(), kKubeletFields.end(),
             [&](const Field& field) { return document.contains(std::string(field.name)); }) ||
         (has_similar_field(document, kKubeletFields) && !has_variables(document));
}

/// Parses documents as a kubelet does, which reads duplicate keys after an error in its log.
Result<std::vector<json>> parse_as_kubelet(std::string_view text, std::vector<std::string>& notes) {
  auto strict = parse_documents(text, DocumentRules::kKubelet);
  if (strict) return strict;
  auto lenient = parse_documents(text, DocumentRules::kKubeletLenient);
  if (!lenient) return strict;
  notes.push_back(strict.error().message + ": the last one counts");
  return lenient;
}

/// Collects the configuration from the documents of one file; they must outlive it.
class Finder {
 public:
  explicit Finder(std::vector<std::string> notes) : notes_(std::move(notes)) {}
  Result<void> look(const json& document) {
    if (kind_of(document).ends_with("List")) return look_into(document);
    if (document.is_object()) {
      for (const Wrapper& wrapper : kWrappers) {
        if (is_wrapped(document, wrapper)) return take(document, wrapper);
      }
      if (kind_of(document).empty() && is_rancher(document)) return take_rancher(document);
    }
    if (is_configuration(document)) {
      configs_.push_back(document);
    } else if (other_ == nullptr) {
      other_ = &document;
    }
    return {};
  }

  /// Domain: after at least one document.
  Result<ConfigDocument> finish() && {
    if (configs_.empty() && !is_found_) return fail_other();
    if (configs_.size() > 1) {
      return invalid(fmt::format("{} kubelet configurations: expected one", configs_.size()));
    }
    ConfigDocument read{configs_.empty() ? json::object() : std::move(configs_.front()),
                        std::move(notes_)};
    PINFOLD_TRY(add_flags(flags_, read));
    if (is_rancher_ && read.document.is_object()) {
      add_rancher_flags(flags_);
      PINFOLD_TRY(apply_flags(flags_, read.document));
    }
    return Result<ConfigDocument>(std::move(read));
  }

 private:
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
      if (!found.is_object() || !is_configuration(found)) {
        return fail_field(std::string(wrapper.config), found, "expected a KubeletConfiguration");
      }
      if (wrapper.config == "kubeletConfig") rename_gke_fields(found);
      configs_.push_back(std::move(found));
    }
    if (!wrapper.arguments.empty()) {
      if (const json* const arguments = at_path(document, wrapper.arguments)) {
        merge_flags(flags_, flags_of_json(*arguments));
      }
    }
    if (!wrapper.rest.empty()) notes_.emplace_back(wrapper.rest);
    return {};
  }

  /// Parses a configuration that a document has as text.
  Result<json> parse_text(const std::string& text) {
    PINFOLD_LET(auto documents, parse_as_kubelet(text, notes_));
    if (documents.size() == 1) return std::move(documents.front());
    return invalid(fmt::format("{} documents: expected one", documents.size()));
  }

  Result<void> take_rancher(const json& document) {
    is_found_ = true;
    for (const char* const key : {"kubelet-arg", "kubelet-arg+"}) {
      if (const json* const arguments = member(document, key)) {
        merge_flags(flags_, flags_of_json(*arguments));
      }
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
    if (at_path(*other_, "settings.kubernetes") != nullptr) return invalid(kBottlerocket);
    const auto* const elsewhere =
        std::find_if(kElsewhere.begin(), kElsewhere.end(),
                     [&](const Elsewhere& one) { return one.kind == kind; });
    if (elsewhere != kElsewhere.end()) {
      return fail_field("kind", kind,
                        fmt::format("expected '{}': {}", kConfigKind, elsewhere->advice));
    }
    if (!kind.empty()) return fail_field("kind", kind, fmt::format("expected '{}'", kConfigKind));
    std::vector<std::string> names;
    constexpr std::size_t kMost = 5;
    for (const auto& [name, value] : other_->items()) {
      if (names.size() < kMost) names.push_back(fmt::format("'{}'", printable(name)));
    }
    return invalid(fmt::format("not a {}: it has none of its fields, but {}", kConfigKind,
                               fmt::join(names, ", ")));
  }

  std::vector<json> configs_;
  KubeletFlags flags_;
  std::vector<std::string> notes_;
  bool is_found_ = false;
  bool is_rancher_ = false;
  const json* other_ = nullptr;
};

/// Removes what starts a kubelet, such as OpenShift's kubenswrapper, "numactl -m 0" or "docker
/// run".
void skip_wrapper(std::vector<std::string>& words) {
  bool is_after_option = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_value =
        i > 0 && words[i - 1].starts_with('-') && words[i - 1].find('=') == std::string::npos;
    is_after_option = is_after_option || word.starts_with('-');
    if (base_name(word) != "kubelet" || word.find_first_of(":,=") != std::string::npos) continue;
    if (is_after_option && !word.ends_with("bin/kubelet") && (is_value || word != "kubelet")) {
      continue;  // the value of an option, such as a directory
    }
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

/// Splits a command line and expands its variables as systemd does: only a word "$NAME" may become
/// several words. Unknown variables are empty.
std::vector<std::string> expand_command(std::string_view command, const Variables& variables) {
  std::vector<std::string> words;
  for (const std::string& word : split_words(command)) {
    const std::string value = expand_variables(word, variables);
    if (word.starts_with('$') && !word.starts_with("${")) {
      for (std::string& part : split_words(value)) words.push_back(std::move(part));
    } else {
      words.push_back(value);
    }
  }
  std::erase_if(words, [](const std::string& word) { return word.starts_with('$'); });
  return words;
}

/// Replaces "%%" by "%", as systemd does.
std::string with_percent_signs(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text.substr(i).starts_with("%%")) ++i;
  }
  return out;
}

/// The settings of a unit from which a command line follows.
struct UnitSettings {
  Environment environment;
  std::vector<std::string> files;  ///< of EnvironmentFile=, which override Environment=
  std::string command;             ///< the last ExecStart=
};

UnitSettings settings_of_unit(std::string_view text) {
  UnitSettings unit;
  for (const auto& [key, value] : parse_unit_file(text)) {
    if (key == "Environment") unit.environment.add_words(with_percent_signs(value));
    if (key == "ExecStart") unit.command = with_percent_signs(value);
    if (key != "EnvironmentFile") continue;
    if (value.empty()) unit.files.clear();
    if (!value.empty()) unit.files.push_back(value);
  }
  return unit;
}

/// Returns the words of ExecStart=, without its prefixes (see systemd.service(5)) and without what
/// starts a kubelet.
std::vector<std::string> command_of(const UnitSettings& unit) {
  const std::string_view command = unit.command;
  const std::size_t start = std::min(command.find_first_not_of("@-:+!| \t"), command.size());
  auto words = expand_command(command.substr(start), unit.environment.values());
  skip_wrapper(words);
  return words;
}

}  // namespace

FlagsText flags_of_unit(std::string_view text, const UnitFiles& files) {
  UnitSettings unit = settings_of_unit(text);
  FlagsText read;
  add_files(unit.files, files, unit.environment, read.notes);
  read.command = command_of(unit);
  const std::string program(read.command.empty() ? "" : base_name(read.command.front()));
  if (auto flags = kubelet_flags(read.command)) {
    read.flags = *std::move(flags);
    read.is_command = true;
  } else if (program == "k3s" || program == "rke2") {
    read.flags = flags_of_args(option_values(read.command, "--kubelet-arg"));
    add_rancher_flags(read.flags);
  } else {
    read.flags = unit.environment.flags();
    if (!program.empty()) {
      read.notes.push_back(fmt::format(
          "ExecStart '{}' is not a kubelet: its arguments are not read", printable(program)));
    }
  }
  return read;
}

std::optional<FlagsText> flags_of_text(std::string_view text, const UnitFiles& files) {
  if (text.find('\0') != std::string_view::npos) {
    auto flags = kubelet_flags(parse_command_line(text));
    return flags ? std::optional(FlagsText{*std::move(flags), {}}) : std::nullopt;
  }
  const std::string_view line = first_line(text);
  if (is_unit(line)) return flags_of_unit(text, files);
  if (is_command_line(line)) return FlagsText{flags_of_file(text, {}), {}};
  if (is_assignment(line)) return flags_of_environment(text);
  return std::nullopt;
}

Result<void> add_flags(const KubeletFlags& flags, ConfigDocument& config) {
  PINFOLD_TRY(check_flags(flags));
  if (config.document.is_object()) PINFOLD_TRY(apply_flags(flags, config.document));
  const auto file = flags.find("--config");
  if (file != flags.end() && config.document.empty()) {
    return invalid(
        fmt::format("the configuration is in '{}': pass that file with --config, and the flags "
                    "with --kubelet-flags",
                    printable(file->second)));
  }
  for (std::string& warning : flag_warnings(flags)) config.notes.push_back(std::move(warning));
  return {};
}

Result<ConfigDocument> read_config_document(std::string_view text) {
  if (const auto read = flags_of_text(text)) {
    const bool names_kubelet = text.find("kubelet") != std::string_view::npos ||
                               text.find("KUBELET") != std::string_view::npos;
    if (read->flags.empty() && !names_kubelet) return invalid("it contains no kubelet flags");
    ConfigDocument found{json::object(), read->notes};
    PINFOLD_TRY(add_flags(read->flags, found));
    return Result<ConfigDocument>(std::move(found));
  }
  const std::string_view first = first_line(text);
  if (text.find("[settings.kubernetes") != std::string_view::npos ||
      first.starts_with("settings.kubernetes.")) {
    return invalid(kBottlerocket);
  }
  if (first.starts_with("MIME-Version:") || first.starts_with("Content-Type: multipart")) {
    return invalid("MIME user data: expected a KubeletConfiguration: pass its part NodeConfig");
  }
  if (is_section(first)) {
    return invalid("a TOML or INI file: expected a KubeletConfiguration in YAML or JSON");
  }
  std::vector<std::string> notes;
  PINFOLD_LET(const auto documents, parse_as_kubelet(text, notes));
  if (documents.empty()) return invalid("0 documents: expected one");
  Finder finder(std::move(notes));
  for (const json& document : documents) PINFOLD_TRY(finder.look(document));
  return std::move(finder).finish();
}

Result<ParsedConfig> parse_config(std::string_view yaml_or_json) {
  PINFOLD_LET(auto read, read_config_document(yaml_or_json));
  PINFOLD_LET(auto parsed, config_from_json(read.document));
  parsed.warnings.insert(parsed.warnings.begin(), read.notes.begin(), read.notes.end());
  return parsed;
}

}  // namespace pinfold
