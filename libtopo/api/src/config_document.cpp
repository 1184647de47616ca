#include "pinfold/api/config_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "added_reservations.hpp"
#include "config_forms.hpp"
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

constexpr std::string_view kBootstrapFlags = "--kubelet-extra-args";

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

/// An environment file has no commands.
bool is_script(std::string_view text) { return text.starts_with("#!"); }

bool is_section(std::string_view line) {
  return line.starts_with('[') && line.ends_with(']') && line.size() > 2 &&
         line.find_first_of(",\"'{:", 1) == std::string_view::npos;
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
      if (const ConfigWrapper* const wrapper = find_wrapper(document)) {
        return take(document, *wrapper);
      }
      if (is_rancher(document)) return take_rancher(document);
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
    } else if (!is_elsewhere(document) && is_configuration(document)) {
      configs_.push_back(document);
      is_partial_ = false;
    } else if (other_ == nullptr) {
      other_ = &document;
    }
    return {};
  }

  /// Domain: after at least one document.
  Result<ConfigDocument> finish() && {
    if (configs_.empty() && !is_found_) return explain_other(*other_);
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

  Result<void> take(const json& document, const ConfigWrapper& wrapper) {
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
